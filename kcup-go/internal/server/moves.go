// When peers last made progress (K-87b). Pure.

package server

import "math"

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

// begin starts to count for a connection that is sent bytes after all earlier ones are known to have been acknowledged.
func (m *moves) begin(c *connection) {
	m.count++
	c.began, c.moved = m.count, m.count
}

// saw records how many bytes the peer has not acknowledged.
func (m *moves) saw(c *connection, unacked int) {
	if more := int(c.unacked) - unacked; more > 0 {
		m.count++
		c.moved = m.count
		c.taken = uint32(min(int(c.taken)+more, math.MaxInt32))
	}
	c.unacked = int32(min(unacked, math.MaxInt32))
}

// isStill reports whether the peer has acknowledged nothing for a second.
func (m *moves) isStill(c *connection) bool {
	return m.ago(c.moved) >= m.ago(m.ends[m.now%uint32(len(m.ends))])
}

// ago returns the number of moves since then.
func (m *moves) ago(then uint32) uint32 { return m.count - then }
