package respond

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
)

func addCorpus(f *testing.F, target string) {
	for _, seed := range conformance.Corpus(f, target) {
		f.Add(seed.Bytes)
	}
}

// TestVerdicts writes what the parsers make of the corpus, for `make verdicts` to compare with the other program's.
func TestVerdicts(t *testing.T) {
	directory := os.Getenv("VERDICTS")
	if directory == "" {
		t.Skip("VERDICTS is not set")
	}
	for target, judge := range map[string]func([]byte) []string{
		"range": judgeRange, "accept_encoding": judgeAcceptEncoding, "etag": judgeTags,
	} {
		var out strings.Builder
		for _, seed := range conformance.Corpus(t, target) {
			fmt.Fprintln(&out, seed.Name, strings.Join(judge(seed.Bytes), " "))
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
