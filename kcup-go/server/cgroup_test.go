package server

import "testing"

func TestAQuotaIsRoundedDown(t *testing.T) {
	for _, c := range []struct {
		quota, period string
		want          int
	}{{"150000", "100000", 1}, {"50000", "100000", 0}, {"max", "100000", 8}, {"-1", "100000", 8}, {"", "", 8}} {
		if got := quotaCPUs(c.quota, c.period, 8); got != c.want {
			t.Errorf("%s/%s: %d, want %d", c.quota, c.period, got, c.want)
		}
	}
}
