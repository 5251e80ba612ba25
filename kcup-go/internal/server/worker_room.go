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
		slot := w.queue[idle].first
		c := &w.slots[slot]
		if readable(c.fd) == 0 {
			w.close(w.satisfied(slot), evicted)
			return
		}
		if w.input(slot); c.phase == vacant {
			return // which made room as well
		}
	}
	if !anybody {
		return
	}
	for _, slot := range [...]int32{w.queue[inHead].first, w.slowest(), w.queue[lingering].first} {
		if slot != none {
			w.close(slot, evicted)
			return
		}
	}
}

// satisfied is a connection, silent as long as the first, whose peer has acknowledged all; without one the first.
func (w *worker) satisfied(first int32) int32 {
	slot := first
	for range evenly {
		c := &w.slots[slot]
		if c.since != w.slots[first].since {
			break
		}
		if w.owed(c) == 0 && readable(c.fd) == 0 {
			return slot
		}
		if slot = c.next; slot == none {
			break
		}
	}
	return first
}

// slowest is the connection whose peer has accepted least of its response for the time that this has taken.
func (w *worker) slowest() (found int32) {
	found = none
	least := uint32(nobody)
	for slot := w.queue[writing].first; slot != none; slot = w.slots[slot].next {
		if rate := w.slots[slot].out.rate(w.now); rate < least {
			found, least = slot, rate
		}
	}
	return found
}
