package server

import (
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	acceptPause = 100 * time.Millisecond
	acceptBatch = 64
	drainPause  = 10 * time.Millisecond
	forever     = -time.Millisecond // to epoll_wait(2)
)

// acceptor takes connections and deals them out. It is the only one that counts them against --max-connections.
type acceptor struct {
	*common
	workers  []*worker
	listener *listener
	epoll    int
	events   [2]unix.EpollEvent
	watching bool
	paused   bool
	ceiling  int       // so many were open when descriptors ran out; 0 is unknown
	asked    *worker   // is making room
	awaited  uint32    // its count of evictions when it has
	relieved bool      // somebody was asked since the last connection was accepted
	anybody  bool      // and need not have been silent
	crowded  time.Time // since when somebody waits and nobody silent has made room
	draining atomic.Bool
	lastLog  time.Time
}

// init makes ready to wait for the listener and for workers.
func (a *acceptor) init() (err error) {
	if a.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	a.watching = true
	for _, fd := range []int{a.listener.fd, a.room.wake} {
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
		if err = unix.EpollCtl(a.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
			return err
		}
	}
	return nil
}

// run ends when the drain begins and what had been waiting is accepted.
func (a *acceptor) run() error {
	for !a.draining.Load() {
		waits, err := a.wait()
		if err != nil {
			return err
		}
		if waits {
			a.take()
		}
	}
	// First, so that what is accepted from now on gets its last response.
	a.tellAll(func(m *mailbox) { m.drain = true })
	for err := syscall.Errno(0); err != unix.EAGAIN; err = a.accept() {
		if err != 0 {
			time.Sleep(drainPause) // connections that end give back what has run out
		}
	}
	unix.Close(a.listener.fd)
	a.tellAll(func(m *mailbox) { m.last = true })
	return nil
}

func (a *acceptor) tellAll(what func(*mailbox)) {
	for _, w := range a.workers {
		w.tell(what)
	}
}

// wait says whether there is something to take: a connection waits for which there is room, or can be.
func (a *acceptor) wait() (takes bool, err error) {
	a.hear()
	listens, timeout := !a.paused, forever
	switch {
	case a.paused:
		timeout = acceptPause
	case a.isFull():
		// Asked before looking, so that what closes or falls silent in between wakes us.
		a.room.wanted.Store(true)
		listens, timeout = a.mayDisplace()
		if a.isOver() && listens {
			return true, nil // that does not wait for a new connection
		}
		a.room.wanted.Store(!listens)
	default:
		a.ceiling = 0
	}
	if listens && !a.crowded.IsZero() {
		timeout = 0 // does anybody still wait?
	}
	a.watch(listens)
	n, err := await(a.epoll, a.events[:], int(timeout/time.Millisecond))
	if err != nil {
		return false, err
	}
	if n == 0 {
		a.paused = false
		if listens {
			a.crowded = time.Time{}
		}
	}
	for _, event := range a.events[:n] {
		if event.Fd == int32(a.room.wake) {
			clearWake(a.room.wake)
			return false, nil // the counts have changed
		}
		takes = true
	}
	return takes, nil
}

// watch turns the listener's events on or off: they would never end while nothing is accepted.
func (a *acceptor) watch(listening bool) {
	if listening == a.watching {
		return
	}
	a.watching = listening
	event := unix.EpollEvent{Fd: int32(a.listener.fd)}
	if listening {
		event.Events = unix.EPOLLIN
	}
	_ = unix.EpollCtl(a.epoll, unix.EPOLL_CTL_MOD, a.listener.fd, &event) // it was added, so it cannot fail
}

// take accepts what waits, within the limit; at the limit somebody makes room (K-84).
func (a *acceptor) take() {
	if a.isFull() {
		a.displace()
		return
	}
	for range min(a.limit()-a.open(), acceptBatch) {
		err := a.accept()
		switch {
		case err == 0:
			a.relieved = false
			continue
		case err == unix.EAGAIN:
		case (err == unix.EMFILE || err == unix.ENFILE) && !a.relieved && a.open() > 0:
			a.ceiling = a.open()
			a.warn(err)
		default:
			a.relieved, a.paused = false, true
			a.warn(err)
		}
		return
	}
}

// accept takes one connection and gives it to the worker that has fewest. What is wrong with a connection that is
// gone already is no error.
func (a *acceptor) accept() syscall.Errno {
	fd, err := accept(a.listener.fd)
	if isOfConnection(err) {
		return 0
	}
	if err != 0 {
		return err
	}
	if a.listener.isUnix {
		_ = setLimits(int(fd)) // else they stay as the system has them
	}
	least := a.workers[0]
	for _, w := range a.workers[1:] {
		if w.status.open.Load() < least.status.open.Load() {
			least = w
		}
	}
	least.status.open.Add(1)
	least.tell(func(m *mailbox) { m.sockets = append(m.sockets, fd) })
	return 0
}

// isOfConnection knows the errors that accept(2) tells to go on after.
func isOfConnection(err syscall.Errno) bool {
	switch err {
	case unix.ECONNABORTED, unix.EINTR, unix.EPROTO, unix.ENETDOWN, unix.ENOPROTOOPT, unix.EHOSTDOWN, unix.ENONET,
		unix.EHOSTUNREACH, unix.EOPNOTSUPP, unix.ENETUNREACH, unix.EPERM:
		return true
	}
	return false
}

// warn says once a second why accepting fails.
func (a *acceptor) warn(err error) {
	if now := time.Now(); now.Sub(a.lastLog) >= time.Second {
		a.lastLog = now
		a.log.Warnf("cannot accept connections for now: %v", err)
	}
}

func (a *acceptor) open() (total int) {
	for _, w := range a.workers {
		total += int(w.status.open.Load())
	}
	return total
}
