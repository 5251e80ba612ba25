package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type seed struct {
	name  string
	bytes []byte
}

// corpus holds what the fuzzers of both programs left behind, in the order of its names.
func corpus(t testing.TB) (seeds []seed) {
	paths, err := filepath.Glob("../../../../conformance/corpus/guard/*")
	if err != nil || len(paths) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, path := range paths {
		bytes, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed{filepath.Base(path), bytes})
	}
	return seeds
}

// TestVerdicts writes what the guard says of the corpus, for `make verdicts` to compare with the other program's.
func TestVerdicts(t *testing.T) {
	directory := os.Getenv("VERDICTS")
	if directory == "" {
		t.Skip("VERDICTS is not set")
	}
	var out strings.Builder
	for _, seed := range corpus(t) {
		var g Guard
		text := "partial"
		switch g.Scan(seed.bytes) {
		case Refused:
			text = fmt.Sprint("refused ", g.Status)
		case Complete:
			text = fmt.Sprint("complete ", g.Length, g.Skip, g.Body, g.Persists())
		}
		fmt.Fprintln(&out, seed.name, text)
	}
	if err := os.WriteFile(filepath.Join(directory, "guard"), []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
