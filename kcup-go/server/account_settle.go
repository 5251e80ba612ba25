// The account's meeting with the kernel; a part of account.go.

package server

import (
	"cmp"
	"slices"
)

// grant gives a connection the send buffer that there is for it now, since what it sends does not fit the one it has.
func (w *worker) grant(c *connection) {
	if buffer := w.account.allowance(); buffer != c.buffer {
		c.buffer = buffer
		setSendBuffer(c.fd, buffer)
	}
}

// settle asks the kernel what it holds for each connection with a claim. Where that leaves the account more than half
// full nobody keeps a large buffer; where it leaves less than a quarter free, those whose peers have gone longest
// without acknowledging anything are reset until a quarter is.
func (w *worker) settle() {
	w.owing = w.owing[:0]
	for slot := range w.slots {
		if c := &w.slots[slot]; c.claim > 0 {
			w.account.set(c, heldFor(c.fd))
			if c.claim > 0 {
				w.owing = append(w.owing, int32(slot))
			}
		}
	}
	total := func() int64 { return w.account.total(w.queue[writing].count) }
	if total() <= w.account.share/2 {
		return
	}
	for slot := range w.slots {
		if c := &w.slots[slot]; c.phase != vacant && c.buffer > leastBuffer {
			c.buffer = leastBuffer
			setSendBuffer(c.fd, leastBuffer)
		}
	}
	most := w.account.share / 4 * 3
	if total() <= most {
		return
	}
	for _, slot := range w.owing {
		if w.slots[slot].phase == writing {
			w.slots[slot].out.look(unsentBytes(w.slots[slot].fd), w.now)
		}
	}
	slices.SortStableFunc(w.owing, func(a, b int32) int { return cmp.Compare(w.movedAt(a), w.movedAt(b)) })
	for _, slot := range w.owing {
		if total() <= most {
			break
		}
		w.reset(slot, outOfMemory)
	}
}

// movedAt is when the peer is last known to have acknowledged something.
func (w *worker) movedAt(slot int32) uint32 {
	if c := &w.slots[slot]; c.phase == writing {
		return c.out.moved
	}
	return w.slots[slot].since
}
