package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

type vector struct {
	Name, Peer, Common, JSON string
	Request                  *string
	Time                     int64
	Status                   uint16
	Bytes                    int
}

func (v *vector) entry() *Entry {
	e := &Entry{Status: v.Status, Bytes: v.Bytes}
	e.Peer, _ = netip.ParseAddr(v.Peer) // if it is not an address, it is a unix socket's
	if v.Request != nil {
		e.Head = []byte(*v.Request + "\r\nhost: a\r\n\r\n")
	}
	return e
}

func TestLinesAreThoseOfTheVectors(t *testing.T) {
	common, json := inFormat("common", quiet()).Lines(), inFormat("json", quiet()).Lines()
	for _, c := range conformance.Vectors[vector](t, "access_log", "case") {
		for lines, want := range map[*Lines]string{common: c.Common, json: c.JSON} {
			lines.text = lines.text[:0]
			lines.Add(c.entry(), c.Time, 0)
			if got := string(lines.text); got != want+"\n" {
				t.Errorf("%s: %s", c.Name, got)
			}
		}
	}
}

var entry = &Entry{Peer: netip.MustParseAddr("::1"), Head: []byte("GET /\\ HTTP/1.1\r\n\r\n"), Status: 200, Bytes: 6}

func inFormat(format string, out *Stream) *Log { return New(&config.Config{AccessLog: format}, out) }

// quiet is a stream that is never written out.
func quiet() *Stream { return NewStream(nil, waiting) }

const waiting = 32

func TestWhatIsLeftIsWrittenAtTheEndInOrder(t *testing.T) {
	var out bytes.Buffer
	log := inFormat("common", NewStream(&out, waiting))
	lines := log.Lines()
	for second := range int64(2000) {
		lines.Add(entry, second, 0)
	}
	lines.End()
	log.out.Start("")
	log.out.Flush(time.Second)
	for second := range int64(2000) {
		want := time.Unix(second, 0).UTC().Format(layouts["common"])
		line, err := out.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Fatalf("%d: %q %v", second, line, err)
		}
	}
	if out.Len() > 0 || log.Lost() > 0 {
		t.Error(out.Len(), log.Lost())
	}
}

func TestNobodyWritingCostsLinesThatAreCountedAndNothingElse(t *testing.T) {
	log := inFormat("json", quiet())
	lines := log.Lines()
	add := func() { lines.Add(entry, 0, 0) }
	const enough = 2 * waiting * batchSize / 100
	for range enough {
		add()
	}
	if allocated := testing.AllocsPerRun(enough, add); allocated > 0 {
		t.Errorf("%v allocations", allocated)
	}
	log.out.Flush(time.Millisecond) // nothing is written, and it does not wait for ever
	before := log.Lost()
	lines.HandOver()
	if _, ok := lines.Oldest(); ok || before == 0 || log.Lost() <= before {
		t.Error(before, log.Lost())
	}
}

func TestTheOldestLineIsTheFirstThatWasNotHandedOver(t *testing.T) {
	lines := inFormat("common", quiet()).Lines()
	for _, first := range []uint32{7, 11} {
		lines.Add(entry, 0, first)
		lines.Add(entry, 0, first+1)
		if at, is := lines.Oldest(); !is || at != first {
			t.Error(at, is)
		}
		lines.HandOver()
	}
}

func TestWritingGoesOnAfterTheStreamWasFlushed(t *testing.T) {
	var out bytes.Buffer
	log := inFormat("common", NewStream(&out, waiting))
	log.out.Start("")
	for written := range 2 {
		lines := log.Lines()
		lines.Add(entry, 0, 0)
		lines.End()
		log.out.Flush(time.Second)
		if got := strings.Count(out.String(), "\n"); got != written+1 {
			t.Fatal(got)
		}
	}
}

// disk accepts this many bytes and then none, until it is emptied.
type disk struct {
	bytes.Buffer
	room int
}

var errFull = errors.New("full")

func (d *disk) Write(b []byte) (int, error) {
	n := min(len(b), d.room)
	d.room -= n
	_, _ = d.Buffer.Write(b[:n])
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

func TestOnlyWholeLinesAreLost(t *testing.T) {
	text := ""
	for i := range 60 {
		text += fmt.Sprintf("%d %s\n", i, strings.Repeat("x", 100*i))
	}
	for room := 0; room < 3*pieceSize; room += 7 {
		d := &disk{room: room}
		w := writer{out: d}
		lost := w.write([]byte(text))
		lost += w.write([]byte("lost while it is full\n"))
		d.room = 1 << 20
		lost += w.write([]byte("the last\n"))
		all := d.String()
		for line := range strings.Lines(all) {
			if line != "the last\n" && !strings.Contains(text, line) {
				t.Fatalf("%d: %q", room, line)
			}
		}
		if got := strings.Count(all, "\n"); got+lost != 62 || !strings.HasSuffix(all, "\nthe last\n") && all != "the last\n" {
			t.Fatalf("%d: %d lines, %d lost", room, got, lost)
		}
	}
}

func TestAPieceEndsWithALine(t *testing.T) {
	short, long := strings.Repeat("x", 99)+"\n", strings.Repeat("x", 2*pieceSize)+"\n"
	for text, want := range map[string]int{
		short: 100, strings.Repeat(short, 50): 4000, long: len(long), long + short: len(long), short + long: 100,
		strings.Repeat("x", pieceSize-1) + "\n" + short: pieceSize,
	} {
		if got := pieceEnd([]byte(text)); got != want {
			t.Errorf("%d of %d, want %d", got, len(text), want)
		}
	}
}

func BenchmarkLine(b *testing.B) {
	log := inFormat("common", NewStream(io.Discard, waiting))
	log.out.Start("")
	lines := log.Lines()
	b.ReportAllocs()
	for b.Loop() {
		lines.Add(entry, 0, 0)
	}
}

func TestNobodyReadingDelaysTheEndBriefly(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	s := NewStream(write, waiting)
	s.Start("first\n")
	start := time.Now()
	for range 2 * waiting {
		_, _ = s.Write(make([]byte, 4096))
	}
	s.Flush(100 * time.Millisecond)
	_, _ = s.Write([]byte("after the end\n")) // logging after the end must not panic
	if took := time.Since(start); took > time.Second {
		t.Errorf("%v", took)
	}
}
