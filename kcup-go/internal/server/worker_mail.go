// Messages from the acceptor and the server to a worker.

package server

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
)

// grace is for the first request of a connection during the drain (K-18).
const grace = time.Second

// mailbox holds what a worker has been told and has not read yet.
type mailbox struct {
	sync.Mutex
	sockets  []int32
	replaced []*respond.Responses // whose readers are reset
	evict    bool
	anybody  bool // if none is silent
	drain    bool // the drain has begun
	last     bool // no more sockets will come
	cut      bool // the drain is over, whatever is open
}

func (w *worker) tell(what func(*mailbox)) {
	w.mailbox.Lock()
	what(&w.mailbox)
	w.mailbox.Unlock()
	wake(w.wakeFD)
}

func (w *worker) readMail() {
	clearWake(w.wakeFD)
	w.responses()
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
	for _, r := range replaced {
		w.recall(r)
	}
	if evict {
		w.evict(anybody)
	}
	// The limits may be others now.
	w.shed(nil)
	w.account.budget = w.budget.Load()
	w.settle()
}

// recall resets the connections that still read a version of the content (K-105).
func (w *worker) recall(r *respond.Responses) {
	for slot := range w.slots {
		if c := &w.slots[slot]; c.out != nil && c.out.of == r {
			w.close(c, replaced)
		}
	}
}

// drain ends the silent connections (K-18). One that has never been heard of has a moment: its first request may be on
// its way.
func (w *worker) drain() {
	w.draining, w.drainBegan = true, w.now
	w.limits[idle] = ticks(grace)
	for range w.queue[idle].count {
		c := w.first(idle)
		if !c.spoken {
			w.enter(c, idle)
		}
		w.input(c)
	}
}

func (w *worker) adopt(fd int32) {
	c := w.add(fd, w.now)
	w.counters.Accepted++
	event := unix.EpollEvent{Fd: c.slot, Pad: int32(c.generation)} // together what the kernel gives back
	event.Events = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, int(fd), &event); err != nil {
		if w.now >= w.silence {
			w.silence = w.now + ticks(time.Second)
			w.log.Warnf("cannot watch a connection: %v", err)
		}
		w.close(c, shed)
	} else if w.lines != nil && !w.meet(c) {
		w.close(c, peerGone)
	} else if w.draining {
		w.input(c)
	}
}

// meet asks for the address of a new connection's peer, which is gone when nobody knows it any more.
func (w *worker) meet(c *connection) (ok bool) {
	for int(c.slot) >= len(w.peers) {
		w.peers = append(w.peers, netip.Addr{})
	}
	w.peers[c.slot], ok = peerOf(c.fd)
	return ok
}
