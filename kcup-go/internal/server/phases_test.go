package server

import "testing"

func TestPhasesKeepTheOrderOfEntry(t *testing.T) {
	p := newPhases()
	a, b, c := p.add(10, 1).slot, p.add(11, 2).slot, p.add(12, 3).slot
	p.move(p.at(a), idle, 4)
	for _, want := range []int32{b, c, a} {
		if got := p.first(idle); got.slot != want {
			t.Fatalf("first is %d, want %d", got.slot, want)
		}
		p.move(p.first(idle), writing, 5)
	}
	if p.first(idle) != nil || p.queue[idle].count != 0 || p.queue[idle].last != none || p.queue[writing].count != 3 {
		t.Fatalf("%+v", p.queue)
	}
}

func TestASlotIsUsedAgainUnderAnotherGeneration(t *testing.T) {
	p := newPhases()
	a := p.add(10, 1)
	before := a.generation
	p.remove(a)
	if b := p.add(11, 2); b != a || b.generation == before || p.open != 1 || len(p.slots) != 1 {
		t.Fatalf("%+v", p)
	}
}

func TestNothingExpiresEarly(t *testing.T) {
	p := newPhases()
	c := p.add(10, 5)
	if p.expired(idle, 10, 15) != nil {
		t.Fatal("early")
	}
	if p.expired(idle, 10, 16) != c {
		t.Fatal("late")
	}
}
