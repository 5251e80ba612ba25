package respond

import (
	"fmt"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

func lines(values []string) (lines [][]byte) {
	for _, value := range values {
		lines = append(lines, []byte(value))
	}
	return lines
}

type rangeCase struct {
	Name, Value, Want string
	Length            int
}

func TestRangeVectors(t *testing.T) {
	for _, c := range conformance.Vectors[rangeCase](t, "range", "case") {
		r := parseRange(Trim([]byte(c.Value)), c.Length)
		got := [...]string{"ignored", fmt.Sprintf("%d-%d", r.first, r.last), "unsatisfiable"}[r.kind]
		if got != c.Want {
			t.Errorf("%s: %s, want %s", c.Name, got, c.Want)
		}
	}
}

type encodingCase struct {
	Name, Want       string
	Lines, Available []string
}

func TestAcceptEncodingVectors(t *testing.T) {
	for _, c := range conformance.Vectors[encodingCase](t, "accept_encoding", "case") {
		if got := negotiate(lines(c.Lines), having(c.Available)).String(); got != c.Want {
			t.Errorf("%s: %s, want %s", c.Name, got, c.Want)
		}
	}
}

func having(codings []string) *content.Content {
	c := &content.Content{}
	for coding := range c.Variants {
		for _, name := range append(codings, "identity") {
			if name == content.Coding(coding).String() {
				c.Variants[coding].Body = []byte("x")
			}
		}
	}
	return c
}

type tagCase struct {
	Name, Tag    string
	Lines        []string
	Strong, Weak bool
}

func TestTagVectors(t *testing.T) {
	for _, c := range conformance.Vectors[tagCase](t, "etag", "case") {
		if got := matches(lines(c.Lines), c.Tag, true); got != c.Strong {
			t.Errorf("%s: strong %v", c.Name, got)
		}
		if got := matches(lines(c.Lines), c.Tag, false); got != c.Weak {
			t.Errorf("%s: weak %v", c.Name, got)
		}
	}
}

type dateCase struct {
	Name, Value string
	Want        *int64
}

func TestDateVectors(t *testing.T) {
	for _, c := range conformance.Vectors[dateCase](t, "date", "case") {
		got, valid := ParseDate([]byte(c.Value))
		if valid != (c.Want != nil) || valid && got != *c.Want {
			t.Errorf("%s: %d %v", c.Name, got, valid)
		}
	}
}
