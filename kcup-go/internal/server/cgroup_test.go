package server

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestRoomIsWhatTheTightestCgroupLeaves(t *testing.T) {
	outer, inner, none := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var m memory
	if least, _ := m.least(); m.available() != math.MaxInt64 || least != 0 {
		t.Error("no cgroup")
	}
	for dir, limit := range map[string]string{outer: "1000", inner: "400", none: "max"} {
		write(dir, "memory.max", limit)
		write(dir, "memory.current", "300")
		write(dir, "memory.stat", "anon 7\nfile 200\nactive_file 20\ninactive_file 100\nzeta_active_file 50")
		m.add(dir, dir == inner, "memory.max", "memory.current", "")
	}
	if least, charged := m.least(); len(m.groups) != 2 || least != 400 || !charged || m.available() != 220 {
		t.Errorf("%d groups, limit %d, available %d", len(m.groups), least, m.available())
	}
	write(outer, "memory.current", "1100")
	if m.available() != 20 {
		t.Errorf("%d: what was open is not read again", m.available())
	}
	write(inner, "memory.max", "max")
	write(outer, "memory.max", "max")
	if m.available() != math.MaxInt64 {
		t.Errorf("%d", m.available())
	}
}

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
