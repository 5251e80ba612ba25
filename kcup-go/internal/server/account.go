// What the kernel may hold for our connections (K-87, K-87b): pure arithmetic. See docs/adr/0004.

package server

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

const (
	// The least and the greatest send buffer. The kernel doubles what it is asked for.
	leastBuffer = 32 << 10
	mostBuffer  = 512 << 10
	// The most that the kernel holds of requests behind a pending response, which are not read.
	receiveBuffer = 16 << 10
	// The kernel's bookkeeping for a response.
	overhead = 2 << 10
	// How far a write may exceed the send buffer: the kernel fills the packet that it has begun.
	overshoot = 68 << 10
	// The most that a connection with the least buffer holds, with the requests behind its response.
	leastShare = leastBuffer + overshoot + receiveBuffer
	// What a terminator and the pair hold of a response (K-158).
	ofTLS = 64 << 10
	// A peer that has acknowledged this much is reading: its own kernel holds less for it.
	evidence = 256 << 10
)

// account limits what the kernel holds for one worker. A connection's claim is an upper bound of what the kernel holds of
// its responses. The kernel does not report what peers acknowledge, so claims only grow until they are reconciled.
type account struct {
	budget  int64
	held    int64 // the part of it that open connections and kept heads take, if the same limit counts them
	claimed int64 // the claims of all connections
	moves         // the progress of their peers
}

// piece is how much is sent at once: as long as the buffer takes at least two of them, the peer acknowledges the first
// without delay, even if a packet may be as large as the buffer, as on the loopback interface.
func (c *connection) piece() int {
	if c.buffer <= 2*leastBuffer {
		return int(c.buffer / 2)
	}
	return turnBytes
}

// share is the limit on the sum of all claims.
func (a *account) share() int64 { return max(a.budget-a.held, 2*leastShare) }

// allowance is the send buffer of a connection with a long response: a sixteenth of what is free, and a 400th
// before there is evidence that its peer reads.
func (a *account) allowance(c *connection) int32 {
	free := (a.share() - a.claimed + int64(c.claim)) / 16
	if c.taken < evidence {
		free /= 25
	}
	return 1 << (bits.Len64(uint64(min(max(free, leastBuffer), mostBuffer))) - 1)
}

// charge adds written bytes to a connection's claim: half as much again, since short packets take more than their
// bytes. A buffer that has become smaller takes nothing back.
func (a *account) charge(c *connection, written int) {
	if c.claim == 0 {
		a.begin(c)
	}
	c.unacked = int32(min(int(c.unacked)+written, math.MaxInt32))
	claim := min(c.claim+int32(min(written, mostBuffer))*3/2+overhead, c.most())
	a.set(c, max(claim, c.claim))
}

// most is the most that the kernel, and with TLS a terminator, hold of its responses.
func (c *connection) most() int32 {
	if c.outside != nil {
		return c.buffer + overshoot + ofTLS
	}
	return c.buffer + overshoot
}

// block charges a connection whose send buffer is full, and the requests behind its response.
func (a *account) block(c *connection) { a.set(c, max(c.claim, c.most()+receiveBuffer)) }

// set replaces a claim.
func (a *account) set(c *connection, claim int32) {
	a.claimed += int64(claim - c.claim)
	c.claim = claim
}

// isOver reports whether the share is used up.
func (a *account) isOver() bool { return a.claimed > a.share() }

// isTight reports whether so little is free that a connection has to be reset.
func (a *account) isTight() bool { return a.claimed > a.share()/8*7 }

// hasSlack reports whether enough is free that the kernel need not be asked again for a while.
func (a *account) hasSlack() bool { return a.claimed <= a.share()/4*3 }

// order sorts connections in the order in which they are reset: those that stand still, then the others, each by how long ago
// they last moved. Those that began first come last, as many as fit into half of the share: however many come at once, there
// is time to see whether the first of them read.
func (a *account) order(owing []int32, slots []connection) {
	began := func(slot int32) uint32 { return a.ago(slots[slot].began) }
	moved := func(slot int32) uint32 { return a.ago(slots[slot].moved) }
	longest := func(since func(int32) uint32) func(x, y int32) int {
		return func(x, y int32) int { return cmp.Compare(since(y), since(x)) }
	}
	slices.SortFunc(owing, longest(moved))
	moving := owing
	for len(moving) > 0 && a.isStill(&slots[moving[0]]) {
		moving = moving[1:]
	}
	slices.SortFunc(moving, longest(began))
	first, left := 0, a.share()/2
	for ; first < len(moving) && left >= int64(slots[moving[first]].claim); first++ {
		left -= int64(slots[moving[first]].claim)
	}
	slices.Reverse(moving)
	slices.SortFunc(moving[:len(moving)-first], longest(moved))
}
