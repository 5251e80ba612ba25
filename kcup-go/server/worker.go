package server

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"kcup/content"
	"kcup/ops/accesslog"
	"kcup/respond"
	"kcup/server/guard"
)

// grace is for the first request of a connection during the drain (K-18).
const grace = time.Second

const (
	readSize   = 16384
	glanceTime = 2 // ticks
	lineAge    = 2 // likewise
	// K-88: so many responses, and so much of one, are a connection's turn.
	turnAnswers = 16
	turnBytes   = 1 << 20
)

// shared is what all workers have in common; nobody changes it but through its atomics.
type shared struct {
	content  content.Current
	path     string
	limits   limits
	stall    uint32       // ticks after which a peer that takes nothing is given up
	heldMost atomic.Int64 // bytes a worker may keep of unfinished heads
	budget   atomic.Int64 // bytes that the kernel may hold for its connections
	cost     atomic.Int64 // what of it one takes that only is open
	most     atomic.Int64 // connections, over all workers
	started  time.Time
	log      *logrus.Logger
	room     room
}

// limits are the ticks after which phases end.
type limits [phaseCount]uint32

// worker is one event loop. Everything in it but the mailbox and the counts belongs to its goroutine alone.
type worker struct {
	*shared
	phases
	codec      codec
	clock      respond.Clock
	spare      spare
	limits     limits // those of all, until the drain
	now        uint32 // ticks since the start
	epoll      int
	wakeFD     int
	in         []byte
	out        []byte
	iov        [2]unix.Iovec
	serving    *content.Content // which it holds
	events     [256]unix.EpollEvent
	again      []int32 // slots that get another turn although nothing new has happened
	turning    []int32
	held       int
	account    account
	owing      []int32 // slots, while the account is settled
	cursor     int     // where settling goes on
	draining   bool
	drainBegan uint32
	silence    uint32 // until this tick nothing more is logged
	last       bool   // no more connections will come
	cut        bool   // the drain has taken too long
	closed     bool   // a connection, in this turn
	asked      bool   // to make room, in this turn

	evictions uint32 // that are over
	counters  Counters
	lines     *accesslog.Lines
	peers     []netip.Addr // of the slots; with an access log

	mailbox mailbox
	status  status
	ledger  ledger
}

// mailbox is how the acceptor speaks to a worker.
type mailbox struct {
	sync.Mutex
	sockets  []int32
	replaced []*content.Content // whose readers are reset
	evict    bool
	anybody  bool // if none is silent
	drain    bool // the drain has begun
	last     bool // no more sockets will come
	cut      bool // the drain is over, whatever is open
}

func newWorker(s *shared, lines *accesslog.Lines) (*worker, error) {
	w := &worker{shared: s, phases: newPhases(), lines: lines, in: make([]byte, guard.MaxHead+2+readSize)}
	w.limits = s.limits
	w.codec.init()
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

// run ends when the worker drains and its last connection is gone.
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
		mail := false
		for i := range w.events[:n] {
			if event := &w.events[i]; event.Fd == none {
				mail = true
			} else {
				w.handle(event)
				w.settle()
			}
		}
		if mail {
			w.readMail()
		}
		w.expire()
		if since, is := w.lines.Oldest(); is && w.now-since >= lineAge {
			w.lines.HandOver()
		}
		w.status.publish(w)
		w.ledger.publish(&w.counters, &w.phases)
	}
	w.lines.End()
	unix.Close(w.epoll)
	return nil
}

func (w *worker) expire() {
	for p := range phaseCount {
		for {
			slot, is := w.expired(p, w.limits[p], w.now)
			if !is {
				break
			}
			switch p {
			case writing:
				w.glance(slot)
			case lingering:
				w.lingered(slot)
			default:
				w.runOut(slot, p)
			}
		}
	}
}

