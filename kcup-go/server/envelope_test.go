package server

import "testing"

func testEnvelope(content, memory int64, descriptors uint64) envelope {
	return newEnvelope(20000, 2, content, surroundings{memory, descriptors})
}

func TestNothingIsTakenAwayWhereNothingIsShort(t *testing.T) {
	for _, memory := range []int64{0, 100 << 20} {
		if e := testEnvelope(66, memory, 1<<20); e.maxConnections != 20000 || e.short {
			t.Errorf("%d: %+v", memory, e)
		}
	}
}

func TestFewDescriptorsMeanFewConnections(t *testing.T) {
	for given, want := range map[uint64]int{1024: 996, 10: 1} {
		if e := testEnvelope(66, 0, given); e.maxConnections != want || e.short {
			t.Errorf("%d: %+v", given, e)
		}
	}
}

func TestThePartsFitTheMemoryTogether(t *testing.T) {
	for memory := int64(16 << 20); memory < 511<<20; memory += 1 << 20 {
		e := testEnvelope(1<<20, memory, 1<<20)
		if total := int64(e.maxConnections)*connectionCost + int64(e.kept) + resting + 1<<20; total > memory {
			t.Errorf("%d: %+v", memory, e)
		}
		if e.short != (e.maxConnections < 20000) {
			t.Errorf("%d: %+v", memory, e)
		}
	}
}
