package server

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	acceptPause = 100 * time.Millisecond
	acceptBatch = 64
)

// acceptor takes connections and deals them out. It is the only one that counts them against --max-connections.
type acceptor struct {
	*shared
	workers  []*worker
	listener int
	epoll    int
	events   [2]unix.EpollEvent
	watching bool
	most     int
	paused   bool
	asked    bool // a worker is making room
	draining atomic.Bool
	lastLog  time.Time
}

// init makes ready to wait for the listener and for workers.
func (a *acceptor) init() (err error) {
	if a.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	a.watching = true
	for _, fd := range []int{a.listener, a.room.wake} {
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
	for a.accept() {
	}
	unix.Close(a.listener)
	a.tellAll(func(m *mailbox) { m.last = true })
}

func (a *acceptor) tellAll(what func(*mailbox)) {
	for _, w := range a.workers {
		w.tell(what)
	}
}

// wait says whether a connection waits for which there is room, or can be.
func (a *acceptor) wait() bool {
	full := a.open() >= a.most
	listening := !a.paused && !a.asked
	if full && listening {
		// Asked before looking, so that what falls silent in between wakes us.
		a.room.wanted.Store(true)
		listening = silentest(a.workers) != nil
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
			a.asked = false
			clearWake(a.room.wake)
			return false // the counts have changed
		}
		waits = true
	}
	return waits
}

// watch turns the listener's events on or off: they would never end while nothing is accepted.
func (a *acceptor) watch(listening bool) {
	if listening == a.watching {
		return
	}
	a.watching = listening
	event := unix.EpollEvent{Fd: int32(a.listener)}
	if listening {
		event.Events = unix.EPOLLIN
	}
	_ = unix.EpollCtl(a.epoll, unix.EPOLL_CTL_MOD, a.listener, &event) // it was added, so it cannot fail
}

// take accepts what waits, within the limit; at the limit the connection that has been silent longest makes room.
func (a *acceptor) take() {
	room := a.most - a.open()
	if room > 0 {
		for range min(room, acceptBatch) {
			if !a.accept() {
				return
			}
		}
		return
	}
	if w := silentest(a.workers); w != nil {
		a.asked = true
		a.room.wanted.Store(true)
		w.tell(func(m *mailbox) { m.evict++ })
	}
}

// accept takes one connection and gives it to the worker that has fewest.
func (a *acceptor) accept() bool {
	fd, err := accept(a.listener)
	switch err {
	case 0:
	case unix.EAGAIN:
		return false
	case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
		a.pause(err)
		return false
	default:
		return true // accept(2): errors of the connection, which is gone
	}
	least := a.workers[0]
	for _, w := range a.workers[1:] {
		if w.status.open.Load() < least.status.open.Load() {
			least = w
		}
	}
	least.status.open.Add(1)
	least.tell(func(m *mailbox) { m.sockets = append(m.sockets, fd) })
	return true
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
