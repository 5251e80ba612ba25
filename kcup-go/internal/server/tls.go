// TLS (SPEC section 14): a worker serves one end of a pair of sockets as any other connection, and at the other end a
// terminator speaks TLS with the peer. See docs/adr/0012.

package server

import (
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Handshakes counts them by their result (K-154).
type Handshakes struct{ OK, Failed, Timeout atomic.Uint64 }

// TLS is what all terminators share, and others read.
type TLS struct {
	Handshakes
	certificate atomic.Pointer[Certificate]
}

// Certificate is the one of handshakes that begin now.
func (t *TLS) Certificate() *Certificate { return t.certificate.Load() }

// Replace lets handshakes use another one from now on (K-156).
func (t *TLS) Replace(c *Certificate) { t.certificate.Store(c) }

// arrival is a connection on its way to a worker.
type arrival struct {
	fd      int32
	outside *outside // nil without TLS
}

// terminators are those that the acceptor hands connections to. All of them are nil without TLS.
type terminators struct {
	all   []*terminator
	turn  int
	spare *[2]int // a pair for the next connection, made before it is accepted: without descriptors for it the connection waits
}

func newTerminators(shared *TLS, threads int, limit time.Duration, room *atomic.Int64) (*terminators, error) {
	t := &terminators{}
	for range threads {
		one, err := newTerminator(shared, limit, room)
		if err != nil {
			return nil, err
		}
		t.all = append(t.all, one)
	}
	return t, nil
}

// accept takes a connection, or leaves it where it is if there is no pair for it.
func (t *terminators) accept(listener int) (int32, syscall.Errno) {
	if t != nil && t.spare == nil {
		pair, err := newPair()
		if err != nil {
			return -1, err.(syscall.Errno)
		}
		_ = setLimits(pair[0]) // without it they stay as the system has them
		_ = unix.SetsockoptInt(pair[1], unix.SOL_SOCKET, unix.SO_SNDBUF, receiveBuffer/2)
		t.spare = &pair
	}
	return accept(listener)
}

// handOver gives an accepted socket to a terminator, if there are any, and returns what a worker gets.
func (t *terminators) handOver(fd int32) arrival {
	if t == nil {
		return arrival{fd: fd}
	}
	o := newOutside(fd)
	t.turn = (t.turn + 1) % len(t.all)
	s := newSession(o, int32(t.spare[1]), t.all[t.turn])
	ours := int32(t.spare[0])
	t.spare = nil
	s.terminator.tell(func(m *terminatorMessages) { m.arrived = append(m.arrived, s) })
	return arrival{ours, o}
}

// close lets the terminators end with their last connections.
func (t *terminators) close() {
	if t == nil {
		return
	}
	for _, one := range t.all {
		one.tell(func(m *terminatorMessages) { m.last = true })
	}
	if t.spare != nil {
		unix.Close(t.spare[0])
		unix.Close(t.spare[1])
	}
}

// outside is the peer's socket of a connection with TLS, and what is on its way between it and the worker's end of the pair. A
// worker looks at it, too: what the peer has acknowledged is known here. Nothing is counted too low: each step raises a count
// before the one behind it sinks.
type outside struct {
	fd      int32
	holders atomic.Int32
	pending atomic.Int32 // bytes of responses that are neither in the pair any more nor in this socket yet
	busy    atomic.Bool  // bytes of the peer may be neither in this socket any more nor in the pair yet
	shaken  atomic.Bool  // the handshake is over; until then the peer is silent (K-155)
	gone    atomic.Bool  // nothing more gets to the peer
}

func newOutside(fd int32) *outside {
	o := &outside{fd: fd}
	o.holders.Store(2)
	return o
}

// release closes the socket once both have let go of it.
func (o *outside) release() {
	if o != nil && o.holders.Add(-1) == 0 {
		unix.Close(int(o.fd))
	}
}

// isAbandoned says that the worker has let go.
func (o *outside) isAbandoned() bool { return o.holders.Load() == 1 }

// unacknowledged is how many bytes the peer has not acknowledged, besides those in the pair. Ask for the pair's first.
func (o *outside) unacknowledged() int {
	if o == nil || o.gone.Load() {
		return 0
	}
	pending := int(o.pending.Load())
	return pending + unacknowledged(o.fd)
}

// held is the memory that holds them.
func (o *outside) held() int32 {
	if o == nil || o.gone.Load() {
		return 0
	}
	return o.pending.Load() + heldFor(o.fd)
}

// isUnread says that bytes of the peer have not come to the pair. Ask this before the pair.
func (o *outside) isUnread() bool {
	return o != nil && o.shaken.Load() && !o.gone.Load() && (readable(o.fd) > 0 || o.busy.Load())
}

// forget makes the close throw away what the peer has not acknowledged.
func (o *outside) forget() {
	if o != nil {
		forget(o.fd)
	}
}
