package server

import (
	"container/list"
	"crypto/tls"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// So many sessions that have ended leave a few MiB.
	manyEnded = 256
	// How often that is returned.
	returnEvery = time.Second
)

// terminator is an event loop with the TLS of some connections. Neither the acceptor nor a worker waits for it.
type terminator struct {
	*TLS
	limit      time.Duration // of a handshake
	epoll      int
	wakeFD     int
	sessions   []*session
	free       []int32
	open       int
	large      atomic.Int64  // sessions for which the library has a large buffer
	room       *atomic.Int64 // for these buffers, in bytes
	handshakes list.List     // sessions, in the order in which they were accepted
	again      []*session
	turning    []*session
	in, out    []byte
	events     [256]unix.EpollEvent
	last       bool
	ended      int         // sessions, since their memory was last returned
	returning  atomic.Bool // it will be, soon

	mutex    sync.Mutex
	messages terminatorMessages
}

// terminatorMessages are from the acceptor, and from the goroutines of handshakes.
type terminatorMessages struct {
	arrived []*session
	shaken  []shaken
	last    bool // no more will arrive
}

// shaken is the end of a handshake.
type shaken struct {
	*session
	err error
}

func newTerminator(shared *TLS, limit time.Duration, room *atomic.Int64) (t *terminator, err error) {
	t = &terminator{TLS: shared, limit: limit, room: room, in: make([]byte, recordSize)}
	if t.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if t.wakeFD, err = newWake(); err != nil {
		return nil, err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: none}
	return t, unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, t.wakeFD, &event)
}

func (t *terminator) tell(what func(*terminatorMessages)) {
	t.mutex.Lock()
	what(&t.messages)
	t.mutex.Unlock()
	wake(t.wakeFD)
}

// run ends when nobody arrives any more, and the last one is gone.
func (t *terminator) run() error {
	for !t.last || t.open > 0 {
		n := ready(t.epoll, t.events[:])
		if n == 0 && len(t.again) == 0 {
			var err error
			if n, err = await(t.epoll, t.events[:], t.timeout()); err != nil {
				return err
			}
		}
		t.again, t.turning = t.turning[:0], t.again
		for _, s := range t.turning {
			s.queued = false
			t.give(s)
		}
		clear(t.turning)
		for i := range t.events[:n] {
			if event := &t.events[i]; event.Fd == none {
				clearWake(t.wakeFD)
			} else if s := t.sessions[event.Fd]; s != nil {
				if s.handshake != nil && event.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
					s.handshake.hangup = true
				}
				t.give(s)
			}
		}
		t.expire()
		t.readMessages()
	}
	unix.Close(t.epoll)
	return nil
}

// timeout is how long no handshake can take too long, in milliseconds.
func (t *terminator) timeout() int {
	first := t.handshakes.Front()
	if first == nil {
		return -1
	}
	left := time.Until(first.Value.(*session).accepted.Add(t.limit))
	return int(max(0, left+time.Millisecond) / time.Millisecond)
}

func (t *terminator) readMessages() {
	t.mutex.Lock()
	m := t.messages
	t.messages = terminatorMessages{last: m.last}
	t.mutex.Unlock()
	t.last = m.last
	for _, s := range m.arrived {
		t.take(s)
	}
	for _, s := range m.shaken {
		t.shaken(s.session, s.err)
	}
}

// take takes in a connection. One that cannot be watched is closed, which the worker sees.
func (t *terminator) take(s *session) {
	if n := len(t.free); n > 0 {
		s.slot, t.free = t.free[n-1], t.free[:n-1]
		t.sessions[s.slot] = s
	} else {
		s.slot = int32(len(t.sessions))
		t.sessions = append(t.sessions, s)
	}
	t.open++
	s.handshake.place = t.handshakes.PushBack(s)
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: s.slot}
	for _, fd := range []int32{s.fd, s.inside} {
		if unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, int(fd), &event) != nil {
			t.end(s)
			return
		}
	}
	t.give(s)
}

