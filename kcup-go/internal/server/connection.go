package server

import (
	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
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
	unread     int32  // what its peer had not acknowledged when last looked at, while lingering
	phase      phase
	spoken     bool   // the peer has sent something
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

// isWaiting says that the bytes begin with a request that was not looked at.
func (k *kept) isWaiting() bool { return k != nil && k.guard.Length < len(k.bytes) }

// input goes on with a connection that is not writing: it reads once, unless requests wait that were read before.
func (w *worker) input(slot int32) {
	switch c := &w.slots[slot]; {
	case c.phase == lingering:
		w.discard(slot)
	case c.kept.isWaiting():
		w.enter(slot, idle)
		c.full = true // what came meanwhile was not looked at
		w.serve(slot, copy(w.in, c.kept.bytes))
	default:
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
	case err == unix.EAGAIN && (!w.draining || c.phase != idle || !c.spoken):
	case err == unix.EAGAIN:
		w.part(slot, drained, lingerMost)
	case err != 0:
		w.close(slot, peerGone)
	case n == 0:
		w.part(slot, peerGone, 0)
	default:
		c.full, c.spoken = n == readSize, true
		w.serve(slot, before+n)
	}
}

// serve answers the requests at the start of w.in, in order, a turn's worth of them (K-88), and keeps what is left.
func (w *worker) serve(slot int32, length int) {
	b := w.in[:length]
	var g guard.Guard
	c := &w.slots[slot]
	resumed := c.kept != nil && c.phase != writing
	if c.kept != nil {
		g = c.kept.guard
	}
	for answers := 0; len(b) > 0; answers++ {
		if answers == turnAnswers {
			w.wait(slot, b)
			return
		}
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
	if c.phase != vacant && (c.full || c.hangup || w.draining && c.phase == idle) {
		w.queueUp(slot)
	}
}

func (w *worker) queueUp(slot int32) {
	if c := &w.slots[slot]; !c.queued {
		c.queued = true
		w.again = append(w.again, slot)
	}
}

// wait lets a connection with more requests wait for its next turn.
func (w *worker) wait(slot int32, b []byte) {
	w.enter(slot, inHead)
	w.queueUp(slot)
	w.stash(slot, b)
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
	for int64(w.held) > w.heldMost.Load() {
		first := w.queue[inHead].first
		if first == none {
			first = slot
		}
		if first == none {
			return
		}
		w.close(first, shed)
		if first == slot {
			return
		}
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
	w.stash(slot, b)
}

// stash holds on to bytes that are not looked at for now.
func (w *worker) stash(slot int32, b []byte) {
	c := &w.slots[slot]
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
