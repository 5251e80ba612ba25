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
	most     int
	paused   bool
	asked    bool // a worker is making room
	draining atomic.Bool
	lastLog  time.Time
}

// run ends when the drain begins and what had been waiting is accepted.
func (a *acceptor) run() {
	for !a.draining.Load() {
		if a.wait() {
			a.take()
		}
	}
	for a.accept() {
	}
	unix.Close(a.listener)
	for _, w := range a.workers {
		w.tell(func(m *mailbox) { m.drain = true })
	}
}

// wait says whether a connection waits for which there is room, or can be.
func (a *acceptor) wait() bool {
	full := a.open() >= a.most
	listening := !a.paused && !a.asked
	if full && listening {
		// Asked before looking, so that what falls silent in between wakes us.
		a.roomWanted.Store(true)
		listening = a.silentest() != nil
	}
	fds := []unix.PollFd{{Fd: int32(a.roomWake), Events: unix.POLLIN}, {Fd: int32(a.listener), Events: unix.POLLIN}}
	timeout := -1
	if !listening {
		fds = fds[:1]
	}
	if a.paused {
		timeout = int(acceptPause / time.Millisecond)
	}
	n, _ := unix.Poll(fds, timeout)
	if n == 0 {
		a.paused = false
	}
	if fds[0].Revents != 0 {
		a.asked = false
		clearWake(a.roomWake)
		return false
	}
	return n > 0 && listening
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
	if w := a.silentest(); w != nil {
		a.asked = true
		a.roomWanted.Store(true)
		w.tell(func(m *mailbox) { m.evict++ })
	}
}

// accept takes one connection and gives it to the worker that has fewest.
func (a *acceptor) accept() bool {
	fd, _, err := unix.Accept4(a.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	switch err {
	case nil:
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
		if w.counts.open.Load() < least.counts.open.Load() {
			least = w
		}
	}
	least.counts.open.Add(1)
	least.tell(func(m *mailbox) { m.sockets = append(m.sockets, int32(fd)) })
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
		total += int(w.counts.open.Load())
	}
	return total
}

// silentest is the worker whose connection has been silent longest.
func (a *acceptor) silentest() (found *worker) {
	var oldest uint32
	for _, w := range a.workers {
		if w.counts.idle.Load() == 0 {
			continue
		}
		if since := w.counts.oldestIdle.Load(); found == nil || since < oldest {
			found, oldest = w, since
		}
	}
	return found
}

func (w *worker) tell(what func(*mailbox)) {
	w.mailbox.Lock()
	what(&w.mailbox)
	w.mailbox.Unlock()
	wake(w.wakeFD)
}
