package server

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

const (
	acceptPause = 100 * time.Millisecond
	drainPause  = 10 * time.Millisecond
	// admitTime is how long a new connection waits for one that falls silent, and lookAgain the interval at which it
	// looks at least.
	admitTime = time.Second
	lookAgain = 50 * time.Millisecond
)

// acceptor accepts connections and hands each to the worker that has the fewest. It alone applies --max-connections: it
// accepts one more than that, and keeps it until there is room.
type acceptor struct {
	*common
	workers  []*worker
	listener *listener
	tls      *terminators // nil without TLS
	file     *os.File     // the listener's, for the runtime to wait on
	raw      syscall.RawConn
	ceiling  int  // connections that were open when descriptors ran out; 0: they have not
	crowded  bool // a new connection has waited in vain for a silent one, and some have waited ever since
	draining atomic.Bool
	lastLog  time.Time
}

func (a *acceptor) init() (err error) {
	a.file = os.NewFile(uintptr(a.listener.fd), a.listener.url)
	a.raw, err = a.file.SyscallConn()
	return err
}

// run returns when the drain has begun and the connections in the backlog are accepted.
func (a *acceptor) run() error {
	for hasMadeRoom := false; ; {
		_ = a.file.SetReadDeadline(time.Time{}) // nudges from here on are noticed
		a.makeRoom(a.isOver)                    // if a limit was lowered (K-89)
		if a.draining.Load() {
			return a.drain()
		}
		fd, err := a.next()
		switch {
		case err == nil:
			hasMadeRoom = false
			a.makeRoom(a.isFull)
			a.deal(fd)
		case errors.Is(err, os.ErrDeadlineExceeded):
		case areExhausted(err) && !hasMadeRoom && a.open() > 0:
			a.warn(err)
			hasMadeRoom, a.ceiling = true, a.open()
			a.makeRoom(a.isFull)
			a.ceiling = 0
		case errors.As(err, new(syscall.Errno)):
			a.warn(err)
			hasMadeRoom = false
			time.Sleep(acceptPause)
		default:
			return err
		}
	}
}

// nudge makes the acceptor check the limits again, and whether the drain has begun.
func (a *acceptor) nudge() {
	a.waker.wake()
	_ = a.file.SetReadDeadline(time.Unix(1, 0)) // fails only once the file is closed, and then nothing waits
}

// drain accepts the connections in the backlog.
func (a *acceptor) drain() error {
	// First, so that each connection accepted from now on gets its last response.
	a.tellAll(func(m *mailbox) { m.drain = true })
	for {
		fd, err := a.tls.accept(a.listener.fd)
		if err == unix.EAGAIN || err != 0 && !isReadable(a.listener.fd) {
			break
		}
		if err == 0 {
			a.deal(fd)
		} else if !isOfConnection(err) {
			time.Sleep(drainPause) // connections that end free what has run out
		}
	}
	a.file.Close()
	a.tellAll(func(m *mailbox) { m.last = true })
	a.tls.close()
	return nil
}

func (a *acceptor) tellAll(what func(*mailbox)) {
	for _, w := range a.workers {
		w.tell(what)
	}
}

// next waits for a connection. Without one accept(2) would still report that descriptors have run out.
func (a *acceptor) next() (fd int32, err error) {
	var number syscall.Errno
	err = a.raw.Read(func(uintptr) bool {
		fd, number = a.tls.accept(a.listener.fd)
		for isOfConnection(number) {
			fd, number = a.tls.accept(a.listener.fd)
		}
		if number == unix.EAGAIN || areExhausted(number) && !isReadable(a.listener.fd) {
			a.crowded = false
			return false
		}
		return true
	})
	if err == nil && number != 0 {
		err = number
	}
	return fd, err
}

// deal hands a connection to the worker that has the fewest.
func (a *acceptor) deal(fd int32) {
	if a.listener.isUnix {
		_ = setLimits(int(fd)) // if it fails, the system's limits stay
	}
	least := a.workers[0]
	for _, w := range a.workers[1:] {
		if w.status.open.Load() < least.status.open.Load() {
			least = w
		}
	}
	least.status.open.Add(1)
	new := a.tls.handOver(fd)
	least.tell(func(m *mailbox) { m.sockets = append(m.sockets, new) })
}

// areExhausted reports whether descriptors have run out.
func areExhausted(err error) bool { return err == unix.EMFILE || err == unix.ENFILE }

// isOfConnection recognises the errors of accept(2) that concern one connection, which is gone already.
func isOfConnection(err syscall.Errno) bool {
	switch err {
	case unix.ECONNABORTED, unix.EINTR, unix.EPROTO, unix.ENETDOWN, unix.ENOPROTOOPT, unix.EHOSTDOWN, unix.ENONET,
		unix.EHOSTUNREACH, unix.EOPNOTSUPP, unix.ENETUNREACH, unix.EPERM:
		return true
	}
	return false
}

// makeRoom has connections closed, one after the other, while there are too many (K-84): silent ones or, if new
// connections have waited long enough for these, any.
func (a *acceptor) makeRoom(tooMany func() bool) {
	for since := time.Now(); tooMany() && !a.draining.Load(); {
		a.waker.waiting.Store(true) // before looking, so that a connection that closes or falls silent in between wakes us
		w := firstOf(a.workers, false)
		anybody := w == nil && (a.crowded || a.isOver() || time.Since(since) >= admitTime)
		if anybody {
			a.crowded = a.crowded || !a.isOver()
			w = firstOf(a.workers, true)
		}
		if w == nil {
			a.waker.wait()
			continue
		}
		a.evict(w, anybody)
		a.crowded = a.crowded && (anybody || tooMany())
	}
	a.waker.waiting.Store(false)
}

// evict makes a worker close one connection, and waits until it has.
func (a *acceptor) evict(w *worker, anybody bool) {
	due := w.status.evictions.Load() + 1
	w.tell(func(m *mailbox) { m.evict, m.anybody = true, anybody })
	for a.waker.waiting.Store(true); w.status.evictions.Load() != due; a.waker.waiting.Store(true) {
		a.waker.wait()
	}
}

// isFull reports whether a new connection takes another one's place.
func (a *acceptor) isFull() bool {
	return a.open() >= int(a.most.Load()) || a.ceiling > 0 && a.open() >= a.ceiling
}

// isOver reports whether more are open than allowed.
func (a *acceptor) isOver() bool { return a.open() > int(a.most.Load()) }

func (a *acceptor) open() (total int) {
	for _, w := range a.workers {
		total += int(w.status.open.Load())
	}
	return total
}

// warn logs why accepting fails, at most once a second.
func (a *acceptor) warn(err error) {
	if now := time.Now(); now.Sub(a.lastLog) >= time.Second {
		a.lastLog = now
		a.log.Warnf("cannot accept connections, trying again: %v", content.Reason(err))
	}
}
