package server

import (
	"runtime/debug"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

func testEnvelope(contents int64, around surroundings) envelope {
	return newEnvelope(20000, 2, contents, around)
}

func TestNothingIsTakenAwayWhereNothingIsShort(t *testing.T) {
	for _, memory := range []int64{0, 128 << 20} {
		e := testEnvelope(66, surroundings{memory: memory, descriptors: 1 << 20})
		if e.maxConnections != 20000 || e.short || !e.fits || e.sockets != unlimitedSockets {
			t.Errorf("%d: %+v", memory, e)
		}
	}
}

func TestFewDescriptorsMeanFewConnections(t *testing.T) {
	for given, want := range map[uint64]int{1000: 1000, 0: 1} {
		if e := testEnvelope(66, surroundings{descriptors: given}); e.maxConnections != want || e.short {
			t.Errorf("%d: %+v", given, e)
		}
	}
}

func TestVersion1LimitsSocketsByThemselves(t *testing.T) {
	if e := testEnvelope(66, surroundings{memory: 100 << 20, tcp: 8 << 20, descriptors: 1 << 20}); e.sockets != 6<<20 {
		t.Errorf("%+v", e)
	}
}

func TestThePartsFitTheMemoryTogether(t *testing.T) {
	for memory := int64(16 << 20); memory < 511<<20; memory += 1 << 20 {
		for _, charged := range []bool{false, true} {
			e := testEnvelope(1<<20, surroundings{memory: memory, charged: charged, descriptors: 1 << 20})
			total := int64(e.maxConnections)*connectionCost + e.kept
			if charged {
				total = max(e.sockets, int64(e.maxConnections)*connectionCost+e.kept)
			}
			total += resting + 1<<20
			if total > memory || e.short != (e.maxConnections < 20000) || !e.fits {
				t.Errorf("%d: %+v", memory, e)
			}
		}
	}
}

func TestThePartsOfAMemoryThatIsShort(t *testing.T) {
	around := surroundings{memory: resting + 8<<20, charged: true, descriptors: 1 << 20}
	for wanted, want := range map[int]envelope{
		1000: {maxConnections: 1000, kept: (8<<20 - 1000*connectionCost) / 4},
		1536: {maxConnections: 1536, kept: (8<<20 - 1536*connectionCost) / 4},
		1537: {maxConnections: 1536, kept: (8<<20 - 1536*connectionCost) / 4, short: true},
	} {
		want.sockets, want.cost, want.limited, want.fits = 7<<20, connectionCost, true, true
		if got := newEnvelope(wanted, 2, 0, around); got != want {
			t.Errorf("%d: %+v", wanted, got)
		}
	}
	if got := newEnvelope(1, 3, 0, surroundings{memory: resting}); got.kept != 3*2*guard.MaxHead {
		t.Errorf("%+v", got)
	}
}

// K-104: 64 connections, and two heads and a response for each worker.
func TestWhatIsPromisedAtLeast(t *testing.T) {
	around := surroundings{memory: 100 << 20, charged: true, descriptors: 1 << 20}
	const least = 64*connectionCost + 2*(32<<10+leastShare)
	for contents, want := range map[int64]bool{92<<20 - least: true, 92<<20 - least + 1: false, 1 << 40: false} {
		if e := testEnvelope(contents, around); e.fits != want {
			t.Errorf("%d: %+v", contents, e)
		}
	}
}

func TestALimitThatTheRuntimeWasGivenStays(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	e := testEnvelope(66, surroundings{memory: 100 << 20, descriptors: 1 << 20})
	t.Setenv("GOMEMLIMIT", "50MiB")
	if e.tell(); debug.SetMemoryLimit(-1) != before {
		t.Error("GOMEMLIMIT counts for nothing")
	}
	t.Setenv("GOMEMLIMIT", "")
	if e.tell(); debug.SetMemoryLimit(-1) != resting+e.kept {
		t.Error("the limit of the cgroup counts for nothing")
	}
}
