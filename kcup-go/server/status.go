package server

import "sync/atomic"

// status is what the acceptor knows of a worker.
type status struct {
	open       atomic.Int32 // also those that are still in the mailbox
	idle       atomic.Int32
	oldestIdle atomic.Uint32 // tick
	evictions  atomic.Uint32 // how many the acceptor asked for and are over
}

// room wakes an acceptor that waits because --max-connections are open and none is silent (K-84).
type room struct {
	wanted atomic.Bool
	wake   int // its eventfd
}

// publish is called after each turn.
func (s *status) publish(w *worker) {
	count := int32(w.queue[idle].count)
	s.idle.Store(count)
	if count > 0 {
		s.oldestIdle.Store(w.slots[w.queue[idle].first].since)
	}
	s.evictions.Store(w.evictions)
	if (count > 0 || w.closed) && w.room.wanted.Swap(false) {
		wake(w.room.wake)
	}
	w.closed = false
}

// silentest is the worker whose connection has been silent longest.
func silentest(workers []*worker) (found *worker) {
	var oldest uint32
	for _, w := range workers {
		if w.status.idle.Load() == 0 {
			continue
		}
		if since := w.status.oldestIdle.Load(); found == nil || since < oldest {
			found, oldest = w, since
		}
	}
	return found
}
