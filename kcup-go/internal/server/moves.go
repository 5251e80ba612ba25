// When peers last made progress, and which connections are reset when the share is used up (K-87b): pure.

package server

import (
	"cmp"
	"math"
	"slices"
)

// moves counts the progress of one worker's peers: of two within the same tick it is known which was first.
type moves struct {
	count uint32
	now   uint32     // tick
	ends  [11]uint32 // the count at the end of each of the ticks before; the oldest was over a second ago
}

// at sets the current tick.
func (m *moves) at(now uint32) {
	for ; m.now != now; m.now++ {
		m.ends[m.now%uint32(len(m.ends))] = m.count
	}
}

// begin is for a connection that is sent bytes after all earlier ones are known to have been acknowledged.
func (m *moves) begin(c *connection) {
	m.count++
	c.began, c.moved = m.count, m.count
}

// saw takes in how many bytes the peer has not acknowledged.
func (m *moves) saw(c *connection, unacked int) {
	if more := int(c.unacked) - unacked; more > 0 {
		m.count++
		c.moved = m.count
		c.taken = uint32(min(int(c.taken)+more, math.MaxInt32))
	}
	c.unacked = int32(min(unacked, math.MaxInt32))
}

// isStill says that the peer has acknowledged nothing for a second.
func (m *moves) isStill(c *connection) bool {
	return m.ago(c.moved) >= m.ago(m.ends[m.now%uint32(len(m.ends))])
}

// ago is the number of moves since then.
func (m *moves) ago(then uint32) uint32 { return m.count - then }

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
