package server

import (
	"container/list"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// recordSize is the most of a response in one record.
	recordSize = 16 << 10
	// sessionTurn is how many steps a session may take before it is the turn of others.
	sessionTurn = 16
	// The most that a peer may send in a handshake: there are no client certificates.
	longestHandshake = 16 << 10
	recordHeader     = 5
	handshakeRecord  = 22
	// The library keeps the buffer into which it has read a large record, and what a handshake has had. More than this is counted,
	// at the most that there is.
	largeRoom = 8 << 10
	mostRoom  = 32 << 10
)

// session is one connection: between its peer, with whom it speaks TLS, and a worker, which has the other end of a pair of
// sockets. While it shakes hands it belongs to a goroutine, which the library waits on; else to its terminator.
type session struct {
	*outside
	terminator  *terminator
	inside      int32
	slot        int32
	tls         *tls.Conn
	accepted    time.Time
	handshake   *handshake // nil once it is over
	unsent      []byte     // for the peer, enciphered
	undelivered []byte     // for the worker
	queued      bool       // for another turn
	large       bool       // the library has a large buffer for it
	peerEnded   bool
	told        bool // that the peer has ended its side
	ended       bool // the worker has ended its side
	closed      bool // the peer knows
}

// handshake is what a session has only until it is over.
type handshake struct {
	place  *list.Element // among those of the terminator
	news   chan struct{} // of the sockets, with room for one; nil until it begins
	hangup bool          // nothing more will come
	late   bool          // its time is over, and something has come that was not looked at
	heard  int           // bytes
	cut    error         // why it is ended
}

var (
	errAbandoned = errors.New("the worker has closed the connection")
	errTimeout   = errors.New("the handshake takes too long")
	errNoRoom    = errors.New("there are too many large records")
	errTooLong   = errors.New("the handshake is too long")
)

func newSession(o *outside, inside int32, t *terminator) *session {
	return &session{outside: o, terminator: t, inside: inside, slot: none, accepted: time.Now(), handshake: &handshake{}}
}

// notYet is the error of a socket that has nothing yet: the library tries again.
type notYet struct{}

func (notYet) Error() string   { return "nothing has come yet" }
func (notYet) Timeout() bool   { return false }
func (notYet) Temporary() bool { return true }

// wire is the peer's socket as the library has it.
type wire struct{ *session }

// Read waits only in a handshake.
func (w wire) Read(b []byte) (int, error) {
	if !w.large && (len(b) > largeRoom || w.handshake != nil && w.handshake.heard > largeRoom) {
		if !w.terminator.hasRoom() {
			return 0, errNoRoom
		}
		w.large = true
	}
	for {
		n, err := recv(w.fd, b)
		switch {
		case err != 0 && err != unix.EAGAIN:
			return 0, err
		case err == 0 && n == 0:
			return 0, io.EOF
		case w.handshake == nil && err == 0:
			return n, nil
		case w.handshake == nil:
			return 0, notYet{}
		case err == 0:
			if w.handshake.heard += n; w.handshake.heard > longestHandshake {
				return 0, errTooLong
			}
			return n, nil
		}
		<-w.handshake.news
		if err := w.terminator.fate(w.handshake); err != nil {
			return 0, err
		}
		if !w.flush() {
			return 0, io.ErrClosedPipe
		}
	}
}

