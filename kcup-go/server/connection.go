package server

import (
	"golang.org/x/sys/unix"

	"kcup/server/guard"
)

// phase is where a connection is in its life.
type phase uint8

const (
	idle      phase = iota // at a request boundary; holds nothing but its record
	inHead                 // part of a head is kept
	writing                // the rest of an answer is pending; nothing is read meanwhile
	lingering              // our side has ended; what still comes is discarded (K-72)
	phaseCount
	vacant = phaseCount // the slot waits for its next connection
)

// connection is all there is of an idle one: a record in its worker's slab.
type connection struct {
	fd         int32
	generation uint32 // tells an event for an earlier user of the slot
	next, prev int32
	since      uint32 // tick in which it entered its phase
	left       int32  // bytes that may still be discarded while lingering
	claim      int32  // what the kernel may hold of its responses, at most
	buffer     int32  // its send buffer
	phase      phase
	hangup     bool   // the peer has ended its side or is gone: read on to the end
	full       bool   // the last read filled its buffer: there may be more
	queued     bool   // on the worker's list for another turn
	end        reason // why it lingers
	kept       *kept
	out        *outgoing
}

// kept is input that could not be used up: a part of a head, or requests behind a pending answer.
type kept struct {
	guard guard.Guard
	bytes []byte
}

// input reads once for a connection that is not writing.
func (w *worker) input(slot int32) {
	if w.slots[slot].phase == lingering {
		w.discard(slot)
	} else {
		w.read(slot)
	}
}

// read puts new bytes behind those that were kept, and serves what is complete.
func (w *worker) read(slot int32) {
	c := &w.slots[slot]
	before := 0
	if c.kept != nil {
		before = copy(w.in, c.kept.bytes)
	}
	n, err := recv(c.fd, w.in[before:before+readSize])
	switch {
	case err == unix.EAGAIN && (!w.draining || c.phase != idle):
	case err == unix.EAGAIN:
		w.dismiss(slot, drained)
	case err != 0 || n == 0:
		w.close(slot, peerGone)
	default:
		c.full = n == readSize
		w.serve(slot, before+n)
	}
}

// serve answers the requests at the start of w.in, in order, and keeps what is left.
func (w *worker) serve(slot int32, length int) {
	b := w.in[:length]
	var g guard.Guard
	c := &w.slots[slot]
	resumed := c.kept != nil && c.phase != writing
	if c.kept != nil {
		g = c.kept.guard
	}
	for len(b) > 0 {
		switch g.Scan(b) {
		case guard.Partial:
			w.keep(slot, &g, b, resumed)
			w.maybeAgain(slot)
			return
		case guard.Refused:
			w.drop(slot)
			w.refuse(slot, g.Status)
			return
		}
		head := b[:g.Length]
		b = b[g.Length:]
		if !w.answer(slot, &g, head, len(b)) {
			w.keepBehind(slot, b)
			return
		}
		g, resumed = guard.Guard{}, false
	}
	w.drop(slot)
	w.enter(slot, idle)
	w.maybeAgain(slot)
}

// maybeAgain gives a connection another turn when the end of its input has not been seen, after all others had theirs.
func (w *worker) maybeAgain(slot int32) {
	c := &w.slots[slot]
	if c.phase == vacant || c.queued || !c.full && !c.hangup && (!w.draining || c.phase != idle) {
		return
	}
	c.queued = true
	w.again = append(w.again, slot)
}

// keep holds on to a part of a head. When it goes on with what was kept only its new bytes are copied.
func (w *worker) keep(slot int32, g *guard.Guard, b []byte, resumed bool) {
	c := &w.slots[slot]
	if c.kept == nil {
		c.kept = w.spare.takeKept()
		w.held += cap(c.kept.bytes)
	}
	k := c.kept
	w.held -= cap(k.bytes)
	if !resumed {
		k.bytes = k.bytes[:0]
	}
	k.guard, k.bytes = *g, append(k.bytes, b[len(k.bytes):]...)
	w.held += cap(k.bytes)
	switch {
	case g.Fresh():
		w.enter(slot, idle)
	case !resumed || c.phase != inHead:
		w.enter(slot, inHead)
	}
	w.shed(slot)
}

// shed ends connections until there is memory again for incomplete heads (K-86): the one whose head has been
// incomplete longest, or, where there is none, the one that has just kept more.
func (w *worker) shed(slot int32) {
	for w.held > w.heldMost {
		first := w.queue[inHead].first
		if first == none {
			w.close(slot, shed)
			return
		}
		w.close(first, shed)
	}
}

// keepBehind holds on to requests behind an answer that is pending.
func (w *worker) keepBehind(slot int32, b []byte) {
	c := &w.slots[slot]
	if c.phase != writing {
		return // closed, or lingering: nothing behind it is read as a request
	}
	if c.out.end != stays || len(b) == 0 {
		w.drop(slot)
		return
	}
	if c.kept == nil {
		c.kept = w.spare.takeKept()
		w.held += cap(c.kept.bytes)
	}
	w.held -= cap(c.kept.bytes)
	c.kept.guard, c.kept.bytes = guard.Guard{}, append(c.kept.bytes[:0], b...)
	w.held += cap(c.kept.bytes)
	w.shed(slot)
}

// drop lets go of kept input.
func (w *worker) drop(slot int32) {
	if k := w.slots[slot].kept; k != nil {
		w.slots[slot].kept = nil
		w.held -= cap(k.bytes)
		w.spare.giveKept(k)
	}
}

// dismiss ends a silent connection. An answer that is still on its way would be lost to a reset (K-72).
func (w *worker) dismiss(slot int32, why reason) {
	if unsentBytes(w.slots[slot].fd) > 0 {
		w.linger(slot, why)
	} else {
		w.close(slot, why)
	}
}

// linger ends our side, so that the answer is not lost to a reset when the peer is still sending (K-72).
func (w *worker) linger(slot int32, why reason) {
	w.drop(slot)
	c := &w.slots[slot]
	if unix.Shutdown(int(c.fd), unix.SHUT_WR) != nil {
		w.close(slot, why)
		return
	}
	c.left, c.end = lingerMost, why
	w.enter(slot, lingering)
	w.discard(slot)
}

func (w *worker) discard(slot int32) {
	c := &w.slots[slot]
	for c.left > 0 {
		most := min(int(c.left), readSize)
		n, err := recv(c.fd, w.in[:most])
		if err == unix.EAGAIN {
			return
		}
		if err != 0 || n == 0 {
			break
		}
		c.left -= int32(n)
		if n < most && !c.hangup {
			return
		}
	}
	w.close(slot, c.end)
}

func (w *worker) close(slot int32, why reason) {
	w.drop(slot)
	c := &w.slots[slot]
	if c.out != nil {
		w.spare.giveOutgoing(c.out)
		c.out = nil
	}
	w.account.set(c, 0)
	unix.Close(int(c.fd))
	c.queued = false
	w.remove(slot)
	w.closed = true
	w.counters.Closed[why]++
	w.status.open.Add(-1)
	if why == evicted {
		w.evictionOver()
	}
}

// reset closes without waiting for bytes that the peer does not take.
func (w *worker) reset(slot int32, why reason) {
	forget(w.slots[slot].fd)
	w.close(slot, why)
}