// runOut is the end of a silence or of the time for a head, unless there is news that was not read yet: all of us may
// have been stopped for a while (K-89).
func (w *worker) runOut(slot int32, p phase) {
	c := &w.slots[slot]
	if readable(c.fd) > 0 {
		before := *c
		if w.input(slot); c.phase != p || c.since != before.since || c.generation != before.generation {
			return
		}
	}
	switch {
	case p == inHead:
		w.close(slot, headerTimeout)
	case w.draining:
		w.part(slot, drained, lingerMost)
	default:
		w.part(slot, idleTimeout, lingerMost)
	}
}

func (w *worker) handle(event *unix.EpollEvent) {
	c := &w.slots[event.Fd]
	if c.generation != uint32(event.Pad) || c.phase == vacant {
		return // for an earlier user of the slot
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
		w.resume(event.Fd)
	case c.phase != writing && event.Events&(unix.EPOLLIN|gone) != 0:
		w.input(event.Fd)
	}
}

// turn lets each connection that had its turn and may have more to do have another one.
func (w *worker) turn() {
	w.again, w.turning = w.turning[:0], w.again
	for _, slot := range w.turning {
		if c := &w.slots[slot]; c.queued {
			if c.queued = false; c.phase == writing {
				w.resume(slot)
			} else {
				w.input(slot)
			}
			w.settle()
		}
	}
}

func (w *worker) readMail() {
	clearWake(w.wakeFD)
	w.current()
	w.mailbox.Lock()
	sockets, evict, anybody, drain := slices.Clone(w.mailbox.sockets), w.mailbox.evict, w.mailbox.anybody, w.mailbox.drain
	replaced := w.mailbox.replaced
	w.mailbox.sockets, w.mailbox.replaced, w.mailbox.evict = w.mailbox.sockets[:0], nil, false
	w.last, w.cut = w.mailbox.last, w.mailbox.cut
	w.mailbox.Unlock()
	if drain && !w.draining {
		w.drain()
	}
	for _, fd := range sockets {
		w.adopt(fd)
	}
	for _, c := range replaced {
		w.recall(c)
	}
	if evict {
		w.evict(anybody)
	}
	// The limits may be others now.
	w.shed(none)
	w.account.budget = w.budget.Load()
	w.settle()
}

// recall resets the connections that still read a version of the content (K-105).
func (w *worker) recall(c *content.Content) {
	for slot := range w.slots {
		if out := w.slots[slot].out; out != nil && out.of == c {
			w.close(int32(slot), replaced)
		}
	}
}

// drain ends the silent connections (K-18). One that has never been heard of has a moment: its first request may be on
// its way.
func (w *worker) drain() {
	w.draining, w.drainBegan = true, w.now
	w.limits[idle] = ticks(grace)
	for range w.queue[idle].count {
		slot := w.queue[idle].first
		if !w.slots[slot].spoken {
			w.enter(slot, idle)
		}
		w.input(slot)
	}
}

func (w *worker) adopt(fd int32) {
	slot := w.add(fd, w.now)
	w.counters.Accepted++
	event := unix.EpollEvent{Fd: slot, Pad: int32(w.slots[slot].generation)}
	event.Events = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, int(fd), &event); err != nil {
		if w.now >= w.silence {
			w.silence = w.now + ticks(time.Second)
			w.log.Warnf("cannot watch a connection: %v", err)
		}
		w.close(slot, shed)
	} else if w.lines != nil && !w.meet(slot) {
		w.close(slot, peerGone)
	} else if w.draining {
		w.input(slot)
	}
}

// meet asks who the peer of a new connection is. It is gone when that is not known any more.
func (w *worker) meet(slot int32) (is bool) {
	for int(slot) >= len(w.peers) {
		w.peers = append(w.peers, netip.Addr{})
	}
	w.peers[slot], is = peerOf(w.slots[slot].fd)
	return is
}

// current is the content for the next response.
func (w *worker) current() *content.Content {
	if w.content.Peek() != w.serving {
		w.renew()
	}
	return w.serving
}

func (w *worker) renew() {
	if w.serving != nil {
		w.serving.Release()
	}
	w.serving = w.content.Get()
}

func (w *worker) enter(slot int32, to phase) { w.phases.enter(slot, to, w.now) }
