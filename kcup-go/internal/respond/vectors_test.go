package respond

import (
	"fmt"
	"testing"

	"github.com/BurntSushi/toml"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

func vectors[T any](t testing.TB, name string) []T {
	var file struct{ Case []T }
	if _, err := toml.DecodeFile("../../../conformance/vectors/"+name+".toml", &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Case) == 0 {
		t.Fatalf("no cases in %s.toml", name)
	}
	return file.Case
}

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
	for _, c := range vectors[rangeCase](t, "range") {
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
	for _, c := range vectors[encodingCase](t, "accept_encoding") {
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
	for _, c := range vectors[tagCase](t, "etag") {
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
	for _, c := range vectors[dateCase](t, "date") {
		got, valid := ParseDate([]byte(c.Value))
		if valid != (c.Want != nil) || valid && got != *c.Want {
			t.Errorf("%s: %d %v", c.Name, got, valid)
		}
	}
}
