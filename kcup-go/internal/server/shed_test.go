package server

import (
	"testing"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

// K-86: the head that has been incomplete longest, otherwise the connection that has just sent more.
func TestShortMemoryEndsOneConnection(t *testing.T) {
	w := &worker{common: &common{}, phases: newPhases()}
	w.heldMost.Store(100)
	add := func() int32 {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(pair[1]) })
		return w.add(int32(pair[0]), 1).slot
	}
	keep := func(slot int32) {
		var g guard.Guard
		part := make([]byte, 80)
		copy(part, "GET /")
		g.Scan(part[:5])
		w.keep(w.at(slot), &g, part, false)
	}
	a, b, c, r := add(), add(), add(), loaded(t, "x")
	for _, slot := range []int32{a, b, c} {
		w.enter(w.at(slot), writing)
		r.Acquire()
		w.slots[slot].out = &outgoing{end: stays, of: r}
	}
	keep(a)
	keep(b)
	if w.slots[a].phase != vacant || w.slots[b].phase != inHead || w.held > 100 {
		t.Fatalf("%d held, phases %d and %d", w.held, w.slots[a].phase, w.slots[b].phase)
	}
	w.keepBehind(w.at(c), make([]byte, 40))
	if w.slots[b].phase != vacant || w.slots[c].phase != writing {
		t.Fatal("a pipelined request did not make the longest incomplete head give way")
	}
	w.keepBehind(w.at(c), make([]byte, 200))
	if w.slots[c].phase != vacant || w.held != 0 {
		t.Fatalf("%d held, phase %d", w.held, w.slots[c].phase)
	}
}
