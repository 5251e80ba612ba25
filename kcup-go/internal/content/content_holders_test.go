package content

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// sharedContent is content in a file, with variants.
func sharedContent(t *testing.T, text string) *Content {
	cfg := &config.Config{MaxContent: 1 << 20, Compression: true}
	source, err := readAll(strings.NewReader(text), int64(len(text)), cfg, always)
	if err != nil {
		t.Fatal(err)
	}
	return Build(source, cfg, time.Now())
}

func isMapped(b []byte) bool { return unix.Madvise(b, unix.MADV_NORMAL) == nil }

func TestTheLastReleaseGivesTheBytesBack(t *testing.T) {
	c := sharedContent(t, strings.Repeat("some text ", 1000))
	identity, variants := c.Shared, c.variants
	parts := [][]byte{identity.bytes, variants.bytes}
	fds := []int{identity.fd, variants.fd}
	if fd, at, ok := c.Offset(c.Variants[Gzip].Body); !ok || fd != variants.fd || at != int64(len(c.Variants[Brotli].Body)) {
		t.Error("the variants are in no file")
	}
	if fd, at, ok := c.Offset(c.Bytes); !ok || fd != identity.fd || at != 0 {
		t.Error("the identity is in no file")
	}
	for _, part := range [][]byte{nil, c.Bytes[:0], []byte("other")} {
		if _, _, ok := c.Offset(part); ok {
			t.Errorf("%q is in a file", part)
		}
	}
	c.Acquire()
	c.Release()
	if !c.Alive() || !isMapped(parts[0]) || !isMapped(parts[1]) {
		t.Error("gone while somebody holds it")
	}
	c.Release()
	if c.Alive() || isMapped(parts[0]) || isMapped(parts[1]) {
		t.Error("still there when nobody holds it")
	}
	for _, fd := range fds {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
			t.Errorf("file %d: %v", fd, err)
		}
	}
	for _, misuse := range []func(){c.Release, c.Acquire} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("released or acquired although nobody holds it")
				}
			}()
			misuse()
		}()
	}
}
