package ops

import (
	"os"
	"runtime"
	"slices"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
	"gitlab.com/kcup/kcup/kcup-go/internal/server"
)

type metricsCase struct {
	Name, Text              string
	Version, Implementation string
	Responses               [][3]any
	ResponseBytes           uint64 `toml:"response_bytes"`
	Hot, Parked, Accepted   uint64
	Closed                  map[string]uint64
	LinesLost               uint64 `toml:"lines_lost"`
	ReloadsOK               uint64 `toml:"reloads_ok"`
	ReloadsFailed           uint64 `toml:"reloads_failed"`
	ContentBytes            uint64 `toml:"content_bytes"`
	ContentLoaded           uint64 `toml:"content_loaded"`
	TLS                     *struct {
		Expires uint64 `toml:"certificate_expiry"`
		OK      uint64 `toml:"handshakes_ok"`
		Failed  uint64 `toml:"handshakes_failed"`
		Timeout uint64 `toml:"handshakes_timeout"`
	}
	CPU            uint64 `toml:"cpu"`
	StartTime      uint64 `toml:"start_time"`
	OpenFDs        uint64 `toml:"open_fds"`
	MaxFDs         uint64 `toml:"max_fds"`
	VirtualMemory  uint64 `toml:"virtual_memory"`
	ResidentMemory uint64 `toml:"resident_memory"`
}

func (c *metricsCase) numbers() Numbers {
	n := Numbers{
		Version: c.Version, Implementation: c.Implementation,
		Counters:  server.Counters{Bytes: c.ResponseBytes, Hot: c.Hot, Parked: c.Parked, Accepted: c.Accepted},
		LinesLost: c.LinesLost, ReloadsOK: c.ReloadsOK, ReloadsFailed: c.ReloadsFailed,
		ContentBytes: c.ContentBytes, ContentLoaded: c.ContentLoaded,
		Usage: Usage{c.CPU, c.StartTime, c.OpenFDs, c.MaxFDs, c.VirtualMemory, c.ResidentMemory},
	}
	if c.TLS != nil {
		n.TLS = &TLSNumbers{c.TLS.Expires, c.TLS.OK, c.TLS.Failed, c.TLS.Timeout}
	}
	for _, response := range c.Responses {
		method := slices.Index([]string{"GET", "HEAD", "other"}, response[0].(string))
		status := slices.Index(respond.Statuses[:], uint16(response[1].(int64)))
		n.Responses[method][status] = uint64(response[2].(int64))
	}
	for i, name := range server.Reasons {
		n.Closed[i] = c.Closed[name]
	}
	return n
}

func TestTheTextOfMetricsIsThatOfTheVectors(t *testing.T) {
	for _, c := range conformance.Vectors[metricsCase](t, "metrics", "case") {
		numbers := c.numbers()
		if got := string(numbers.AppendText(nil)); got != c.Text {
			t.Errorf("%s:\n%s", c.Name, got)
		}
	}
}

func TestAProcessKnowsItself(t *testing.T) {
	p := OpenProcess()
	first := p.Usage()
	for _, n := range []uint64{first.StartTime, first.MaxFDs, first.VirtualMemory, first.ResidentMemory} {
		if n == 0 {
			t.Errorf("%+v", first)
		}
	}
	other := OpenProcess()
	if again := p.Usage(); again.OpenFDs != first.OpenFDs+3 || again.StartTime != first.StartTime || again.CPU < first.CPU {
		t.Errorf("%+v, then %+v", first, again)
	}
	runtime.KeepAlive(other)
}

func TestWhereTheKernelDoesNotTellDescriptorsAreCountedOnceASecond(t *testing.T) {
	d := OpenProcess().fds
	told := d.count()
	d.directory, _ = os.Open("/proc/self/task") // whose size says nothing
	if counted := d.count(); counted != told+1 {
		t.Errorf("%d, and Linux told of %d before the last was opened", counted, told)
	}
	d.found = 1000
	if d.count() != 1000 {
		t.Error("counted again at once:", d.found)
	}
	d.counted = d.counted.Add(-descriptorsAge)
	if d.count() != told+1 {
		t.Error("not counted again:", d.found)
	}
}
