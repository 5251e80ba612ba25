// The workers' counters (K-119).

package server

import (
	"slices"
	"sync"

	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
)

// reason is the reason for which a connection was closed.
type reason uint8

const (
	peerGone reason = iota
	answered
	refused
	idleTimeout
	headerTimeout
	writeTimeout
	evicted
	shed
	outOfMemory
	replaced
	drained
	reasons
	stays = reasons // it was not closed
)

// Reasons are the names of why connections were closed, in the order of Counters.Closed.
var Reasons = [reasons]string{
	"peer", "answered", "refused", "idle_timeout", "header_timeout", "write_timeout", "evicted", "shed", "memory",
	"replaced", "drained",
}

// Counters are the counts of one worker, or the sum of all.
type Counters struct {
	Responses   [respond.Methods][len(respond.Statuses)]uint64 // begun; for a refused head the method is Other
	Bytes       uint64                                         // of responses, accepted by the kernel
	Hot, Parked uint64                                         // open connections
	Accepted    uint64
	Closed      [reasons]uint64
}

func (c *Counters) countResponse(method respond.Method, status uint16) {
	c.Responses[method][slices.Index(respond.Statuses[:], status)]++
}

func (c *Counters) add(other *Counters) {
	for method := range c.Responses {
		for status := range c.Responses[method] {
			c.Responses[method][status] += other.Responses[method][status]
		}
	}
	c.Bytes += other.Bytes
	c.Hot += other.Hot
	c.Parked += other.Parked
	c.Accepted += other.Accepted
	for why := range c.Closed {
		c.Closed[why] += other.Closed[why]
	}
}

// ledger has a worker's counters as they were after its last turn: the worker counts without waiting, and all that is
// read is of one moment.
type ledger struct {
	sync.Mutex
	Counters
}

func (l *ledger) publish(c *Counters, phases *phases) {
	l.Lock()
	l.Counters = *c
	l.Parked = uint64(phases.queue[idle].count)
	l.Hot = uint64(phases.open) - l.Parked
	l.Unlock()
}

// Counters adds up the workers' counters.
func (s *Server) Counters() (sum Counters) {
	for _, w := range s.workers {
		w.ledger.Lock()
		sum.add(&w.ledger.Counters)
		w.ledger.Unlock()
	}
	return sum
}
