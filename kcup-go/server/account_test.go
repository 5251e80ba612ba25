package server

import (
	"testing"
)

// K-87: a sixteenth of what is left, and never more than 512 KiB, nor less than 32.
func TestAnAllowanceShrinksWithWhatIsLeft(t *testing.T) {
	for free, want := range map[int64]int32{1 << 30: 512 << 10, 8 << 20: 512 << 10, 8<<20 - 1: 256 << 10, 1 << 20: 64 << 10, 0: 32 << 10, -5: 32 << 10} {
		if got := (&account{share: 100 + free, claimed: 100}).allowance(); got != want {
			t.Errorf("%d: %d, want %d", free, got, want)
		}
	}
}

func TestAClaimIsNeverMoreThanTheBufferHolds(t *testing.T) {
	a, c := account{share: 1 << 20}, connection{buffer: leastBuffer}
	a.charge(&c, 100)
	if c.claim != 100+overhead || a.claimed != int64(c.claim) {
		t.Error(c.claim, a.claimed)
	}
	a.charge(&c, 1<<40)
	if c.claim != leastBuffer+overshoot || a.claimed != int64(c.claim) {
		t.Error(c.claim, a.claimed)
	}
	if a.set(&c, 0); a.claimed != 0 {
		t.Error(a.claimed)
	}
	if a.isOver(64) || !a.isOver(65) {
		t.Error("what is not read behind pending responses does not count")
	}
}

// Those that have moved least recently are reset, until a quarter is free.
func TestSettlingEndsWhoHasStoodStillLongest(t *testing.T) {
	w, first, _ := acquainted(t, nil)
	slots := []int32{first}
	for range 7 {
		slot, _ := another(t, w)
		slots = append(slots, slot)
	}
	w.out = make([]byte, 1<<22)
	for _, slot := range slots {
		w.now++
		w.send(slot, w.current(), nil, stays)
	}
	w.slots[slots[0]].out.look(0, 50) // it has moved
	w.account.share = 2 * w.account.total(8)
	w.settle()
	if w.open != 8 || w.account.claimed >= 8*(leastBuffer+overshoot) {
		t.Errorf("%d open, %d claimed", w.open, w.account.claimed)
	}
	w.account.share = w.account.total(8) - 1
	w.settle()
	if w.slots[slots[0]].phase != writing || w.slots[slots[1]].phase != vacant || w.open != 5 || w.counters.Closed[outOfMemory] != 3 {
		t.Errorf("%d open, %d of %d", w.open, w.account.total(w.open), w.account.share)
	}
	for _, slot := range slots {
		if w.slots[slot].phase != vacant {
			w.close(slot, peerGone)
		}
	}
	if w.account.claimed != 0 || w.open != 0 {
		t.Errorf("%d claimed by nobody", w.account.claimed)
	}
}
