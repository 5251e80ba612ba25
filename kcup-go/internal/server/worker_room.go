// The choice of the connection that makes room for a new one (K-84).

package server

// evenly is how many of those that have been silent equally long are looked at.
const evenly = 8

// evict closes one connection at once: the one that has been silent longest. One that has sent bytes not read yet is
// not silent: it is served. If none is silent, and one has to make room, it is the one that has been longest in a head,
// then the slowest with a pending response, then the one that is ending already.
func (w *worker) evict(anybody bool) {
	w.evictions++
	w.asked, w.closed = true, true // even if there was none to evict: the acceptor waits for us
	for range w.queue[idle].count {
		c := w.first(idle)
		if c.outside.isUnread() && readable(c.fd) == 0 {
			w.enter(c, idle) // it comes at any moment
			continue
		}
		if readable(c.fd) == 0 {
			w.close(w.satisfied(c), evicted)
			return
		}
		if w.input(c); c.phase == vacant {
			return // this made room, too
		}
	}
	if !anybody {
		return
	}
	for _, c := range [...]*connection{w.first(inHead), w.slowest(), w.first(lingering)} {
		if c != nil {
			w.close(c, evicted)
			return
		}
	}
}

// satisfied returns a connection that fell silent at the same time as the first and whose peer has acknowledged
// everything, otherwise the first.
func (w *worker) satisfied(first *connection) *connection {
	c := first
	for range evenly {
		if c == nil || c.since != first.since {
			break
		}
		if w.owed(c) == 0 && !c.outside.isUnread() && readable(c.fd) == 0 {
			return c
		}
		c = w.at(c.next)
	}
	return first
}

// slowest is the connection whose peer accepts its response at the lowest rate.
func (w *worker) slowest() (found *connection) {
	least := uint32(nobody)
	for c := w.first(writing); c != nil; c = w.at(c.next) {
		if rate := c.out.rate(w.now); rate < least {
			found, least = c, rate
		}
	}
	return found
}
