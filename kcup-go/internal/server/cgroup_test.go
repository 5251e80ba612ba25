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

// As the same test of kcup-rust.
func TestLimitsAndWhatIsLeftAreReadFromBothVersionsOfCgroups(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, name), []byte(text+"\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for group, limit := range map[string]string{"memory/outer/inner": "9223372036854771712", "memory/outer": "104857600", "memory": "1152921504606846976"} {
		write(group+"/memory.limit_in_bytes", limit)
		write(group+"/memory.usage_in_bytes", "4857600")
		write(group+"/memory.stat", "inactive_file 9\ntotal_cache 9\ntotal_inactive_file 50000\ntotal_active_file 7600")
	}
	write("memory/outer/inner/memory.kmem.tcp.limit_in_bytes", "8000000")
	write("memory/outer/memory.kmem.tcp.limit_in_bytes", "7000000")
	write("memory/memory.kmem.tcp.limit_in_bytes", "9000000")
	write("memory.current", "6000000")
	write("memory.stat", "anon 5\ninactive_file 1000000\nactive_file 500000")
	for _, c := range []struct {
		membership, max       string
		least, available, tcp int64
		charged               bool
	}{
		{"4:memory:/outer/inner\n1:cpu:/x", "max", 104857600, 100057600, 7000000, false},
		{"4:cpu,memory:/outer/inner", "max", 104857600, 100057600, 7000000, false},
		{"4:memory:/", "max", 0, math.MaxInt64, 9000000, false}, // 2^60 is none
		{"x\n4:name=systemd:/\n0::/", "max", 0, math.MaxInt64, 0, false},
		{"0::/not/visible/here", "5000000", 5000000, 500000, 0, true},
		{"4:memory:/outer\n0::/", "5000000", 5000000, 500000, 7000000, true},
	} {
		write("membership", c.membership)
		write("memory.max", c.max)
		m := findMemory(root, filepath.Join(root, "membership"))
		if least, charged := m.least(); least != c.least || charged != c.charged || m.available() != c.available || m.tcp != c.tcp {
			t.Errorf("%s: %d, %v, %d left, %d for sockets", c.membership, least, charged, m.available(), m.tcp)
		}
		m.close()
	}
}

func TestAQuotaIsRoundedDown(t *testing.T) {
	for _, c := range []struct {
		quota, period string
		want          int
	}{{"150000", "100000", 1}, {"50000", "100000", 0}, {"max", "100000", 8}, {"-1", "100000", 8}, {"", "", 8}, {"100000", "", 8}, {"0", "100000", 8}} {
		if got := quotaCPUs(c.quota, c.period, 8); got != c.want {
			t.Errorf("%s/%s: %d, want %d", c.quota, c.period, got, c.want)
		}
	}
}
