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
	// crowdedMost is how long a new connection waits when nobody is silent.
	crowdedMost = time.Second
	crowdedEnd  = 3 * time.Second   // after it those that follow wait again
	forever     = -time.Millisecond // to epoll_wait(2)
)

// acceptor takes connections and deals them out. It is the only one that counts them against --max-connections.
type acceptor struct {
	*shared
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
	forced   bool      // and need not have been silent
	crowded  time.Time // since when a new connection waits, and nobody is silent
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
	// First, so that what is accepted from now on is answered for the last time.
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
		if a.isOver() && a.asked == nil && first(a.workers, true) != nil {
			return true, nil // that does not wait for a new connection
		}
		a.room.wanted.Store(!listens)
	default:
		a.ceiling = 0
		if !a.forced {
			a.crowded = time.Time{}
		}
	}
	a.watch(listens)
	n, err := await(a.epoll, a.events[:], int(timeout/time.Millisecond))
	if err != nil {
		return false, err
	}
	if n == 0 {
		a.paused = false
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

// limit is how many may be open.
func (a *acceptor) limit() int {
	if a.ceiling > 0 {
		return min(a.ceiling, int(a.most.Load()))
	}
	return int(a.most.Load())
}

// isFull says that a new connection takes another one's place.
func (a *acceptor) isFull() bool { return a.open() >= a.limit() }

// isOver says that the limit was lowered, and some have to go (K-89).
func (a *acceptor) isOver() bool { return a.open() > a.limit() }

// hear takes in that who was asked to make room has done what can be done.
func (a *acceptor) hear() {
	if a.asked == nil || a.asked.status.evictions.Load() != a.awaited {
		return
	}
	switch a.asked = nil; {
	case a.isFull():
		a.crowd() // nobody was silent after all
	case !a.forced:
		a.crowded = time.Time{}
	}
}

// crowd begins the time for which a new connection waits when nobody is silent.
func (a *acceptor) crowd() {
	if since := time.Since(a.crowded); since >= crowdedEnd {
		a.crowded = time.Now()
	}
}

// isCrowded says that a new connection has waited for long enough, or one has just now. That a new one is silent at first
// does not end it.
func (a *acceptor) isCrowded() bool {
	since := time.Since(a.crowded)
	return since >= crowdedMost && since < crowdedEnd
}

// mayDisplace says whether to listen, since somebody may be asked to make room or nobody waits; else for how long not.
func (a *acceptor) mayDisplace() (may bool, wait time.Duration) {
	since := time.Since(a.crowded)
	switch {
	case a.asked != nil:
		return false, forever
	case first(a.workers, a.isOver()) != nil:
		if !a.relieved && since < crowdedMost {
			a.crowded = time.Time{}
		}
	case since < crowdedMost:
		return false, crowdedMost - since + time.Millisecond
	}
	return true, forever
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
			a.relieved, a.forced = false, false
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

// displace asks one worker to close one connection: a silent one, or, where nobody has been silent for long enough,
// anybody's.
func (a *acceptor) displace() {
	w, anybody := first(a.workers, false), false
	if w == nil && (a.isOver() || a.isCrowded()) {
		w, anybody = first(a.workers, true), true
	}
	if w == nil {
		if time.Since(a.crowded) >= crowdedMost {
			a.crowded = time.Now()
		}
		return
	}
	if anybody {
		a.crowded = time.Now().Add(-crowdedMost) // those that follow need not wait
	}
	a.asked, a.awaited, a.relieved, a.forced = w, w.status.evictions.Load()+1, true, anybody
	a.room.wanted.Store(true)
	w.tell(func(m *mailbox) { m.evict, m.anybody = true, anybody })
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

func (w *worker) tell(what func(*mailbox)) {
	w.mailbox.Lock()
	what(&w.mailbox)
	w.mailbox.Unlock()
	wake(w.wakeFD)
}
