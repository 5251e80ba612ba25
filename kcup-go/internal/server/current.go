package server

import (
	"sync/atomic"

	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
)

// current has the responses that are served. It is one of their holders.
type current struct {
	responses atomic.Pointer[respond.Responses]
}

// peek returns them to a caller that reads everything but the content's bytes.
func (p *current) peek() *respond.Responses { return p.responses.Load() }

// get returns them to a caller that releases them.
func (p *current) get() *respond.Responses {
	for {
		if r := p.peek(); r.TryAcquire() {
			return r
		}
	}
}

// replace serves r from now on, and holds it in place of the caller. The previous responses are left to their other
// holders.
func (p *current) replace(r *respond.Responses) (old *respond.Responses) {
	if old = p.responses.Swap(r); old != nil {
		old.Release()
	}
	return old
}