// give gives a session its turn.
func (t *terminator) give(s *session) {
	switch {
	case t.sessions[s.slot] != s || s.queued: // it is over, or its turn comes soon
	case s.handshake != nil:
		t.shake(s)
	case s.isAbandoned():
		s.finish()
		t.end(s)
	default:
		switch s.run() {
		case sessionGoesOn:
			s.queued = true
			t.again = append(t.again, s)
		case sessionEnds:
			if s.isAbandoned() {
				s.finish()
			}
			t.end(s)
		}
	}
}

// shake begins a handshake, or tells its goroutine that there is news.
func (t *terminator) shake(s *session) {
	h := s.handshake
	switch {
	case h.news != nil:
		if s.isAbandoned() {
			t.cut(s, errAbandoned)
		}
		t.nudge(h)
	case s.isAbandoned():
		t.end(s)
	case s.mayBegin():
		h.news = make(chan struct{}, 1)
		s.tls = tls.Server(wire{s}, t.Certificate().config)
		go func() {
			err := s.tls.Handshake()
			t.tell(func(m *terminatorMessages) { m.shaken = append(m.shaken, shaken{s, err}) })
		}()
	}
}

func (t *terminator) nudge(h *handshake) {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// cut ends a handshake, whose goroutine then says that it is over.
func (t *terminator) cut(s *session, why error) {
	t.mutex.Lock()
	if s.handshake.cut == nil {
		s.handshake.cut = why
	}
	t.mutex.Unlock()
}

// fate is why a handshake is cut, nil if it goes on.
func (t *terminator) fate(h *handshake) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return h.cut
}

// shaken is the end of a handshake: the session goes on, or is over.
func (t *terminator) shaken(s *session, err error) {
	if s.handshake.place != nil {
		t.handshakes.Remove(s.handshake.place)
		s.handshake.place = nil
	}
	cut := s.handshake.cut
	switch {
	case err == nil:
		t.OK.Add(1)
		s.handshake = nil
		s.outside.shaken.Store(true)
		t.give(s)
		return
	case cut == errTimeout:
		t.Timeout.Add(1)
	case cut == nil && !s.isAbandoned():
		t.Failed.Add(1)
		_ = unix.Shutdown(int(s.fd), unix.SHUT_WR) // behind the alert that says why
	}
	t.end(s)
}

// hasRoom takes room for a large buffer: as for incomplete heads (K-86), the one that has just sent more goes if there is none.
func (t *terminator) hasRoom() bool {
	if t.large.Add(1)*mostRoom > max(t.room.Load(), 2*mostRoom) {
		t.large.Add(-1)
		return false
	}
	return true
}

// expire ends the handshakes that have taken too long. All of us may have been stopped for a while (K-89): what has come since
// gets a moment.
func (t *terminator) expire() {
	for {
		first := t.handshakes.Front()
		if first == nil || time.Since(first.Value.(*session).accepted) <= t.limit {
			return
		}
		s := first.Value.(*session)
		if h := s.handshake; h.news != nil && !h.late && readable(s.fd) > 0 {
			h.late, s.accepted = true, s.accepted.Add(tick)
			return
		}
		t.handshakes.Remove(first)
		s.handshake.place = nil
		if s.handshake.news == nil {
			t.Timeout.Add(1)
			t.end(s)
			continue
		}
		t.cut(s, errTimeout)
		t.nudge(s.handshake)
	}
}

// end ends a session. The worker's end of the pair, if there still is one, sees that.
func (t *terminator) end(s *session) {
	if s.handshake != nil && s.handshake.place != nil {
		t.handshakes.Remove(s.handshake.place)
	}
	if s.large {
		t.large.Add(-1)
	}
	s.gone.Store(true)
	_ = unix.EpollCtl(t.epoll, unix.EPOLL_CTL_DEL, int(s.fd), nil) // the worker may hold it a little longer
	unix.Close(int(s.inside))
	s.release()
	t.sessions[s.slot] = nil
	t.free = append(t.free, s.slot)
	t.open--
	t.ended++
	if t.ended >= manyEnded && !t.returning.Swap(true) {
		t.ended = 0
		time.AfterFunc(returnEvery, t.returnMemory)
	}
}

// returnMemory is for when nobody comes any more: for minutes nothing else would make the collector run.
func (t *terminator) returnMemory() {
	t.returning.Store(false)
	debug.FreeOSMemory()
}
