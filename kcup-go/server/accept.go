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
)

// acceptor takes connections and deals them out. It is the only one that counts them against --max-connections.
type acceptor struct {
	*shared
	workers  []*worker
	listener *listener
	epoll    int
	events   [2]unix.EpollEvent
	watching bool
	most     int
	paused   bool
	asked    *worker // is making room
	awaited  uint32  // its count of evictions when it has
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
func (a *acceptor) run() {
	for !a.draining.Load() {
		if a.wait() {
			a.take()
		}
	}
	// First, so that what is accepted from now on is answered for the last time.
	a.tellAll(func(m *mailbox) { m.drain = true })
	for err := syscall.Errno(0); err == 0 || isShortage(err); err = a.accept() {
		if err != 0 {
			time.Sleep(drainPause) // connections that end give back what has run out
		}
	}
	unix.Close(a.listener.fd)
	a.tellAll(func(m *mailbox) { m.last = true })
}

func (a *acceptor) tellAll(what func(*mailbox)) {
	for _, w := range a.workers {
		w.tell(what)
	}
}

// wait says whether a connection waits for which there is room, or can be.
func (a *acceptor) wait() bool {
	listening := !a.paused
	if listening && a.open() >= a.most {
		// Asked before looking, so that what closes or falls silent in between wakes us.
		a.room.wanted.Store(true)
		listening = a.canMakeRoom()
		a.room.wanted.Store(!listening)
	}
	a.watch(listening)
	timeout := -1
	if a.paused {
		timeout = int(acceptPause / time.Millisecond)
	}
	n := await(a.epoll, a.events[:], timeout)
	if n == 0 {
		a.paused = false
	}
	waits := false
	for _, event := range a.events[:n] {
		if event.Fd == int32(a.room.wake) {
			clearWake(a.room.wake)
			return false // the counts have changed
		}
		waits = true
	}
	return waits
}

// canMakeRoom says whether a connection has closed meanwhile, or may be asked to.
func (a *acceptor) canMakeRoom() bool {
	if a.asked != nil && a.asked.status.evictions.Load() == a.awaited {
		a.asked = nil
	}
	return a.open() < a.most || a.asked == nil && silentest(a.workers) != nil
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

// take accepts what waits, within the limit; at the limit the connection that has been silent longest makes room.
func (a *acceptor) take() {
	room := a.most - a.open()
	if room > 0 {
		for range min(room, acceptBatch) {
			if err := a.accept(); err != 0 {
				if err != unix.EAGAIN {
					a.pause(err)
				}
				return
			}
		}
		return
	}
	if w := silentest(a.workers); w != nil {
		a.asked, a.awaited = w, w.status.evictions.Load()+1
		a.room.wanted.Store(true)
		w.tell(func(m *mailbox) { m.evict++ })
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
		unix.EHOSTUNREACH, unix.EOPNOTSUPP, unix.ENETUNREACH:
		return true
	}
	return false
}

// isShortage knows the errors that pass when others give something back (K-85).
func isShortage(err syscall.Errno) bool {
	switch err {
	case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
		return true
	}
	return false
}

// pause lets others give back what has run out (K-85).
func (a *acceptor) pause(err error) {
	a.paused = true
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

func (w *worker) tell(what func(*mailbox)) {
	w.mailbox.Lock()
	what(&w.mailbox)
	w.mailbox.Unlock()
	wake(w.wakeFD)
}
