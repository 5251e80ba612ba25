package server

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"kcup/content"
	"kcup/ops/accesslog"
	"kcup/respond"
	"kcup/server/guard"
)

const (
	readSize   = 16384
	lingerMost = 65536
	glanceTime = 2 // ticks
	lineAge    = 2 // likewise
)

// shared is what all workers have in common; nobody changes it but through its atomics.
type shared struct {
	content  content.Current
	path     string
	limits   [phaseCount]uint32 // ticks after which a phase ends
	stall    uint32             // ticks after which a peer that takes nothing is given up
	heldMost int                // bytes a worker may keep of unfinished heads
	share    int64              // bytes that the kernel may hold of its responses
	started  time.Time
	log      *logrus.Logger
	room     room
}

// worker is one event loop. Everything in it but the mailbox and the counts belongs to its goroutine alone.
type worker struct {
	*shared
	phases
	codec    codec
	clock    respond.Clock
	spare    spare
	now      uint32 // ticks since the start
	epoll    int
	wakeFD   int
	in       []byte
	out      []byte
	iov      [2]unix.Iovec
	serving  *content.Content // which it holds
	events   [256]unix.EpollEvent
	again    []int32 // slots that get another turn although nothing new has happened
	turning  []int32
	held     int
	account  account
	owing    []int32 // slots with a claim, while it is settled
	draining bool
	last     bool // no more connections will come
	cut      bool // the drain has taken too long
	closed   bool // a connection, in this turn

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
	sockets []int32
	evict   int
	drain   bool // the drain has begun
	last    bool // no more sockets will come
	cut     bool // the drain is over, whatever is open
}

func newWorker(s *shared, lines *accesslog.Lines) (*worker, error) {
	w := &worker{shared: s, account: account{share: s.share}, phases: newPhases(), lines: lines, in: make([]byte, guard.MaxHead+2+readSize)}
	w.codec.init()
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
func (w *worker) run() {
	for !w.cut && (!w.last || w.open > 0) {
		n := ready(w.epoll, w.events[:])
		if n == 0 && len(w.again) == 0 {
			n = await(w.epoll, w.events[:], w.timeout())
		}
		w.readClocks()
		mail := false
		for i := range w.events[:n] {
			if event := &w.events[i]; event.Fd == none {
				mail = true
			} else {
				w.handle(event)
			}
		}
		w.turn()
		if mail {
			w.readMail()
		}
		w.expire()
		if w.account.isOver(w.queue[writing].count) {
			w.settle()
		}
		if since, is := w.lines.Oldest(); is && w.now-since >= lineAge {
			w.lines.HandOver()
		}
		w.status.publish(w)
		w.ledger.publish(&w.counters, &w.phases)
	}
	w.lines.End()
	unix.Close(w.epoll)
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
			case idle:
				w.dismiss(slot, idleTimeout)
			case inHead:
				w.close(slot, headerTimeout)
			default:
				w.close(slot, w.slots[slot].end)
			}
		}
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
	switch {
	case c.phase == writing && event.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0:
		w.resume(event.Fd)
	case c.phase != writing && event.Events&(unix.EPOLLIN|gone) != 0:
		w.input(event.Fd)
	}
}

// turn lets each connection that may have more to read have one more buffer's worth.
func (w *worker) turn() {
	w.again, w.turning = w.turning[:0], w.again
	for _, slot := range w.turning {
		if c := &w.slots[slot]; c.queued {
			c.queued = false
			if c.phase < writing || c.phase == lingering {
				w.input(slot)
			}
		}
	}
}

func (w *worker) readMail() {
	clearWake(w.wakeFD)
	w.current()
	w.mailbox.Lock()
	sockets, evict, drain := slices.Clone(w.mailbox.sockets), w.mailbox.evict, w.mailbox.drain
	w.mailbox.sockets, w.mailbox.evict = w.mailbox.sockets[:0], 0
	w.last, w.cut = w.mailbox.last, w.mailbox.cut
	w.mailbox.Unlock()
	if drain && !w.draining {
		w.draining = true
		for range w.queue[idle].count {
			w.input(w.queue[idle].first)
		}
	}
	for _, fd := range sockets {
		w.adopt(fd)
	}
	for range evict {
		w.evict()
	}
}

// evict closes the connection that has been silent longest (K-84). One that has sent what we have not seen yet is
// not silent: it is served.
func (w *worker) evict() {
	for range w.queue[idle].count {
		slot := w.queue[idle].first
		c := &w.slots[slot]
		if readable(c.fd) == 0 {
			w.dismiss(slot, evicted)
			return
		}
		if w.input(slot); c.phase == vacant {
			break // which made room as well
		}
	}
	w.evictionOver()
}

// evictionOver is also said when there was none to evict: the acceptor waits for us.
func (w *worker) evictionOver() {
	w.evictions++
	w.closed = true
}

func (w *worker) adopt(fd int32) {
	slot := w.add(fd, w.now)
	w.counters.Accepted++
	event := unix.EpollEvent{Fd: slot, Pad: int32(w.slots[slot].generation)}
	event.Events = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, int(fd), &event); err != nil {
		w.log.Warnf("cannot watch a connection: %v", err)
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
