// The end of connections whose time is over, and of the silent ones when the drain begins.

package server

// expire handles the connections whose time in their phase is over.
func (w *worker) expire() {
	for p := range phaseCount {
		for {
			c := w.expired(p, w.limits[p], w.now)
			if c == nil {
				break
			}
			switch p {
			case writing:
				w.glance(c)
			case lingering:
				w.lingered(c)
			default:
				w.runOut(c, p)
			}
		}
	}
}

// runOut is the end of a silence or of the time for a head, unless there is news that was not read yet: all of us may
// have been stopped for a while (K-89).
func (w *worker) runOut(c *connection, p phase) {
	if readable(c.fd) > 0 {
		before := *c
		if w.input(c); c.phase != p || c.since != before.since || c.generation != before.generation {
			return
		}
	}
	switch {
	case p == inHead:
		w.close(c, headerTimeout)
	case w.draining:
		w.part(c, drained, lingerMost)
	default:
		w.part(c, idleTimeout, lingerMost)
	}
}

// drain ends the silent connections (K-18). One that has never been heard of has a moment: its first request may be on
// its way.
func (w *worker) drain() {
	w.draining, w.drainBegan = true, w.now
	w.limits[idle] = ticks(grace)
	for range w.queue[idle].count {
		c := w.first(idle)
		if !c.spoken {
			w.enter(c, idle)
		}
		w.input(c)
	}
}
