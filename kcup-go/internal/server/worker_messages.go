// Messages from the acceptor and the server to a worker.

package server

import (
	"sync"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
)

// grace is the time for a connection's first request during the drain (K-18).
const grace = time.Second

// mailbox has the messages that a worker has not read yet.
type mailbox struct {
	sync.Mutex
	messages
}

type messages struct {
	sockets  []arrival
	replaced []*respond.Responses // whose readers are reset
	evict    bool
	anybody  bool // any connection, if none is silent
	drain    bool // the drain has begun
	last     bool // no more sockets will come
	cut      bool // the drain is over, whatever is still open
}

func (w *worker) tell(what func(*mailbox)) {
	w.mailbox.Lock()
	what(&w.mailbox)
	w.mailbox.Unlock()
	wake(w.wakeFD)
}

func (w *worker) readMessages() {
	clearWake(w.wakeFD)
	w.responses()
	w.mailbox.Lock()
	m := w.mailbox.messages
	w.mailbox.messages = messages{drain: m.drain, last: m.last, cut: m.cut} // these remain set
	w.mailbox.Unlock()
	w.last, w.cut = m.last, m.cut
	if m.drain && !w.draining {
		w.drain()
	}
	for _, new := range m.sockets {
		w.adopt(new)
	}
	for _, r := range m.replaced {
		w.recall(r)
	}
	if m.evict {
		w.evict(m.anybody)
	}
	// The limits may have changed.
	w.shed(nil)
	w.account.budget = w.budget.Load()
	w.reconcile()
}

// recall resets the connections that still read a version of the content (K-105).
func (w *worker) recall(r *respond.Responses) {
	for slot := range w.slots {
		if c := &w.slots[slot]; c.out != nil && c.out.of == r {
			w.close(c, replaced)
		}
	}
}
