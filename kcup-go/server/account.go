// What the kernel may hold for our connections (K-87): pure arithmetic. See docs/adr/0004.
// Sibling: kcup-rust/src/server/account.rs

package server

import "math/bits"

const (
	// A send buffer is at least, and at most, so large. The kernel doubles what it is asked for.
	leastBuffer = 32 << 10
	mostBuffer  = 512 << 10
	// What may wait to be read where nobody reads: behind a response that is pending.
	receiveBuffer = 16 << 10
	// The kernel's bookkeeping for a response.
	overhead = 2 << 10
	// How far a write may go beyond the send buffer: the kernel fills the packet that it has begun.
	overshoot = 64 << 10
)

// account is what one worker may let the kernel hold. A connection's claim is an upper bound of what it holds of the
// connection's responses: nobody tells us what peers acknowledge, so claims only grow until they are settled.
type account struct {
	share   int64
	claimed int64 // the claims of all connections
}

// allowance is the send buffer of a connection that has much to send.
func (a *account) allowance() int32 {
	free := max((a.share-a.claimed)/16, leastBuffer)
	return 1 << (bits.Len64(uint64(min(free, mostBuffer))) - 1)
}

// charge adds what was written to a connection's claim.
func (a *account) charge(c *connection, written int) {
	a.set(c, min(c.claim+int32(min(written, mostBuffer))+overhead, c.buffer+overshoot))
}

// set makes a claim what it is known to be.
func (a *account) set(c *connection, claim int32) {
	a.claimed += int64(claim - c.claim)
	c.claim = claim
}

// isOver says that claims are to be settled, with so many responses pending.
func (a *account) isOver(pending int) bool { return a.total(pending) > a.share }

func (a *account) total(pending int) int64 { return a.claimed + int64(pending)*receiveBuffer }
