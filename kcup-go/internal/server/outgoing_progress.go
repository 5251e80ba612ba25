// How a peer gets on with a response that the socket did not take at once: pure. A part of outgoing.go.

package server

import (
	"math"
	"time"
)

// leastRate is how many bytes a second the peer of a pending response accepts at least (K-82).
const leastRate = 256

type progress struct {
	sent     int    // bytes that the kernel took
	accepted int    // and the peer, when last looked at; unknown before the first look
	counted  int    // accepted, when its window began
	began    uint32 // tick
	window   uint32 // tick since which its least rate is held against it (K-82)
}

const unknown = math.MinInt / 2

// look takes in how many bytes the peer has not acknowledged.
func (p *progress) look(unsent int) {
	p.accepted = max(p.accepted, p.sent-unsent)
}

// rate is how many bytes a second the peer has accepted.
func (p *progress) rate(now uint32) uint32 {
	return uint32(min(max(p.accepted, 0)*int(ticks(time.Second))/int(now-p.began+1), nobody-1))
}

// isTooSlow says that the peer has accepted less than the least in all of limit ticks. With the least accepted the
// time begins again.
func (p *progress) isTooSlow(least int, limit, now uint32) bool {
	if p.accepted-p.counted >= least {
		p.counted, p.window = p.accepted, now
	}
	return now-p.window > limit
}
