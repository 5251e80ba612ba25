package server

import (
	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

// phase is the phase of a connection.
type phase uint8

const (
	idle      phase = iota // between requests; holds nothing but its record
	inHead                 // part of a head is kept
	writing                // the rest of a response is pending; nothing is read until it is written
	lingering              // our side has ended; what still arrives is discarded (K-72)
	phaseCount
	vacant = phaseCount // the slot waits for its next connection
)

// connection is the record of a connection, in its worker's slab; an idle one has nothing else.
type connection struct {
	slot         int32 // its place in the slab
	fd           int32
	generation   uint32 // recognises an event for an earlier user of the slot
	next, prev   int32
	since        uint32 // tick in which it entered its phase
	left         int32  // bytes that may still be discarded while lingering
	claim        int32  // the most that the kernel may hold of its responses
	buffer       int32  // its send buffer
	unacked      int32  // bytes that its peer had not acknowledged when last looked at, and those written since
	began, moved uint32 // when its peer was first and last seen to make progress, as moves are counted
	taken        uint32 // bytes of those sent that its peer is known to have acknowledged
	phase        phase
	spoken       bool   // the peer has sent something
	hangup       bool   // the peer has ended its side or is gone: read to the end
	full         bool   // the last read filled its buffer: there may be more
	queued       bool   // on the worker's list for another turn
	waited       bool   // it has lingered for a second
	end          reason // why it lingers
	kept         *kept
	out          *outgoing
	outside      *outside // with TLS, the socket that the peer is at
}

// kept is input that could not be used yet: a part of a head, or requests behind a pending response.
type kept struct {
	guard guard.Guard
	bytes []byte
}

// isWaiting reports whether the bytes begin with a request that was not looked at.
func (k *kept) isWaiting() bool { return k != nil && k.guard.Length < len(k.bytes) }

// input continues a connection that is not writing: it reads once, unless requests wait that were read before.
func (w *worker) input(c *connection) {
	switch {
	case c.phase == lingering:
		w.discard(c)
	case c.kept.isWaiting():
		w.enter(c, idle)
		c.full = true // there may be bytes that have not been read
		w.serve(c, copy(w.in, c.kept.bytes))
	default:
		w.read(c)
	}
}

// read appends new bytes to those that were kept, and serves the complete requests.
func (w *worker) read(c *connection) {
	before := 0
	if c.kept != nil {
		before = copy(w.in, c.kept.bytes)
	}
	n, err := recv(c.fd, w.in[before:before+readSize])
	switch {
	case err == unix.EAGAIN && (!w.draining || c.phase != idle || !c.spoken):
	case err == unix.EAGAIN:
		w.part(c, drained, lingerMost)
	case err != 0:
		w.close(c, peerGone)
	case n == 0:
		w.part(c, peerGone, 0)
	default:
		c.full, c.spoken = n == readSize, true
		w.serve(c, before+n)
	}
}

// serve responds to the requests at the start of w.in, in order, for one turn (K-88), and keeps the rest.
func (w *worker) serve(c *connection, length int) {
	b := w.in[:length]
	var g guard.Guard
	resumed := c.kept != nil && c.phase != writing
	if c.kept != nil {
		g = c.kept.guard
	}
	for responses := 0; len(b) > 0; responses++ {
		if responses == turnResponses {
			w.wait(c, b)
			return
		}
		switch g.Scan(b) {
		case guard.Partial:
			w.keep(c, &g, b, resumed)
			w.maybeAgain(c)
			return
		case guard.Refused:
			w.drop(c)
			w.refuse(c, g.Status)
			return
		}
		head := b[:g.Length]
		b = b[g.Length:]
		if !w.respond(c, &g, head, len(b)) {
			w.keepBehind(c, b)
			return
		}
		g, resumed = guard.Guard{}, false
	}
	w.drop(c)
	w.enter(c, idle)
	w.maybeAgain(c)
}

// maybeAgain gives a connection another turn after all others if the end of its input has not been seen.
func (w *worker) maybeAgain(c *connection) {
	if c.phase != vacant && (c.full || c.hangup || w.draining && c.phase == idle) {
		w.queueUp(c)
	}
}

func (w *worker) queueUp(c *connection) {
	if !c.queued {
		c.queued = true
		w.again = append(w.again, c.slot)
	}
}

// wait makes a connection with more requests wait for its next turn.
func (w *worker) wait(c *connection, b []byte) {
	w.enter(c, inHead)
	w.queueUp(c)
	w.hold(c, guard.Guard{}, b, 0)
}

// keep keeps a part of a head. If it continues one that was kept, only the new bytes are copied.
func (w *worker) keep(c *connection, g *guard.Guard, b []byte, resumed bool) {
	has := 0
	if resumed {
		has = len(c.kept.bytes)
	}
	switch {
	case g.Fresh():
		w.enter(c, idle)
	case !resumed || c.phase != inHead:
		w.enter(c, inHead)
	}
	w.hold(c, *g, b, has)
}

// keepBehind keeps requests behind a pending response.
func (w *worker) keepBehind(c *connection, b []byte) {
	if c.phase != writing {
		return // closed, or lingering: nothing that follows is read as a request
	}
	if c.out.end != stays || len(b) == 0 {
		w.drop(c)
		return
	}
	w.hold(c, guard.Guard{}, b, 0)
}

// hold keeps input, within the limit on incomplete heads. Its first has bytes are kept already.
func (w *worker) hold(c *connection, g guard.Guard, b []byte, has int) {
	if c.kept == nil {
		c.kept = w.spareKept.take()
		w.held += cap(c.kept.bytes)
	}
	k := c.kept
	w.held -= cap(k.bytes)
	k.guard, k.bytes = g, append(k.bytes[:has], b[has:]...)
	w.held += cap(k.bytes)
	w.shed(c)
}

// shed closes connections until there is memory again for incomplete heads (K-86): the one whose head has been
// incomplete longest or, if there is none, the one that has just sent more, if any has.
func (w *worker) shed(keeper *connection) {
	for int64(w.held) > w.heldMost.Load() {
		c := w.first(inHead)
		if c == nil {
			c = keeper
		}
		if c == nil {
			return
		}
		if w.close(c, shed); c == keeper {
			return
		}
	}
}

// drop frees kept input.
func (w *worker) drop(c *connection) {
	if k := c.kept; k != nil {
		c.kept = nil
		w.held -= cap(k.bytes)
		if cap(k.bytes) <= maxSpareHead {
			*k = kept{bytes: k.bytes[:0]}
			w.spareKept.give(k)
		}
	}
}
