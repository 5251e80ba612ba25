package respond

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
func corpus(t testing.TB, target string) (seeds []seed) {
	paths, err := filepath.Glob("../../../conformance/corpus/" + target + "/*")
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

func addCorpus(f *testing.F, target string) {
	for _, seed := range corpus(f, target) {
		f.Add(seed.bytes)
	}
}

// TestVerdicts writes what the parsers say of the corpus, for `make verdicts` to compare with the other program's.
func TestVerdicts(t *testing.T) {
	directory := os.Getenv("VERDICTS")
	if directory == "" {
		t.Skip("VERDICTS is not set")
	}
	for target, judge := range map[string]func([]byte) []string{
		"range": judgeRange, "accept_encoding": judgeAcceptEncoding, "etag": judgeTags,
	} {
		var out strings.Builder
		for _, seed := range corpus(t, target) {
			fmt.Fprintln(&out, seed.name, strings.Join(judge(seed.bytes), " "))
		}
		if err := os.WriteFile(filepath.Join(directory, target), []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func judgeRange(input []byte) (verdicts []string) {
	for _, length := range lengths {
		r := parseRange(Trim(input), length)
		verdicts = append(verdicts, [...]string{"ignored", fmt.Sprintf("%d-%d", r.first, r.last), "unsatisfiable"}[r.kind])
	}
	return verdicts
}

func judgeAcceptEncoding(input []byte) (verdicts []string) {
	for _, available := range availability {
		verdicts = append(verdicts, negotiate(fieldLines(input), having(available)).String())
	}
	return verdicts
}

func judgeTags(input []byte) (verdicts []string) {
	for _, tag := range tags {
		for _, strong := range []bool{true, false} {
			verdicts = append(verdicts, fmt.Sprint(matches(fieldLines(input), tag, strong)))
		}
	}
	return verdicts
}
