package server

import "time"

// tick is the unit in which connections are timed.
const tick = 100 * time.Millisecond

func ticks(d time.Duration) uint32 { return uint32(d / tick) }

// readClocks is called once for all events of a turn.
func (w *worker) readClocks() {
	now := time.Now()
	w.now = uint32(now.Sub(w.started) / tick)
	w.account.at(w.now)
	w.clock.Set(now.Unix())
}

// timeout returns the time until something can expire, in milliseconds.
func (w *worker) timeout() int {
	least := int64(-1)
	if since, is := w.lines.Oldest(); is {
		least = int64(since) + lineAge
	}
	for p := range phaseCount {
		if first := w.queue[p].first; first != none {
			due := int64(w.slots[first].since) + int64(w.limits[p]) + 1
			if least < 0 || due < least {
				least = due
			}
		}
	}
	if least < 0 {
		return -1
	}
	return int(max(0, time.Duration(least)*tick-time.Since(w.started)+time.Millisecond) / time.Millisecond)
}
