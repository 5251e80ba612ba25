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

func TestTheDateIsThatOfTheClock(t *testing.T) {
	var clock Clock
	for unix, want := range []string{"00:00:00", "00:00:01"} {
		for range 2 {
			clock.Set(int64(unix))
			if got := string(clock.date()); got != "Thu, 01 Jan 1970 "+want+" GMT" {
				t.Error(got)
			}
		}
	}
	clock.Set(0)
	if got := string(clock.date()); got != "Thu, 01 Jan 1970 00:00:00 GMT" {
		t.Error(got)
	}
}
