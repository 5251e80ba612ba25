package server

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/accesslog"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

const (
	readSize   = 16384
	glanceTime = 2 // ticks
	lineAge    = 2 // ticks
	// A connection's turn is this many responses, and this many bytes of one (K-88).
	turnResponses = 16
	turnBytes     = 1 << 20
)

// common is shared by all workers. After the start only its atomics change.
type common struct {
	current  current
	limits   limits
	stall    uint32       // ticks after which a client that accepts too little is disconnected
	heldMost atomic.Int64 // bytes that a worker may keep of incomplete heads
	budget   atomic.Int64 // bytes that the kernel may hold for its connections
	cost     atomic.Int64 // the part of it that an open connection takes
	most     atomic.Int64 // connections, over all workers
	started  time.Time
	log      *logrus.Logger
	logsEnds bool // whether ends of connections are logged
	waker    acceptorWaker
}

// limits are the time limits of phases, in ticks.
type limits [phaseCount]uint32

// worker is one event loop. Everything in it except the mailbox and the published counts belongs to its goroutine
// alone.
type worker struct {
	*common
	phases
	request       respond.Request
	clock         respond.Clock
	spareOutgoing spare[outgoing]
	spareKept     spare[kept]
	limits        limits // the same for all workers, until the drain
	now           uint32 // ticks since the start
	epoll         int
	wakeFD        int
	in            []byte
	out           []byte
	iov           [2]unix.Iovec
	serving       *respond.Responses // held by it
	events        [256]unix.EpollEvent
	again         []int32 // slots that get another turn without an event
	turning       []int32
	held          int
	account       account
	owing         []int32 // slots, while the account is reconciled
	cursor        int     // the slot at which reconciling continues
	draining      bool
	drainBegan    uint32
	silence       uint32 // until this tick no more warnings are logged
	last          bool   // no more connections will come
	cut           bool   // the drain has taken too long
	closed        bool   // whether a connection was closed in this turn
	asked         bool   // whether the acceptor asked for room in this turn

	evictions uint32 // requests to make room that were carried out
	counters  Counters
	lines     *accesslog.Lines
	peers     []netip.Addr // by slot; only with an access log, or if the ends of connections are logged

	mailbox mailbox
	status  status
	ledger  ledger
}

func newWorker(s *common, lines *accesslog.Lines) (*worker, error) {
	w := &worker{common: s, phases: newPhases(), lines: lines, in: make([]byte, guard.MaxHead+2+readSize)}
	w.limits = s.limits
	for r := range w.status.first {
		w.status.first[r].Store(nobody)
	}
	var err error
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if w.wakeFD, err = newWake(); err != nil {
		return nil, err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: none}
	return w, unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, w.wakeFD, &event)
}

// run returns when the worker has drained and its last connection is gone.
func (w *worker) run() error {
	for !w.cut && (!w.last || w.open > 0) {
		n := ready(w.epoll, w.events[:])
		if n == 0 && len(w.again) == 0 {
			var err error
			if n, err = await(w.epoll, w.events[:], w.timeout()); err != nil {
				return err
			}
		}
		w.readClocks()
		w.turn()
		hasMessages := false
		for i := range w.events[:n] {
			if event := &w.events[i]; event.Fd == none {
				hasMessages = true
			} else {
				w.handle(&w.slots[event.Fd], event)
				w.reconcile()
			}
		}
		if hasMessages {
			w.readMessages()
		}
		w.expire()
		if since, ok := w.lines.Oldest(); ok && w.now-since >= lineAge {
			w.lines.HandOver()
		}
		w.status.publish(w)
		w.ledger.publish(&w.counters, &w.phases)
	}
	for i := range w.slots {
		if c := &w.slots[i]; w.logsEnds && c.phase != vacant {
			w.logEnd(w.peers[c.slot], "cut")
		}
	}
	w.lines.End()
	unix.Close(w.epoll)
	return nil
}

// adopt takes in a new connection.
func (w *worker) adopt(new arrival) {
	c := w.add(new.fd, w.now)
	c.outside = new.outside
	w.counters.Accepted++
	event := unix.EpollEvent{Fd: c.slot, Pad: int32(c.generation)} // together they are what the kernel gives back
	event.Events = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	if (w.lines != nil || w.logsEnds) && !w.meet(c) {
		w.close(c, peerGone)
	} else if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, int(c.fd), &event); err != nil {
		if w.now >= w.silence {
			w.silence = w.now + ticks(time.Second)
			w.log.Warnf("cannot watch a connection: %v", content.Reason(err))
		}
		w.close(c, shed)
	} else if w.draining {
		w.input(c)
	}
}

// meet asks for the address of a new connection's peer. It is not ok if the peer has gone already.
func (w *worker) meet(c *connection) (ok bool) {
	for int(c.slot) >= len(w.peers) {
		w.peers = append(w.peers, netip.Addr{})
	}
	fd := c.fd
	if c.outside != nil {
		fd = c.outside.fd
	}
	if w.peers[c.slot], ok = peerOf(fd); !ok {
		w.peers[c.slot] = netip.IPv6Unspecified() // nobody has this address
	}
	return ok
}

// handle continues a connection that has an event.
func (w *worker) handle(c *connection, event *unix.EpollEvent) {
	if c.generation != uint32(event.Pad) || c.phase == vacant {
		return // the event is for an earlier user of the slot
	}
	const gone = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if event.Events&gone != 0 {
		c.hangup = true
	}
	if c.queued {
		c.full = true // it is its turn soon
		return
	}
	switch {
	case c.phase == writing && event.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0:
		w.resume(c)
	case c.phase != writing && event.Events&(unix.EPOLLIN|gone) != 0:
		w.input(c)
	}
}

// turn gives another turn to each connection that may have more to do.
func (w *worker) turn() {
	w.again, w.turning = w.turning[:0], w.again
	for _, slot := range w.turning {
		if c := &w.slots[slot]; c.queued {
			if c.queued = false; c.phase == writing {
				w.resume(c)
			} else {
				w.input(c)
			}
			w.reconcile()
		}
	}
}

// responses returns what the next request gets.
func (w *worker) responses() *respond.Responses {
	if w.current.peek() != w.serving {
		w.renew()
	}
	return w.serving
}

func (w *worker) renew() {
	if w.serving != nil {
		w.serving.Release()
	}
	w.serving = w.current.get()
}

func (w *worker) enter(c *connection, to phase) { w.move(c, to, w.now) }
