// The progress of a peer that takes a response. Pure. A part of outgoing.go.

package server

import (
	"math"
	"time"
)

// leastRate is the least bytes per second that the peer of a pending response must accept (K-82).
const leastRate = 256

type progress struct {
	sent     int    // bytes that the kernel accepted
	accepted int    // bytes that the peer had accepted when last looked at; unknown before the first look
	counted  int    // accepted when its window began
	began    uint32 // tick
	window   uint32 // tick since which its rate is measured (K-82)
}

const unknown = math.MinInt / 2

// look records how many bytes the peer has not acknowledged.
func (p *progress) look(unsent int) {
	p.accepted = max(p.accepted, p.sent-unsent)
}

// rate returns how many bytes per second the peer has accepted.
func (p *progress) rate(now uint32) uint32 {
	return uint32(min(max(p.accepted, 0)*int(ticks(time.Second))/int(now-p.began+1), nobody-1))
}

// isTooSlow reports whether the peer has accepted less than the least in the last limit ticks. If it has accepted
// enough, the window begins again.
func (p *progress) isTooSlow(least int, limit, now uint32) bool {
	if p.accepted-p.counted >= least {
		p.counted, p.window = p.accepted, now
	}
	return now-p.window > limit
}
