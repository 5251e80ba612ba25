package server

import (
	"testing"
	"time"
)

// tooSlowAt looks every two ticks at a peer of which unsent returns what it has not acknowledged by then, and returns
// when it was too slow.
func tooSlowAt(limit uint32, unsent func(now uint32) int) uint32 {
	p := progress{sent: 100000}
	least := leastRate * int(limit) / int(ticks(time.Second))
	for now := uint32(0); now < 1000; now += 2 {
		p.look(unsent(now))
		if p.isTooSlow(least, limit, now) {
			return now
		}
	}
	return 0
}

func TestAPeerThatTakesNothingOrLessThanTheLeastIsTooSlow(t *testing.T) {
	for i, c := range []struct {
		unsent func(now uint32) int
		want   uint32
	}{
		{func(uint32) int { return 100000 }, 302},
		{func(now uint32) int { return 100000 - int(now)*25 }, 302},
		{func(now uint32) int { return 100000 - int(now)*26 }, 0},
		{func(now uint32) int { return 100000 - int(min(now, 2))*3840 }, 304},
		{func(now uint32) int { return 100000 - int(min(now/50, 1))*80000 }, 352},
	} {
		if got := tooSlowAt(300, c.unsent); got != c.want {
			t.Errorf("%d: %d, want %d", i, got, c.want)
		}
	}
}

func TestTheRateIsOfTheWholeResponse(t *testing.T) {
	p := progress{sent: 3000}
	p.look(3000)
	if p.rate(9) != 0 {
		t.Errorf("%+v", p)
	}
	p.look(1000)
	if p.rate(9) != 2000 {
		t.Errorf("%+v, %d", p, p.rate(9))
	}
	if p.look(1500); p.accepted != 2000 {
		t.Errorf("%+v", p)
	}
}
