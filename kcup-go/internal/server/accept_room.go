// Who is asked to make room for a new connection, and when (K-84).

package server

import "time"

const (
	// patience is how long a new connection waits for one that falls silent, look how often it looks when it has waited.
	patience = time.Second
	look     = 50 * time.Millisecond
)

// limit is how many may be open.
func (a *acceptor) limit() int {
	if a.ceiling > 0 {
		return min(a.ceiling, int(a.most.Load()))
	}
	return int(a.most.Load())
}

// isFull says that a new connection takes another one's place.
func (a *acceptor) isFull() bool { return a.open() >= a.limit() }

// isOver says that the limit was lowered, and some have to go (K-89).
func (a *acceptor) isOver() bool { return a.open() > a.limit() }

// hear takes in that the worker that was asked to make room has done what it can.
func (a *acceptor) hear() {
	if a.asked == nil || a.asked.status.evictions.Load() != a.awaited {
		return
	}
	a.asked = nil
	if !a.anybody && !a.isFull() {
		a.crowded = time.Time{}
	}
}

// first is the worker whose connection is first to make room: a silent one, or, where nobody need wait for that, anybody's.
func (a *acceptor) first() (w *worker, anybody bool) {
	w = first(a.workers, false)
	isCrowded := !a.crowded.IsZero() && time.Since(a.crowded) >= patience
	if w == nil && (a.isOver() || isCrowded) {
		return first(a.workers, true), true
	}
	return w, false
}

// mayDisplace says whether to listen, since somebody may be asked to make room or nobody waits; else for how long not.
func (a *acceptor) mayDisplace() (may bool, wait time.Duration) {
	if a.asked != nil {
		return false, forever
	}
	if w, _ := a.first(); w != nil || a.crowded.IsZero() && !a.isOver() {
		return true, forever
	}
	return false, max(patience-time.Since(a.crowded)+time.Millisecond, look)
}

// displace asks one worker to close one connection. Where none may be, a new one begins to wait.
func (a *acceptor) displace() {
	w, anybody := a.first()
	if w == nil && a.crowded.IsZero() {
		a.crowded = time.Now()
	}
	if w == nil {
		return
	}
	a.asked, a.awaited, a.relieved, a.anybody = w, w.status.evictions.Load()+1, true, anybody
	a.room.wanted.Store(true)
	w.tell(func(m *mailbox) { m.evict, m.anybody = true, anybody })
}
