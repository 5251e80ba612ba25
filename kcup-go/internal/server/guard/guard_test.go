package guard

import (
	"math/rand/v2"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
)

type guardCase struct {
	Name      string
	Head      conformance.Parts
	Status    int
	Partial   bool
	Length    int
	Body      bool
	KeepAlive bool `toml:"keep_alive"`
}

func guardCases(t testing.TB) []guardCase {
	return conformance.Vectors[guardCase](t, "guard", "case")
}

// split scans b in pieces of at most most bytes; each scan gets all bytes so far, as in the worker.
func split(b []byte, next func() int) (Guard, Verdict) {
	var g Guard
	for end := 0; end < len(b); {
		end = min(len(b), end+next())
		if v := g.Scan(b[:end:end]); v != Partial {
			return g, v
		}
	}
	return g, Partial
}

func TestGuardVectorsHoldHoweverTheBytesAreSplit(t *testing.T) {
	for _, c := range guardCases(t) {
		b := c.Head.Bytes(t)
		splits := []func() int{
			func() int { return len(b) }, func() int { return 1 }, func() int { return 2 },
			func() int { return 1 + rand.IntN(40) },
		}
		for i, next := range splits {
			g, v := split(b, next)
			switch {
			case c.Status != 0:
				if v != Refused || int(g.Status) != c.Status {
					t.Errorf("%s (%d): verdict %d status %d, want %d", c.Name, i, v, g.Status, c.Status)
				}
			case c.Partial:
				if v != Partial {
					t.Errorf("%s (%d): verdict %d, want partial", c.Name, i, v)
				}
			case v != Complete || g.Length != c.Length || g.Body != c.Body || g.Persists() != c.KeepAlive:
				t.Errorf("%s (%d): verdict %d status %d length %d body %v keep-alive %v", c.Name, i, v, g.Status, g.Length, g.Body, g.Persists())
			}
		}
	}
}

func TestAHeadHasBegunWithItsFirstByteAndNotWithAForgivenCRLF(t *testing.T) {
	for bytes, fresh := range map[string]bool{"": true, "\r": true, "\r\n": true, "G": false, "\r\nG": false} {
		var g Guard
		if g.Scan([]byte(bytes)); g.Fresh() != fresh {
			t.Errorf("%q", bytes)
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	head := []byte("GET / HTTP/1.1\r\nHost: localhost:5000\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n")
	b.SetBytes(int64(len(head)))
	for b.Loop() {
		var g Guard
		if g.Scan(head) != Complete {
			b.Fatal("refused")
		}
	}
}

func FuzzGuard(f *testing.F) {
	for _, c := range guardCases(f) {
		f.Add(c.Head.Bytes(f))
	}
	for _, seed := range conformance.Corpus(f, "guard") {
		f.Add(seed.Bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, v := split(b, func() int { return len(b) })
		for _, step := range []int{1, 7} {
			if pieces, w := split(b, func() int { return step }); v != w || whole != pieces {
				t.Fatalf("whole %d %+v, in pieces %d %+v", v, whole, w, pieces)
			}
		}
	})
}
