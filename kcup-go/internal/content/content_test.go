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

	"gitlab.com/kcup/kcup/kcup-go/conformance"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

func TestTheTableOfMediaTypesIsTheShared(t *testing.T) {
	type mediaTypeRow struct {
		Extension, Type string
		Textual         bool
	}
	rows := conformance.Vectors[mediaTypeRow](t, "media_types", "type")
	if len(rows) != len(mediaTypes) {
		t.Errorf("%d there, %d here", len(rows), len(mediaTypes))
	}
	for _, row := range rows {
		if mediaTypes[row.Extension] != row.Type || isTextual(row.Type) != row.Textual {
			t.Errorf("%s: %s, textual %v", row.Extension, mediaTypes[row.Extension], isTextual(row.Type))
		}
	}
}

func always(int64) bool { return true }

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
		_, err := Load(&config.Config{File: file, MaxContent: 3}, always)
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) || !strings.HasPrefix(err.Error(), `cannot read content from "`) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestAFileThatChangesWhileItIsReadIsReadAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	reads := 0
	changing := func(times int) func(io.Reader, fs.FileInfo) error {
		return func(io.Reader, fs.FileInfo) error {
			if reads++; reads > times {
				return nil
			}
			return os.WriteFile(name, make([]byte, reads), 0o600)
		}
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := stable(name, changing(2)); reads != 3 || err != nil {
		t.Error(reads, err)
	}
	reads = 0
	if err := stable(name, changing(100)); err != errChanging || reads != 1+rereads {
		t.Error(reads, err)
	}
	n := 0
	grows := func(from io.Reader, info fs.FileInfo) error {
		grow := func(int64) bool { return os.Truncate(name, info.Size()+9) == nil }
		source, err := readAll(from, info.Size(), &config.Config{MaxContent: 1 << 30}, grow)
		n = len(source.Bytes)
		source.Release()
		return err
	}
	if err := stable(name, grows); err != errChanging || n != reads+9*rereads+1 {
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
	const some = 8192
	const due = some + 4<<20 + 3*some // the second and the third for variants
	for _, c := range []struct {
		file     string
		room     int64
		compress bool
		once     bool
		plain    bool
		want     string
	}{
		{file: small, room: some}, {file: small, room: some - 1, want: "there is not enough memory for it"},
		{file: small, compress: true, room: some - 1, want: "there is not enough memory for it"},
		{file: small, compress: true, room: due - 1, plain: true}, {file: small, compress: true, room: due},
		{file: large, compress: true, room: 2 << 20},
		{file: fifo, room: 1 << 30, want: "it is not a regular file"},
		{file: small, room: 1 << 30, once: true, want: "it can be read only once"},
	} {
		cfg := &config.Config{File: c.file, MaxContent: 1 << 30, Compression: c.compress}
		source, err := Again(cfg, &Content{OneShot: c.once}, func(bytes int64) bool { return bytes <= c.room })
		if c.want == "" {
			digest, err2 := Look(cfg, &Content{})
			if err != nil || err2 != nil || digest != source.Digest() || source.Plain != c.plain {
				t.Errorf("%s with %d: %v %v, plain %v", c.file, c.room, err, err2, source.Plain)
			}
		} else if err == nil || !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("%s with %d: %v, want %s", c.file, c.room, err, c.want)
		}
		source.Release()
	}
}

func TestRoomIsAskedOnceOfAFileAndAsItComesOfAStream(t *testing.T) {
	cfg := &config.Config{MaxContent: 1 << 30, Compression: true}
	for _, c := range []struct{ hint, length, left int64 }{{300000, 300000, 0}, {0, 300000, 300000}, {100000, 300000, 300000 - 100000}} {
		left, asked := int64(1<<30), 0
		source, err := readAll(strings.NewReader(strings.Repeat("x", int(c.length))), c.hint, cfg, func(bytes int64) bool {
			left, asked = left-bytes, asked+1
			return true
		})
		if err != nil || int64(len(source.Bytes)) != c.length {
			t.Fatal(len(source.Bytes), err)
		}
		source.Release()
		if once := asked == 1; once != (c.hint == c.length) {
			t.Errorf("%d of %d: asked %d times", c.hint, c.length, asked)
		}
	}
	short := func(bytes int64) bool { return false }
	for text, want := range map[string]error{"x": errNoMemory, "": errEmpty} {
		if _, err := readAll(strings.NewReader(text), 0, cfg, short); err != want {
			t.Errorf("%q: %v", text, err)
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
		built.Release()
	}
}

func TestAPartOfTheFileIsWorthAHugePage(t *testing.T) {
	for length, want := range map[int64]int64{
		999_999: 0, 1_000_000: huge, 2 << 20: huge, 2<<20 + 999_999: huge, 2<<20 + 1_000_000: 2 * huge,
	} {
		if got := inHugePages(length); got != want {
			t.Errorf("%d: %d, want %d", length, got, want)
		}
	}
	const length = 1_500_000 // no whole number of pages: what is in pages of any size has padding
	for _, c := range []struct {
		length, spare int64
		moved         bool
	}{{length, huge - length + huge, true}, {length, huge - length + huge - 1, false}, {999_999, 1 << 30, false}} {
		source, err := readAll(strings.NewReader(strings.Repeat("x", int(c.length))), 0, &config.Config{MaxContent: 1 << 30}, always)
		if err != nil {
			t.Fatal(err)
		}
		if source.Shared.Collapse(c.spare); (source.Shared.padding > 0) != c.moved {
			t.Errorf("%d, %d to spare: a padding of %d", c.length, c.spare, source.Shared.padding)
		}
		source.Release()
	}
}
