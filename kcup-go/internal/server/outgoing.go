package server

import (
	"syscall"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/accesslog"
	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

// sendfileFrom is the length from which a body is sent from its file, which saves copying it into the socket but takes
// a second system call for the head. docs/adr/0006 has the measurements.
const sendfileFrom = 32 << 10

// outgoing is the rest of a response that the socket did not take at once. Its body borrows the content's bytes.
type outgoing struct {
	head []byte
	body []byte
	of   *respond.Responses // held by it
	end  reason             // after it, or stays
	progress
}

// spare keeps what blocked connections needed for the next ones, within bounds: an attack should not determine our
// memory for good.
type spare[T any] []*T

const (
	maxSpare     = 64
	maxSpareHead = 2048
)

func (s *spare[T]) take() *T {
	n := len(*s)
	if n == 0 {
		return new(T)
	}
	one := (*s)[n-1]
	*s = (*s)[:n-1]
	return one
}

func (s *spare[T]) give(one *T) {
	if len(*s) < maxSpare {
		*s = append(*s, one)
	}
}

// release frees a response that was sent, or never will be.
func (w *worker) release(out *outgoing) {
	out.of.Release()
	*out = outgoing{head: out.head[:0]}
	w.spareOutgoing.give(out)
}

// respond renders the response to one request into the worker's buffer and sends it.
func (w *worker) respond(c *connection, g *guard.Guard, head []byte, behind int) (sent bool) {
	r := w.responses()
	persists := g.Persists() && !g.Body
	if w.draining && persists {
		// Requests that were sent before the drain get their responses (K-18): only the last one ends the connection.
		// After a while the next one does.
		persists = w.now-w.drainBegan <= ticks(grace) && (behind > 0 || c.outside.isUnread() || readable(c.fd) > 0)
	}
	readRequest(&w.request, g, head)
	choice := respond.Choose(&w.request, r, w.clock.Unix)
	connection, end := respond.Silent, stays
	switch {
	case !persists:
		connection, end = respond.Close, answered
	case g.HTTP10:
		connection = respond.KeepAlive
	}
	w.out = r.AppendHead(w.out[:0], choice, &w.clock, connection)
	body := r.Body(choice)
	if w.request.Method == respond.Head {
		body = nil
	}
	w.record(c, w.request.Method, head[g.Skip:], r.Status(choice), len(body))
	return w.send(c, r, body, end)
}

func (w *worker) refuse(c *connection, status uint16) (sent bool) {
	r, choice := w.responses(), respond.Choice{Status: status}
	body := r.Body(choice)
	w.out = r.AppendHead(w.out[:0], choice, &w.clock, respond.Close)
	w.record(c, respond.Other, nil, status, len(body))
	return w.send(c, r, body, refused)
}

// record counts and logs a response that begins. head is the request's, nil if it was refused.
func (w *worker) record(c *connection, method respond.Method, head []byte, status uint16, length int) {
	w.counters.countResponse(method, status)
	if w.lines != nil {
		entry := accesslog.Entry{Peer: w.peers[c.slot], Head: head, Status: status, Bytes: length}
		w.lines.Add(&entry, w.clock.Unix, w.now)
	}
}

// send writes w.out and body. It reports whether the connection is ready for the next request.
func (w *worker) send(c *connection, r *respond.Responses, body []byte, end reason) (sent bool) {
	n, isTurn, err := w.write(c, r, w.out, body)
	switch {
	case err != 0:
		w.close(c, peerGone)
	case n < len(w.out)+len(body):
		out := w.spareOutgoing.take()
		out.end, out.progress = end, progress{sent: n, accepted: unknown, counted: unknown, began: w.now}
		if n < len(w.out) {
			out.head, n = append(out.head[:0], w.out[n:]...), len(w.out)
		}
		r.Acquire()
		out.body, out.of = body[n-len(w.out):], r
		c.out = out
		w.account.block(c)
		out.look(w.look(c))
		w.enter(c, writing)
		if isTurn {
			w.queueUp(c)
		}
	case end == stays:
		return true
	default:
		w.linger(c, end, lingerMost)
	}
	return false
}

// write writes a head and a body, which is a slice of the content's bytes or a constant, and counts and charges what
// the kernel accepted. isTurn reports whether that was all of a turn (K-88): then no event follows when the socket has
// room.
func (w *worker) write(c *connection, of *respond.Responses, head, body []byte) (n int, isTurn bool, err syscall.Errno) {
	if len(head)+len(body) > int(c.buffer) {
		w.grant(c)
	}
	body = body[:min(len(body), turnBytes)]
	if file, at, ok := of.Offset(body); ok && len(body) >= sendfileFrom {
		n, err = sendfile(c.fd, head, file, at, len(body), c.piece())
	} else {
		n, err = writev(c.fd, &w.iov, head, body)
	}
	if err == 0 {
		w.counters.Bytes += uint64(n)
		w.account.charge(c, n)
	}
	return n, n == len(head)+turnBytes, err
}

// resume continues a pending response, and then the requests that have come since.
func (w *worker) resume(c *connection) {
	out := c.out
	n, isTurn, err := w.write(c, out.of, out.head, out.body)
	if err != 0 {
		w.close(c, peerGone)
		return
	}
	if n > 0 {
		out.sent += n
		out.look(w.look(c))
		w.enter(c, writing)
	}
	fromHead := min(n, len(out.head))
	out.head, out.body = out.head[fromHead:], out.body[n-fromHead:]
	if len(out.head)+len(out.body) > 0 {
		if isTurn {
			w.queueUp(c)
		}
		return
	}
	c.out = nil
	end := out.end
	w.release(out)
	if end != stays {
		w.linger(c, end, lingerMost)
		return
	}
	w.enter(c, idle)
	w.input(c)
}

// glance checks whether the peer of a pending response has taken anything of what the kernel holds, since that does not
// always make room for more. It is the timeout of the writing phase.
func (w *worker) glance(c *connection) {
	out := c.out
	out.look(w.look(c))
	if w.now-c.since > ticks(time.Second) {
		out.window = w.now // the whole process was paused (K-89)
	}
	if out.isTooSlow(int(w.stall)*leastRate/int(ticks(time.Second)), w.stall, w.now) {
		w.close(c, writeTimeout)
		return
	}
	w.enter(c, writing)
}
