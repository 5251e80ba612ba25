package server

import (
	"math"
	"sync/atomic"
	"time"
)

// rank is the order in which connections make room (K-84).
type rank uint8

const (
	silent rank = iota
	heads
	slow
	ending
	ranks
)

const nobody = math.MaxUint32

// status is the part of a worker's state that the acceptor reads.
type status struct {
	open      atomic.Int32         // including those that are still in the mailbox
	evictions atomic.Uint32        // the number of requests to make room that were carried out
	first     [ranks]atomic.Uint32 // by rank: the tick, or the rate, of the connection that makes room first; nobody if there is none
}

// acceptorWaker wakes an acceptor that waits because --max-connections are open and none may make room yet (K-84).
type acceptorWaker struct {
	waiting atomic.Bool
	notify  chan struct{} // with room for one
}

func (a *acceptorWaker) wake() {
	select {
	case a.notify <- struct{}{}:
	default:
	}
}

// wait returns when something has changed, and at intervals otherwise.
func (a *acceptorWaker) wait() {
	select {
	case <-a.notify:
	case <-time.After(lookAgain):
	}
}

// publish is called after each turn.
func (s *status) publish(w *worker) {
	s.first[silent].Store(w.since(idle))
	s.first[heads].Store(w.since(inHead))
	s.first[ending].Store(w.since(lingering))
	if w.waker.waiting.Load() || w.asked {
		s.first[slow].Store(w.leastRate())
	}
	s.evictions.Store(w.evictions)
	if w.waker.waiting.Load() && (w.queue[idle].count > 0 || w.closed) && w.waker.waiting.Swap(false) {
		w.waker.wake()
	}
	w.closed, w.asked = false, false
}

// leastRate returns the rate of the slowest connection. A worker with a pending response checks several times a second
// (K-82), so that an acceptor that begins to wait need not ask for it.
func (w *worker) leastRate() uint32 {
	if c := w.slowest(); c != nil {
		return c.out.rate(w.now)
	}
	return nobody
}

// since returns the tick since which the first of a phase has been in it.
func (w *worker) since(p phase) uint32 {
	if c := w.first(p); c != nil {
		return c.since
	}
	return nobody
}

// firstOf returns the worker whose connection makes room first: a silent one, or any.
func firstOf(workers []*worker, anybody bool) (found *worker) {
	for r := range ranks {
		least := uint32(nobody)
		for _, w := range workers {
			if value := w.status.first[r].Load(); value < least {
				found, least = w, value
			}
		}
		if found != nil || !anybody {
			break
		}
	}
	return found
}
