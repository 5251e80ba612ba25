package respond

import (
	"slices"
	"testing"
)

func TestEveryStatusIsInTheList(t *testing.T) {
	for status, refusal := range refusals {
		if refusal.head != "" && !slices.Contains(Statuses[:], uint16(status)) {
			t.Error(status)
		}
	}
	if !slices.IsSorted(Statuses[:]) {
		t.Error("not in order")
	}
}
