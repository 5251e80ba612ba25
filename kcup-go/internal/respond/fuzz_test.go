package respond

import (
	"bytes"
	"strings"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// The values that the verdicts are given for; the other program has the same.
var (
	lengths      = []int{1, 10, 1000000}
	availability = [][]string{{}, {"br"}, {"gzip"}, {"br", "gzip"}}
	tags         = []string{`"abc"`, `W/"abc-br"`}
)

// fieldLines splits at LF, which no value can contain. Request.Lines have no white space around them.
func fieldLines(input []byte) (lines [][]byte) {
	for line := range bytes.SplitSeq(input, []byte("\n")) {
		lines = append(lines, Trim(line))
	}
	return lines
}

func FuzzRange(f *testing.F) {
	for _, c := range conformance.Vectors[rangeCase](f, "range", "case") {
		f.Add([]byte(c.Value))
	}
	addCorpus(f, "range")
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, length := range lengths {
			r := parseRange(Trim(value), length)
			if r.kind == satisfiable && (r.first < 0 || r.first > r.last || r.last >= length) {
				t.Fatalf("%d-%d of %d", r.first, r.last, length)
			}
		}
	})
}

func FuzzAcceptEncoding(f *testing.F) {
	for _, c := range conformance.Vectors[encodingCase](f, "accept_encoding", "case") {
		f.Add([]byte(strings.Join(c.Lines, "\n")))
	}
	addCorpus(f, "accept_encoding")
	var contents []*content.Content
	for _, available := range availability {
		contents = append(contents, having(available))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, c := range contents {
			if got := negotiate(fieldLines(input), c); c.Variants[got].Body == nil {
				t.Fatalf("%s does not exist", got)
			}
		}
	})
}

func FuzzETagList(f *testing.F) {
	for _, c := range conformance.Vectors[tagCase](f, "etag", "case") {
		f.Add([]byte(strings.Join(c.Lines, "\n")))
	}
	addCorpus(f, "etag")
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, tag := range tags {
			if matches(fieldLines(input), tag, true) && !matches(fieldLines(input), tag, false) {
				t.Fatal("what matches strongly matches weakly")
			}
		}
	})
}
