// The end of a connection; a part of connection.go.

package server

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

const lingerMost = 65536

// owed returns how many bytes the peer has not acknowledged. The end of our side counts as one of them.
func (w *worker) owed(c *connection) int {
	if c.claim == 0 {
		return 0
	}
	n := w.look(c)
	if n <= 1 && (n == 0 || c.phase == lingering) {
		w.account.set(c, 0)
		return 0
	}
	return n
}

// part ends a connection from which no more requests are expected. If bytes are still on their way to the peer, it lingers,
// since a reset would discard them (K-72).
func (w *worker) part(c *connection, why reason, most int32) {
	if w.owed(c) > 0 {
		w.linger(c, why, most)
	} else {
		w.close(c, why)
	}
}

// linger ends our side, and discards at most this many bytes from the peer, so that no reset discards the response
// while the peer is still sending (K-72).
func (w *worker) linger(c *connection, why reason, most int32) {
	w.drop(c)
	if unix.Shutdown(int(c.fd), unix.SHUT_WR) != nil {
		w.close(c, why)
		return
	}
	c.left, c.end = most, why
	w.enter(c, lingering)
	w.discard(c)
}

// discard reads until the peer has ended its side too, or the limit is reached, and then closes, but not before the
// peer has acknowledged everything.
func (w *worker) discard(c *connection) {
	for c.left > 0 {
		most := min(int(c.left), readSize)
		n, err := recv(c.fd, w.in[:most])
		if err == unix.EAGAIN {
			return
		}
		if err != 0 {
			w.close(c, c.end)
			return
		}
		if n == 0 {
			break
		}
		c.left -= int32(n)
		if n < most && !c.hangup {
			return
		}
	}
	c.left = 0
	if w.owed(c) == 0 {
		w.close(c, c.end)
	}
}

// lingered handles a connection that has lingered for a second. It lingers for another second if the peer has acknowledged
// more in that time; nothing is read then.
func (w *worker) lingered(c *connection) {
	owed := w.owed(c)
	if owed == 0 || c.waited && w.account.isStill(c) {
		w.close(c, c.end)
		return
	}
	c.left, c.waited = 0, true
	w.enter(c, lingering)
}

// close resets a connection if its peer has not acknowledged everything, so that none of it stays in the kernel (K-72).
func (w *worker) close(c *connection, why reason) {
	w.drop(c)
	if c.out != nil {
		w.release(c.out)
		c.out = nil
		c.forget()
	} else if w.owed(c) > 0 {
		c.forget()
	}
	w.account.set(c, 0)
	c.outside.release() // before the pair's end, so that whoever sees that is alone with it
	c.outside = nil
	unix.Close(int(c.fd))
	c.queued = false
	w.remove(c)
	w.closed = true
	w.counters.Closed[why]++
	w.status.open.Add(-1)
	if w.logsEnds {
		w.logEnd(w.peers[c.slot], Reasons[why])
	}
}

// forget makes the close throw away what the peer has not acknowledged.
func (c *connection) forget() {
	forget(c.fd)
	c.outside.forget()
}

// logEnd logs the end of a connection (K-119).
func (w *worker) logEnd(peer netip.Addr, why string) {
	from := ""
	switch {
	case !peer.IsValid():
		from = " from unix:"
	case !peer.IsUnspecified():
		from = " from " + peer.Unmap().String()
	}
	w.log.Debugf("connection%s closed: %s", from, why)
}
