package main

import (
	"crypto/tls"
	"runtime"
	"syscall"
	"time"
)

// crowd is many peers that do the same, each with its own socket and without its own thread.
type crowd struct {
	server  *server
	request []byte
	// endless peers send the request again and again.
	endless bool
	// await is how many bytes of a response each reads before it stops reading.
	await int

	epoll  int
	peers  []*peer // by descriptor
	opened int
	// ended is how many connections the server has ended.
	ended int
	// moved is when a peer last sent or received something.
	moved time.Time
}

type peer struct {
	fd, sent, got int
	settled       bool
	tls           *tls.Conn // with TLS, which owns the descriptor
}

// How many of a crowd connect at the same time: fewer than any listener's backlog.
const unsettledMost = 64

// assemble opens this many peers, one after another, until all have sent their bytes, the server is dead, or time is up.
func (c *crowd) assemble(count int, within time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The load gives way to the server and to fresh requests, which would not share its CPU on real networks.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 10)
	defer syscall.Setpriority(syscall.PRIO_PROCESS, 0, 0)
	var err error
	if c.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		panic(err)
	}
	deadline := time.Now().Add(within)
	if c.server.network == "tls" {
		c.assembleTLS(count, deadline)
		return
	}
	unsettled := 0
	for (c.opened < count || unsettled > 0) && time.Now().Before(deadline) && !c.server.dead() {
		for c.opened < count && unsettled < unsettledMost && c.open() {
			c.opened++
			unsettled++
		}
		unsettled -= c.turn(10)
	}
}

// hold keeps the peers as they are, endless ones sending, for this long.
func (c *crowd) hold(last time.Duration) {
	for deadline := time.Now().Add(last); time.Now().Before(deadline) && !c.server.dead(); {
		c.turn(20)
	}
}

// open begins a connection; it returns false if there is no room for it now.
func (c *crowd) open() bool {
	family := syscall.AF_INET
	if c.server.network == "unix" {
		family = syscall.AF_UNIX
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	if err := syscall.Connect(fd, c.server.sockaddr()); err != nil && err != syscall.EINPROGRESS {
		syscall.Close(fd)
		return false
	}
	c.add(&peer{fd: fd}, syscall.EPOLLOUT)
	return true
}

func (c *crowd) add(p *peer, events uint32) {
	for len(c.peers) <= p.fd {
		c.peers = append(c.peers, nil)
	}
	c.peers[p.fd] = p
	c.watch(p, syscall.EPOLL_CTL_ADD, events)
}

func (c *crowd) watch(p *peer, operation int, events uint32) {
	event := syscall.EpollEvent{Events: events | syscall.EPOLLRDHUP, Fd: int32(p.fd)}
	if err := syscall.EpollCtl(c.epoll, operation, p.fd, &event); err != nil {
		panic(err)
	}
}

// turn does what can be done now, and returns how many peers have settled.
func (c *crowd) turn(milliseconds int) int {
	var events [256]syscall.EpollEvent
	count, err := syscall.EpollWait(c.epoll, events[:], milliseconds)
	if err != nil {
		return 0
	}
	settled := 0
	for _, event := range events[:count] {
		p := c.peers[event.Fd]
		was := p.settled
		switch {
		case event.Events&(syscall.EPOLLERR|syscall.EPOLLHUP|syscall.EPOLLRDHUP) != 0:
			c.end(p)
		case event.Events&syscall.EPOLLOUT != 0:
			c.send(p)
		default:
			c.receive(p)
		}
		if p.settled && !was {
			settled++
		}
	}
	return settled
}

func (c *crowd) send(p *peer) {
	count, err := syscall.Write(p.fd, c.request[p.sent:])
	if err == syscall.EAGAIN {
		return
	}
	if err != nil {
		c.end(p)
		return
	}
	c.moved = time.Now()
	p.sent += count
	if c.endless {
		p.settled = true
		p.sent %= len(c.request)
		return
	}
	if p.sent < len(c.request) {
		return
	}
	if c.await == 0 {
		p.settled = true
		c.watch(p, syscall.EPOLL_CTL_MOD, 0)
	} else {
		c.watch(p, syscall.EPOLL_CTL_MOD, syscall.EPOLLIN)
	}
}

func (c *crowd) receive(p *peer) {
	var buffer [4096]byte
	count, err := syscall.Read(p.fd, buffer[:])
	if err == syscall.EAGAIN {
		return
	}
	if err != nil || count == 0 {
		c.end(p)
		return
	}
	c.moved = time.Now()
	if p.got += count; p.got >= c.await {
		p.settled = true
		c.watch(p, syscall.EPOLL_CTL_MOD, 0)
	}
}

// end forgets a peer that the server has ended; its side stays open for as long as the crowd is there.
func (c *crowd) end(p *peer) {
	c.ended++
	p.settled = true
	_ = syscall.EpollCtl(c.epoll, syscall.EPOLL_CTL_DEL, p.fd, nil)
}

// leave closes all that are open.
func (c *crowd) leave() {
	for _, p := range c.peers {
		switch {
		case p == nil:
		case p.tls != nil:
			p.tls.NetConn().Close()
		default:
			syscall.Close(p.fd)
		}
	}
	c.peers = nil
	syscall.Close(c.epoll)
}
