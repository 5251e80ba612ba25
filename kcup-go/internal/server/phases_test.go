package server

import "testing"

func TestPhasesKeepTheOrderOfEntry(t *testing.T) {
	p := newPhases()
	a, b, c := p.add(10, 1), p.add(11, 2), p.add(12, 3)
	p.move(a, idle, 4)
	for _, want := range []int32{b, c, a} {
		if got := p.queue[idle].first; got != want {
			t.Fatalf("first is %d, want %d", got, want)
		}
		p.move(p.queue[idle].first, writing, 5)
	}
	if p.queue[idle].count != 0 || p.queue[idle].last != none || p.queue[writing].count != 3 {
		t.Fatalf("%+v", p.queue)
	}
}

func TestASlotIsUsedAgainUnderAnotherGeneration(t *testing.T) {
	p := newPhases()
	a := p.add(10, 1)
	before := p.slots[a].generation
	p.remove(a)
	if b := p.add(11, 2); b != a || p.slots[b].generation == before || p.open != 1 || len(p.slots) != 1 {
		t.Fatalf("%+v", p)
	}
}

func TestNothingExpiresEarly(t *testing.T) {
	p := newPhases()
	p.add(10, 5)
	if _, is := p.expired(idle, 10, 15); is {
		t.Fatal("early")
	}
	if _, is := p.expired(idle, 10, 16); !is {
		t.Fatal("late")
	}
}
