package content

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

func TestAFileThatChangesWhileItIsReadIsReadAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	reads := 0
	changing := func(times int) func(io.Reader, fs.FileInfo) (int, error) {
		return func(io.Reader, fs.FileInfo) (int, error) {
			if reads++; reads > times {
				return reads, nil
			}
			return 0, os.WriteFile(name, make([]byte, reads), 0o600)
		}
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := stable(name, changing(2)); got != 3 || err != nil {
		t.Error(got, err)
	}
	reads = 0
	if _, err := stable(name, changing(100)); err != errChanging || reads != 1+rereads {
		t.Error(reads, err)
	}
	grows := func(from io.Reader, info fs.FileInfo) (int, error) {
		b, err := readAll(from, info.Size(), 1<<30, func(int64) bool { return os.Truncate(name, info.Size()+9) == nil })
		return len(b.Bytes), err
	}
	if n, err := stable(name, grows); err != errChanging || n != reads+9*rereads+1 {
		t.Error(n, err)
	}
}

func TestAReloadNeedsRoomAndARegularFile(t *testing.T) {
	dir := t.TempDir()
	small, large, fifo := filepath.Join(dir, "small"), filepath.Join(dir, "large"), filepath.Join(dir, "fifo")
	errs := []error{os.WriteFile(small, make([]byte, 8192), 0o600), os.WriteFile(large, make([]byte, 2<<20), 0o600), syscall.Mkfifo(fifo, 0o600)}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file     string
		room     int64
		compress bool
		once     bool
		want     string
	}{
		{small, 8192, false, false, ""}, {small, 8191, false, false, "there is not enough memory for it"},
		{small, 12<<20 + 8*8192 - 1, true, false, "there is not enough memory for it"}, {small, 12<<20 + 8*8192, true, false, ""},
		{large, 2 << 20, true, false, ""}, {fifo, 1 << 30, false, false, "it is not a regular file"},
		{small, 1 << 30, false, true, "it can be read only once"},
	} {
		cfg := &config.Config{File: c.file, MaxContent: 1 << 30, Compression: c.compress}
		source, err := Again(cfg, &Content{Once: c.once}, func() int64 { return c.room })
		if c.want == "" {
			digest, err2 := Look(cfg, &Content{})
			if err != nil || err2 != nil || digest != source.Digest() {
				t.Errorf("%s with %d: %v %v", c.file, c.room, err, err2)
			}
		} else if err == nil || !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("%s with %d: %v, want %s", c.file, c.room, err, c.want)
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
