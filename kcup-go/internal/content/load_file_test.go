package content

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

func newFile(t *testing.T, text string) string {
	name := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// status is what the kernel says of a file.
type status struct {
	fs.FileInfo
	stat syscall.Stat_t
}

func (s status) Sys() any           { return &s.stat }
func (s status) Size() int64        { return s.stat.Size }
func (s status) ModTime() time.Time { return time.Unix(s.stat.Mtim.Unix()) }

func TestAChangeIsSeenInTheSizeAndInBothTimes(t *testing.T) {
	for i, c := range []struct {
		change func(s *syscall.Stat_t)
		same   bool
	}{
		{func(s *syscall.Stat_t) { s.Atim.Sec++ }, true},
		{func(s *syscall.Stat_t) { s.Size++ }, false}, {func(s *syscall.Stat_t) { s.Mtim.Nsec++ }, false}, {func(s *syscall.Stat_t) { s.Ctim.Nsec++ }, false},
	} {
		after := status{}
		if c.change(&after.stat); isSame(status{}, after) != c.same {
			t.Errorf("%d: %v", i, !c.same)
		}
	}
}

func TestAFileOfTheKernelIsNeverFresh(t *testing.T) {
	now := time.Now().Unix()
	for i, c := range []struct {
		size, modified int64
		want           bool
	}{{1, now + 3600, true}, {0, now + 3600, false}, {1, now - 3, false}} {
		if got := isFresh(status{stat: syscall.Stat_t{Size: c.size, Mtim: unixTime(c.modified)}}); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

func unixTime(seconds int64) syscall.Timespec { return syscall.NsecToTimespec(seconds * 1e9) }

// K-103: of a file that was written just now the bytes count, of another its times.
func TestAFreshFileIsReadTwice(t *testing.T) {
	for _, c := range []struct {
		age   time.Duration
		reads int
	}{{-time.Hour, 2}, {time.Hour, 1}} {
		// Of a file in memory only the first write to a mapping changes a time, as long as its page stays.
		fd, err := unix.MemfdCreate("a", unix.MFD_CLOEXEC)
		if err == nil {
			_, err = unix.Write(fd, []byte("some text"))
		}
		if err != nil {
			t.Fatal(err)
		}
		mapped, err := unix.Mmap(fd, 0, 9, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		name, when := fmt.Sprintf("/proc/self/fd/%d", fd), time.Now().Add(-c.age)
		if err == nil {
			err = unix.Mlock(mapped)
			mapped[0] = 'S'
		}
		if err == nil {
			err = os.Chtimes(name, when, when)
		}
		if err != nil {
			t.Fatal(err)
		}
		reads, last := 0, []byte(nil)
		err = stable(name, func(from io.Reader, _ fs.FileInfo) (err error) {
			last, err = io.ReadAll(from)
			if reads++; reads == 1 {
				mapped[8] = 'T'
			}
			return err
		})
		if reads != c.reads || err != nil || c.reads == 2 && string(last) != "Some texT" {
			t.Errorf("%v old: %d times, %q, %v", c.age, reads, last, err)
		}
		_, _ = unix.Munmap(mapped), unix.Close(fd)
	}
}

func TestAFileThatWasEmptyForAMomentIsReadAgain(t *testing.T) {
	name, reads, began := newFile(t, ""), 0, time.Now()
	err := stable(name, func(io.Reader, fs.FileInfo) error {
		if reads++; reads == 1 && os.WriteFile(name, []byte("x"), 0o600) == nil {
			return errEmpty
		}
		return nil
	})
	if reads != 2 || err != nil || time.Since(began) < rereadPause {
		t.Error(reads, err)
	}
}

// A file of the kernel says that it has no bytes, and this one has others each time.
func TestAFileOfTheKernelIsReadOnceAndWhole(t *testing.T) {
	const name, length = "/proc/sys/kernel/random/uuid", 37
	reads, read := 0, []byte(nil)
	err := stable(name, func(from io.Reader, _ fs.FileInfo) (err error) {
		reads++
		read, err = io.ReadAll(from)
		return err
	})
	if reads != 1 || len(read) != length || err != nil {
		t.Errorf("%d times, %q, %v", reads, read, err)
	}
}

func TestTheLargestAllowedAndOneByteMore(t *testing.T) {
	const uuid = "/proc/sys/kernel/random/uuid" // of 37 bytes, and says 0
	for _, name := range []string{newFile(t, string(bytes.Repeat([]byte("x"), 37))), uuid} {
		for most, want := range map[int64]string{37: "", 36: errTooLarge(36).Error()} {
			cfg := &config.Config{File: name, MaxContent: most}
			source, err := readRegular(cfg, always)
			if _, err2 := digestRegular(cfg); (err == nil) != (want == "") || err != nil && (err.Error() != want || err2 == nil || err2.Error() != want) {
				t.Errorf("%d of %s: %v, %v", most, name, err, err2)
			} else if err == nil && err2 != nil {
				t.Error(err2)
			}
			source.Release()
		}
	}
	if _, err := digestRegular(&config.Config{File: newFile(t, ""), MaxContent: 1}); err != errEmpty {
		t.Error(err)
	}
}

// A FIFO's writer would take it for a reader (K-101).
func TestWhatIsNoRegularFileIsNotOpened(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err == nil {
		defer unix.Close(watch)
		_, err = unix.InotifyAddWatch(watch, name, unix.IN_OPEN)
	}
	if err != nil {
		t.Skip("no inotify: ", err)
	}
	if _, _, err := openRegular(name); err != errNotRegular {
		t.Error(err)
	}
	if n, _ := unix.Read(watch, make([]byte, 4096)); n > 0 {
		t.Error("it was opened")
	}
}
