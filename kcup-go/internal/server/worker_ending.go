// The end of connections whose time is over, and of silent ones when the drain begins.

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

// runOut ends a silence, or the time for a head, unless there are bytes that were not read yet: the whole process may
// have been paused (K-89).
func (w *worker) runOut(c *connection, p phase) {
	if c.outside.isUnread() && readable(c.fd) == 0 {
		w.enter(c, p) // it comes at any moment
		return
	}
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

// drain closes the silent connections (K-18). One that has never sent a byte has some time for it: its first request
// may be on its way.
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
