// Who makes room for a new connection (K-84).

package server

// evenly is how many of those that have been silent equally long are looked at.
const evenly = 8

// evict closes one connection at once: the one that has been silent longest. One that has sent what we have not seen
// yet is not silent: it is served. Where none is silent, and somebody has to go, it is the one that has been longest in
// a head, then the slowest that has a response pending, then the one that is ending already.
func (w *worker) evict(anybody bool) {
	w.evictions++
	w.asked, w.closed = true, true // also where there was none to evict: the acceptor waits for us
	for range w.queue[idle].count {
		c := w.first(idle)
		if readable(c.fd) == 0 {
			w.close(w.satisfied(c), evicted)
			return
		}
		if w.input(c); c.phase == vacant {
			return // which made room as well
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

// satisfied returns a connection that fell silent with the first and whose peer has acknowledged everything, or the first.
func (w *worker) satisfied(first *connection) *connection {
	c := first
	for range evenly {
		if c == nil || c.since != first.since {
			break
		}
		if w.owed(c) == 0 && readable(c.fd) == 0 {
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