// Write takes everything; what the socket does not is kept, and nothing more is taken from the worker until then.
func (w wire) Write(b []byte) (int, error) {
	w.unsent = append(w.unsent, b...)
	if w.handshake != nil && !w.flush() {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func (wire) Close() error                     { return nil }
func (wire) LocalAddr() net.Addr              { return nil }
func (wire) RemoteAddr() net.Addr             { return nil }
func (wire) SetDeadline(time.Time) error      { return nil }
func (wire) SetReadDeadline(time.Time) error  { return nil }
func (wire) SetWriteDeadline(time.Time) error { return nil }

// mayBegin says whether a whole record has come, or something that cannot be the start of a handshake: what trickles in stays in
// the kernel, and takes neither a goroutine nor buffers.
func (s *session) mayBegin() bool {
	var header [recordHeader]byte
	n, err := peek(s.fd, header[:])
	switch {
	case err != 0:
		return err != unix.EAGAIN
	case s.handshake.hangup || n == 0 || header[0] != handshakeRecord:
		return true
	}
	length := recordHeader + int(header[3])<<8 + int(header[4])
	return n == recordHeader && readable(s.fd) >= min(length, longestHandshake/2)
}

// step is the result of a turn.
type sessionStep uint8

const (
	sessionWaits  sessionStep = iota // for an event
	sessionGoesOn                    // after the turn of others
	sessionEnds
)

// run moves what can be moved, in both directions.
func (s *session) run() sessionStep {
	for range sessionTurn {
		received, ok := s.receive()
		if !ok {
			return sessionEnds
		}
		sent, ok := s.send()
		switch {
		case !ok:
			return sessionEnds
		case !received && !sent:
			return sessionWaits
		}
	}
	return sessionGoesOn
}

// receive moves bytes from the peer to the worker. It is not ok if the session is over.
func (s *session) receive() (moved, ok bool) {
	s.busy.Store(true)
	defer s.busy.Store(false)
	delivered, ok := s.deliver()
	if !delivered || s.peerEnded || len(s.unsent) > 0 {
		return false, ok
	}
	n, err := s.tls.Read(s.terminator.in)
	s.undelivered = s.terminator.in[:n]
	switch {
	case err == nil:
	case errors.Is(err, notYet{}):
		if n == 0 {
			s.undelivered = nil
			return false, true
		}
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		s.peerEnded = true
	default: // the library has said why in an alert
		_ = s.flush()
		_ = unix.Shutdown(int(s.fd), unix.SHUT_WR)
		return false, false
	}
	_, ok = s.deliver()
	s.undelivered = slices.Clone(s.undelivered)
	return true, ok
}

// deliver gives the worker what was deciphered, and then the end.
func (s *session) deliver() (all, ok bool) {
	for len(s.undelivered) > 0 {
		n, err := send(s.inside, s.undelivered)
		if err != 0 || n == 0 {
			return false, err == 0
		}
		s.undelivered = s.undelivered[n:]
	}
	s.undelivered = nil
	if s.peerEnded && !s.told {
		s.told = true
		_ = unix.Shutdown(int(s.inside), unix.SHUT_WR)
	}
	return true, true
}

// send moves bytes of responses from the worker to the peer.
func (s *session) send() (moved, ok bool) {
	if ok = s.flush(); !ok || len(s.unsent) > 0 || s.closed {
		return false, ok
	}
	if s.ended {
		s.closed = true
		_ = unix.Shutdown(int(s.fd), unix.SHUT_WR)
		return false, true
	}
	t := s.terminator
	s.pending.Store(recordSize) // first, so that there is no moment in which the bytes are nowhere
	n, err := recv(s.inside, t.in[:recordSize])
	if err != 0 {
		s.pending.Store(0)
		return false, err == unix.EAGAIN
	}
	s.unsent = t.out[:0]
	var failed error
	switch n {
	case 0:
		s.ended = true
		failed = s.tls.CloseWrite() // it goes to unsent
	default:
		_, failed = s.tls.Write(t.in[:n]) // it goes to unsent
	}
	t.out = s.unsent[:0]
	ok = s.flush()
	s.unsent = slices.Clone(s.unsent)
	return true, ok && failed == nil
}

// flush sends what is enciphered, as much of it as the socket takes. It is not ok if the peer is gone.
func (s *session) flush() (ok bool) {
	for len(s.unsent) > 0 {
		n, err := send(s.fd, s.unsent)
		if err != 0 {
			return false
		}
		if n == 0 {
			break
		}
		s.unsent = s.unsent[n:]
	}
	if len(s.unsent) == 0 {
		s.unsent = nil
	}
	s.pending.Store(int32(len(s.unsent)))
	return true
}

// finish sends what the peer's socket takes at once. The worker is gone: if it wanted a reset, it has told the socket so.
func (s *session) finish() {
	for moved, ok := true, true; moved && ok && !s.ended; {
		moved, ok = s.send()
	}
	if !s.ended {
		_ = s.tls.CloseWrite()
	}
	_ = s.flush()
}
