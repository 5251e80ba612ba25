// What the kernel may hold for our connections (K-87, K-87b): pure arithmetic. See docs/adr/0004.

package server

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

const (
	// A send buffer is at least, and at most, so large. The kernel doubles what it is asked for.
	leastBuffer = 32 << 10
	mostBuffer  = 512 << 10
	// What may wait to be read where nobody reads: behind a response that is pending.
	receiveBuffer = 16 << 10
	// The kernel's bookkeeping for a response.
	overhead = 2 << 10
	// How far a write may go beyond the send buffer: the kernel fills the packet that it has begun.
	overshoot = 68 << 10
	// What one connection may hold at least, with what comes behind its response.
	leastShare = leastBuffer + overshoot + receiveBuffer
	// A peer that has acknowledged this much is reading: its own kernel holds less for it.
	evidence = 256 << 10
)

// account is what one worker may let the kernel hold. A connection's claim is an upper bound of what it holds of the
// connection's responses: nobody tells us what peers acknowledge, so claims only grow until they are reconciled.
type account struct {
	budget  int64
	held    int64 // the part of it that open connections and kept heads take, if the same limit counts them
	claimed int64 // the claims of all connections
	moves         // what their peers have done
}

// piece is how much is sent at once: as long as the buffer takes at least two of them the peer acknowledges the first
// without delay, also where a packet may be as large as the buffer, as on the loopback interface.
func (c *connection) piece() int {
	if c.buffer <= 2*leastBuffer {
		return int(c.buffer / 2)
	}
	return turnBytes
}

// share is what claims may come to together.
func (a *account) share() int64 { return max(a.budget-a.held, 2*leastShare) }

// allowance is the send buffer of a connection that has much to send: a sixteenth of what is left, and a 400th
// before there is evidence that its peer reads.
func (a *account) allowance(c *connection) int32 {
	free := (a.share() - a.claimed + int64(c.claim)) / 16
	if c.taken < evidence {
		free /= 25
	}
	return 1 << (bits.Len64(uint64(min(max(free, leastBuffer), mostBuffer))) - 1)
}

// charge adds what was written to a connection's claim: half as much again, since short packets take more than their
// bytes. A buffer that has become smaller takes nothing back.
func (a *account) charge(c *connection, written int) {
	if c.claim == 0 {
		a.begin(c)
	}
	c.unacked = int32(min(int(c.unacked)+written, math.MaxInt32))
	claim := min(c.claim+int32(min(written, mostBuffer))*3/2+overhead, c.buffer+overshoot)
	a.set(c, max(claim, c.claim))
}

// block is for a response that begins to wait for room, and the requests behind it.
func (a *account) block(c *connection) { a.set(c, max(c.claim, c.buffer+overshoot+receiveBuffer)) }

// set makes a claim what it is known to be.
func (a *account) set(c *connection, claim int32) {
	a.claimed += int64(claim - c.claim)
	c.claim = claim
}

// isOver says that the share is used up.
func (a *account) isOver() bool { return a.claimed > a.share() }

// isTight says that so little is left that somebody has to give way.
func (a *account) isTight() bool { return a.claimed > a.share()/8*7 }

// hasSlack says that as much is free as should be before the kernel is asked again.
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
