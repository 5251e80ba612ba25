// Reconciling the account with the kernel: asking the kernel what it really holds, and resetting connections if that is too much

package server

// grant sets a connection's send buffer to its allowance, since its response does not fit into the buffer it has.
func (w *worker) grant(c *connection) { c.resize(w.account.allowance(c)) }

// resize sets a connection's send buffer; with TLS that of the peer's socket, since the pair has no network to fill.
func (c *connection) resize(buffer int32) {
	if buffer == c.buffer {
		return
	}
	fd := c.fd
	if c.outside != nil {
		fd = c.outside.fd
	}
	c.buffer = buffer
	setSendBuffer(fd, buffer)
}

// reconcile asks the kernel what it holds, connection by connection, until enough is free again. If that is not enough, it
// resets connections, first those whose peers have acknowledged nothing for longest (see order).
func (w *worker) reconcile() {
	a := &w.account
	if w.cost.Load() > 0 {
		a.held = int64(w.open)*w.cost.Load() + int64(w.held)
	}
	if !a.isOver() {
		return
	}
	for range w.slots {
		w.cursor = (w.cursor + 1) % len(w.slots)
		if c := &w.slots[w.cursor]; c.claim > 0 {
			w.reconcileOne(c)
		}
		if a.hasSlack() {
			return
		}
	}
	if a.isTight() {
		w.resetInOrder()
	}
}

// reconcileOne sets a claim to what the kernel holds, and the buffer to the least: the next long response gets a larger one.
func (w *worker) reconcileOne(c *connection) {
	held, unacked := heldFor(c.fd)+c.outside.held(), w.look(c)
	if c.phase == writing {
		c.out.look(unacked)
		held += receiveBuffer // requests behind a pending response are not read
	}
	w.account.set(c, held)
	c.resize(leastBuffer)
}

// resetInOrder resets connections until enough is free.
func (w *worker) resetInOrder() {
	w.owing = w.owing[:0]
	for slot := range w.slots {
		if w.slots[slot].claim > 0 {
			w.owing = append(w.owing, int32(slot))
		}
	}
	w.account.order(w.owing, w.slots)
	for _, slot := range w.owing {
		if w.account.hasSlack() {
			return
		}
		w.close(&w.slots[slot], outOfMemory)
	}
}

// look asks the kernel how many bytes the peer has not acknowledged.
func (w *worker) look(c *connection) (unacked int) {
	unacked = unacknowledged(c.fd)
	unacked += c.outside.unacknowledged()
	w.account.saw(c, unacked)
	return unacked
}
