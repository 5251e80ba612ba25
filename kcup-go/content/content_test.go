package content

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"kcup/config"
)

func TestTheTableOfMediaTypesIsTheShared(t *testing.T) {
	var file struct {
		Type []struct {
			Extension, Type string
			Textual         bool
		}
	}
	if _, err := toml.DecodeFile("../../conformance/vectors/media_types.toml", &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Type) != len(mediaTypes) {
		t.Errorf("%d there, %d here", len(file.Type), len(mediaTypes))
	}
	for _, row := range file.Type {
		if mediaTypes[row.Extension] != row.Type || isTextual(row.Type) != row.Textual {
			t.Errorf("%s: %s, textual %v", row.Extension, mediaTypes[row.Extension], isTextual(row.Type))
		}
	}
}

func TestDatesAreThoseOfTheStandardLibrary(t *testing.T) {
	for unix := int64(-3e9); unix < 2.5e11; unix += 86400*37 + 12345 {
		want := time.Unix(unix, 0).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
		if got := string(AppendDate(nil, unix)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

func TestContentThatCannotBeReadSaysWhy(t *testing.T) {
	dir := t.TempDir()
	empty, large := filepath.Join(dir, "empty"), filepath.Join(dir, "large")
	if os.WriteFile(empty, nil, 0o600) != nil || os.WriteFile(large, []byte("1234"), 0o600) != nil {
		t.Fatal("cannot write")
	}
	for file, want := range map[string]string{
		dir:   "it is a directory (Docker creates one when the source of a mount is missing)",
		empty: "it is empty", large: "it is larger than 3 bytes (raise --max-content-bytes)",
		dir + "/none": "no such file", empty + "/x": "no such file",
	} {
		_, err := Load(&config.Config{File: file, MaxContent: 3}, nil)
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) || !strings.HasPrefix(err.Error(), `cannot read content from "`) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestVariantsAreMadeQuicklyAndOnlyWhereTheyAreDue(t *testing.T) {
	for _, c := range []struct {
		size int
		name string
		want bool
	}{{1023, "a.txt", false}, {1024, "a.txt", true}, {1048576, "a.json", true}, {1048577, "a.txt", false}, {4096, "a.png", false}} {
		source := Source{Bytes: []byte(strings.Repeat("some text ", c.size/10+1)[:c.size]), Name: c.name}
		built := Build(source, &config.Config{Compression: true}, time.Now())
		if got := built.Variants[Gzip].Body != nil && built.Variants[Brotli].Body != nil; got != c.want {
			t.Errorf("%d bytes of %s: %v", c.size, c.name, got)
		}
	}
}

func TestVaryIsJoinedUnchanged(t *testing.T) {
	cfg := &config.Config{Fields: []config.Field{{Name: "vary", Value: "Origin,"}, {Name: "vary"}, {Name: "vary", Value: "x"}}}
	c := Build(Source{Bytes: []byte("x"), Name: "a.css"}, cfg, time.Unix(0, 0))
	if text := string(c.Variants[Identity].OK.Bytes); !strings.HasSuffix(text, "accept-ranges: bytes\r\nvary: Origin,, x\r\n") {
		t.Error(text)
	}
}

func TestVaryIsOneFieldInItsPlace(t *testing.T) {
	cfg := &config.Config{Compression: true, Fields: []config.Field{{Name: "x", Value: "1"}, {Name: "vary", Value: "Origin"}}}
	c := Build(Source{Bytes: make([]byte, 2000), Name: "a.css"}, cfg, time.Unix(0, 0))
	if text := string(c.Variants[Identity].OK.Bytes); !strings.HasSuffix(text, "accept-ranges: bytes\r\nvary: accept-encoding, Origin\r\nx: 1\r\n") {
		t.Error(text)
	}
}
