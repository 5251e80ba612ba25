package respond

import (
	"slices"
	"testing"
)

func TestEveryStatusIsInTheList(t *testing.T) {
	for status, failure := range failures {
		if failure.head != "" && !slices.Contains(Statuses[:], uint16(status)) {
			t.Error(status)
		}
	}
	if !slices.IsSorted(Statuses[:]) {
		t.Error("not in order")
	}
}
