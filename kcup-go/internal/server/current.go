package server

import (
	"sync/atomic"

	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
)

// current is the place of the responses that are served. It is one of their holders.
type current struct {
	responses atomic.Pointer[respond.Responses]
}

// peek returns them for a caller that reads everything but the content's bytes.
func (p *current) peek() *respond.Responses { return p.responses.Load() }

// get returns them for a caller that releases them.
func (p *current) get() *respond.Responses {
	for {
		if r := p.peek(); r.TryAcquire() {
			return r
		}
	}
}

// replace puts r in its place, which the caller held and holds no longer. Only others hold what was there before.
func (p *current) replace(r *respond.Responses) (old *respond.Responses) {
	if old = p.responses.Swap(r); old != nil {
		old.Release()
	}
	return old
}
