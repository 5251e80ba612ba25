package content

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// sharedContent is content in a file, with variants.
func sharedContent(t *testing.T, text string) *Content {
	cfg := &config.Config{MaxContent: 1 << 20, Compression: true}
	source, err := readAll(strings.NewReader(text), int64(len(text)), cfg, 1<<20, always)
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

// With -race: who gets content may read it until it is released, whoever replaces it meanwhile.
func TestContentIsThereForWhoGotIt(t *testing.T) {
	var current Current
	current.Replace(sharedContent(t, strings.Repeat("0 text ", 100)))
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c := current.Get()
				if !bytes.HasSuffix(c.Bytes, []byte(" text ")) || c.Bytes[0] != c.Bytes[7] {
					t.Error("not of one content")
				}
				if _, _, ok := c.Offset(c.Bytes); !ok {
					t.Error("its file is gone")
				}
				c.Release()
			}
		})
	}
	var old []*Content
	for n := range 50 {
		old = append(old, current.Replace(sharedContent(t, strings.Repeat(string(rune('0'+n%10))+" text ", 100))))
	}
	close(stop)
	readers.Wait()
	for _, c := range old {
		if c.Alive() {
			t.Error("still there when nobody holds it")
		}
	}
	current.Peek().Release()
}
