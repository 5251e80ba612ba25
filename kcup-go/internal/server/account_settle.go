// The account's meeting with the kernel; a part of account.go.

package server

import (
	"math"
	"slices"
	"time"
)

// grant gives a connection the send buffer that there is for it now, since what it sends does not fit the one it has.
func (w *worker) grant(c *connection) {
	if buffer := w.account.allowance(c); buffer != c.buffer {
		c.buffer = buffer
		setSendBuffer(c.fd, buffer)
	}
}

// settle asks the kernel what it holds, connection by connection, until enough is free again; where too little is, those
// are reset whose peers have gone longest without acknowledging anything.
func (w *worker) settle() {
	a := &w.account
	if a.pending = int64(w.queue[writing].count) * receiveBuffer; w.cost.Load() > 0 {
		a.held = int64(w.open)*w.cost.Load() + int64(w.held)
	}
	if !a.isOver() {
		return
	}
	for range w.slots {
		w.cursor = (w.cursor + 1) % len(w.slots)
		if c := &w.slots[w.cursor]; c.claim > 0 {
			w.settleOne(c)
		}
		if a.isSettled() {
			return
		}
	}
	if a.isTight() {
		w.relieve()
	}
}

// settleOne makes a claim what it really is, and its buffer the least: the next long response is granted another one.
func (w *worker) settleOne(c *connection) {
	w.account.set(c, heldFor(c.fd))
	if c.phase == writing {
		c.out.look(unsentBytes(c.fd), w.now)
	}
	if c.buffer > leastBuffer {
		c.buffer = leastBuffer
		setSendBuffer(c.fd, leastBuffer)
	}
}

// relieve resets connections until enough is free.
func (w *worker) relieve() {
	w.owing = w.owing[:0]
	for slot := range w.slots {
		if w.slots[slot].claim > 0 {
			w.owing = append(w.owing, int32(slot))
		}
	}
	slices.SortFunc(w.owing, func(a, b int32) int {
		x, y := w.standing(a), w.standing(b)
		return slices.Compare(x[:], y[:])
	})
	for _, slot := range w.owing {
		if w.account.isSettled() {
			return
		}
		w.close(&w.slots[slot], outOfMemory)
		w.account.pending = int64(w.queue[writing].count) * receiveBuffer
	}
}

// standing orders connections by when the peer last acknowledged something. Where that differs by less than a second who
// has accepted more than a buffer of its response goes last: those that read now and then, in spite of those that have
// just come and do not read at all.
func (w *worker) standing(slot int32) [3]int {
	c := &w.slots[slot]
	moved, accepted := c.since, math.MaxInt
	if c.phase == writing {
		moved, accepted = c.out.moved, c.out.accepted/leastBuffer
	}
	return [3]int{-int((w.now - moved) / ticks(time.Second)), accepted, int(moved)}
}
