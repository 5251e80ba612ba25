package server

import (
	"testing"

	"golang.org/x/sys/unix"
)

// K-87a: a sixteenth of what is left, and never more than 512 KiB, nor less than 32; a 400th where nothing shows that the
// peer reads.
func TestAnAllowanceShrinksWithWhatIsLeft(t *testing.T) {
	for free, want := range map[int64]int32{1 << 30: 512 << 10, 8 << 20: 512 << 10, 8<<20 - 1: 256 << 10, 1 << 20: 64 << 10, 0: 32 << 10, -5: 32 << 10} {
		for taken, times := range map[uint32]int64{evidence: 1, evidence - 1: 25} {
			a := account{budget: 1<<40 + 60, held: 60, claimed: 1<<40 - free*times + 5}
			if got := a.allowance(&connection{claim: 5, taken: taken}); got != want {
				t.Errorf("%d, %d taken: %d, want %d", free, taken, got, want)
			}
		}
	}
}

func TestASmallBufferTakesTwoPieces(t *testing.T) {
	for buffer, want := range map[int32]int{32 << 10: 16 << 10, 64 << 10: 32 << 10, 128 << 10: turnBytes} {
		if got := (&connection{buffer: buffer}).piece(); got != want {
			t.Errorf("%d: %d, want %d", buffer, got, want)
		}
	}
}

func TestTheEdgesOfAShare(t *testing.T) {
	for claimed, want := range map[int64][3]bool{
		6 << 20: {false, false, true}, 6<<20 + 1: {}, 7 << 20: {}, 7<<20 + 1: {false, true, false},
		8 << 20: {false, true, false}, 8<<20 + 1: {true, true, false},
	} {
		a := account{budget: 8 << 20, claimed: claimed}
		if got := [3]bool{a.isOver(), a.isTight(), a.hasSlack()}; got != want {
			t.Errorf("%d: over, tight, slack: %v", claimed, got)
		}
	}
	a, c := account{}, connection{buffer: leastBuffer}
	if a.block(&c); c.claim != leastShare || a.claimed != int64(c.claim) {
		t.Error(c.claim, a.claimed)
	}
}

func TestAClaimIsNeverMoreThanTheBufferHolds(t *testing.T) {
	a, c := account{budget: 1 << 20}, connection{buffer: leastBuffer}
	a.charge(&c, 100)
	if c.claim != 150+overhead || a.claimed != int64(c.claim) {
		t.Error(c.claim, a.claimed)
	}
	a.charge(&c, 1<<40)
	if c.claim != leastBuffer+overshoot || a.claimed != int64(c.claim) {
		t.Error(c.claim, a.claimed)
	}
	a.set(&c, mostBuffer)
	if a.charge(&c, 1); c.claim != mostBuffer {
		t.Error("a smaller buffer has taken something back")
	}
	if a.set(&c, 0); a.claimed != 0 {
		t.Error(a.claimed)
	}
}

func TestOneResponseHasRoomWhateverIsHeld(t *testing.T) {
	a, c := account{budget: 1 << 20, held: 2 << 20}, connection{buffer: leastBuffer}
	a.charge(&c, 1<<20)
	if a.isOver() || !a.hasSlack() {
		t.Errorf("%+v", a)
	}
}

// Those that have moved least recently are reset, until a quarter is free.
func TestReconcilingResetsWhoHasStoodStillLongest(t *testing.T) {
	w, first, _ := acquainted(t, nil)
	slots := []int32{first}
	for range 31 {
		slot, _ := another(t, w)
		slots = append(slots, slot)
	}
	w.out = make([]byte, 1<<22)
	for _, slot := range slots {
		w.now++
		w.send(w.at(slot), w.responses(), nil, stays)
	}
	w.account.budget = 1 << 20
	w.reconcile()
	if w.open == len(slots) || !w.account.hasSlack() || w.counters.Closed[outOfMemory] != uint64(len(slots)-w.open) {
		t.Errorf("%d open, %+v, %v", w.open, w.account, w.counters.Closed)
	}
	w.account.budget = w.account.claimed * 10 / 9
	w.reconcile()
	open := w.open
	last := w.queue[writing].last
	w.account.at(w.now + 20)
	for slot := w.queue[writing].first; slot != none; slot = w.slots[slot].next {
		if slot != last {
			w.account.begin(&w.slots[slot])
		}
	}
	w.account.budget = w.account.claimed - 1
	w.reconcile()
	if w.open == open || w.slots[last].phase != vacant {
		t.Errorf("%d of %d open, %+v", w.open, open, w.account)
	}
	for _, slot := range slots {
		if w.slots[slot].phase != vacant {
			w.close(w.at(slot), peerGone)
		}
	}
	if w.account.claimed != 0 || w.open != 0 {
		t.Errorf("%d claimed by nobody", w.account.claimed)
	}
}

// A claim becomes what the kernel holds, and what it may take of requests behind a pending response; the buffer shrinks.
func TestReconcilingAsksTheKernelWhatItHolds(t *testing.T) {
	w, pending, _ := acquainted(t, nil)
	sent, _ := another(t, w)
	buffer := func(c *connection) int {
		size, _ := unix.GetsockoptInt(int(c.fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
		return size
	}
	w.account.budget = 1 << 30
	w.out = make([]byte, 1<<22)
	p := w.at(pending)
	if w.grant(p); p.buffer <= leastBuffer || buffer(p) <= leastBuffer {
		t.Errorf("a buffer of %d, really %d", p.buffer, buffer(p))
	}
	w.send(p, w.responses(), nil, stays)
	w.out = make([]byte, 100)
	w.send(w.at(sent), w.responses(), nil, stays)
	for slot, behind := range map[int32]int32{pending: receiveBuffer, sent: 0} {
		c := w.at(slot)
		w.reconcileOne(c)
		if held := heldFor(c.fd); held == 0 || c.claim != held+behind {
			t.Errorf("a claim of %d, %d held, phase %d", c.claim, held, c.phase)
		}
		if c.buffer != leastBuffer || buffer(c) != leastBuffer {
			t.Errorf("a buffer of %d, really %d", c.buffer, buffer(c))
		}
	}
}

// Connections and kept heads count to the budget where one limit is on all (K-87).
func TestWhatIsHeldTakesPartOfTheBudget(t *testing.T) {
	w, _, _ := acquainted(t, nil)
	another(t, w)
	w.held = 100
	for cost, want := range map[int64]int64{0: 0, 4096: 2*4096 + 100} {
		w.account.held = 0
		w.cost.Store(cost)
		if w.reconcile(); w.account.held != want {
			t.Errorf("%d each: %d, want %d", cost, w.account.held, want)
		}
	}
}

// The kernel is asked until there is slack, of the connections in turn, and nobody is reset if it holds little.
func TestReconcilingResetsNobodyWithoutNeed(t *testing.T) {
	w, _, _ := acquainted(t, nil)
	for range 7 {
		another(t, w)
	}
	for slot := range w.slots {
		w.account.set(&w.slots[slot], leastShare)
	}
	for _, c := range []struct{ budget, want int64 }{{4, 3}, {0, 1}} {
		w.account.budget = c.budget * leastShare
		if w.reconcile(); w.open != 8 || w.account.claimed != c.want*leastShare {
			t.Errorf("%d open, %+v", w.open, w.account)
		}
	}
}
