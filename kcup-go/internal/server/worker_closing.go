// What becomes of a connection whose time in its phase is over; a part of worker.go.

package server

func (w *worker) expire() {
	for p := range phaseCount {
		for {
			slot, is := w.expired(p, w.limits[p], w.now)
			if !is {
				break
			}
			switch p {
			case writing:
				w.glance(slot)
			case lingering:
				w.lingered(slot)
			default:
				w.runOut(slot, p)
			}
		}
	}
}

// runOut is the end of a silence or of the time for a head, unless there is news that was not read yet: all of us may
// have been stopped for a while (K-89).
func (w *worker) runOut(slot int32, p phase) {
	c := &w.slots[slot]
	if readable(c.fd) > 0 {
		before := *c
		if w.input(slot); c.phase != p || c.since != before.since || c.generation != before.generation {
			return
		}
	}
	switch {
	case p == inHead:
		w.close(slot, headerTimeout)
	case w.draining:
		w.part(slot, drained, lingerMost)
	default:
		w.part(slot, idleTimeout, lingerMost)
	}
}
