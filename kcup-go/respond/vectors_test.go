package respond

import (
	"fmt"
	"testing"

	"github.com/BurntSushi/toml"

	"kcup/content"
)

func vectors[T any](t testing.TB, name string) []T {
	var file struct{ Case []T }
	if _, err := toml.DecodeFile("../../conformance/vectors/"+name+".toml", &file); err != nil {
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
		r := parseRange(trim([]byte(c.Value)), c.Length)
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
	Now         int64
	Want        *int64
}

func TestDateVectors(t *testing.T) {
	for _, c := range vectors[dateCase](t, "date") {
		got, valid := ParseDate([]byte(c.Value), c.Now)
		if valid != (c.Want != nil) || valid && got != *c.Want {
			t.Errorf("%s: %d %v", c.Name, got, valid)
		}
	}
}

func FuzzRange(f *testing.F) {
	for _, c := range vectors[rangeCase](f, "range") {
		f.Add([]byte(c.Value), c.Length)
	}
	f.Fuzz(func(t *testing.T, value []byte, length int) {
		if length < 1 {
			return
		}
		r := parseRange(value, length)
		if r.kind == satisfiable && (r.first < 0 || r.first > r.last || r.last >= length) {
			t.Fatalf("%d-%d of %d", r.first, r.last, length)
		}
	})
}

func FuzzAcceptEncoding(f *testing.F) {
	for _, c := range vectors[encodingCase](f, "accept_encoding") {
		f.Add([]byte(fmt.Sprint(c.Lines)))
	}
	c := having([]string{"gzip"})
	f.Fuzz(func(t *testing.T, value []byte) {
		if got := negotiate([][]byte{value}, c); c.Variants[got].Body == nil {
			t.Fatalf("%s does not exist", got)
		}
	})
}

func FuzzETagList(f *testing.F) {
	for _, c := range vectors[tagCase](f, "etag") {
		for _, line := range c.Lines {
			f.Add([]byte(line), []byte(""))
		}
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		both := [][]byte{one, two}
		if matches(both, `"abc"`, true) && !matches(both, `"abc"`, false) {
			t.Fatal("what matches strongly matches weakly")
		}
	})
}

func FuzzDate(f *testing.F) {
	for _, c := range vectors[dateCase](f, "date") {
		f.Add([]byte(c.Value), c.Now)
	}
	f.Fuzz(func(t *testing.T, value []byte, now int64) {
		unix, valid := ParseDate(value, now%(1<<36))
		if !valid || len(value) != content.DateLength {
			return
		}
		text := content.AppendDate(nil, unix)
		if again, valid := ParseDate(text, 0); !valid || again != unix {
			t.Fatalf("%q is %d, but %q is %d", value, unix, text, again)
		}
	})
}
