package content

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// A file that changes while it is read is read again this often, at these intervals (K-103).
const (
	rereads     = 10
	rereadPause = 100 * time.Millisecond
)

// freshTime is the time after which a write counts as finished: it sets the file's time only when it begins.
const freshTime = 2 * time.Second

// readRegular reads a regular file.
func readRegular(cfg *config.Config, hasMemory HasMemory) (source Source, err error) {
	err = stable(cfg.File, func(from io.Reader, info fs.FileInfo) (err error) {
		source.Release() // what was read before the file changed
		source, err = readAll(from, info.Size(), cfg, hasMemory)
		source.Name, source.Modified = cfg.File, info.ModTime()
		return err
	})
	if err != nil {
		source.Release()
		return Source{}, err
	}
	return source, nil
}

// digestRegular returns the digest of what readRegular would read.
func digestRegular(cfg *config.Config) (digest Digest, err error) {
	err = stable(cfg.File, func(from io.Reader, info fs.FileInfo) error {
		hash, most := sha256.New(), cfg.MaxContent
		if info.Size() > most {
			return errTooLarge(most)
		}
		n, err := io.Copy(hash, io.LimitReader(from, min(enough(cfg), most+1)))
		switch {
		case err != nil:
			return err
		case n > most:
			return errTooLarge(most)
		case n == 0:
			return errEmpty
		}
		digest = Digest(hash.Sum(nil))
		return nil
	})
	return digest, err
}

// stable reads a regular file until it does not change while it is read.
func stable(name string, read func(io.Reader, fs.FileInfo) error) error {
	for attempt := 0; ; attempt++ {
		if steady, err := readOnce(name, read); steady || err != nil {
			return err
		}
		if attempt == rereads {
			return errChanging
		}
		time.Sleep(rereadPause)
	}
}

// readOnce does not follow a file that grows beyond the end it had. It returns no error for a file that changed while
// it was read, and may have been empty for a moment.
func readOnce(name string, read func(io.Reader, fs.FileInfo) error) (steady bool, err error) {
	file, before, err := openRegular(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	end := int64(math.MaxInt64)
	if before.Size() > 0 { // files in /proc report 0 and have more
		end = before.Size() + 1
	}
	from, seen, fresh := &io.LimitedReader{R: regular{file}, N: end}, sha256.New(), isFresh(before)
	if fresh {
		err = read(io.TeeReader(from, seen), before)
	} else {
		err = read(from, before)
	}
	if err != nil && err != errEmpty {
		return false, err
	}
	after, failed := file.Stat()
	if failed != nil {
		return false, failed
	}
	if !isSame(before, after) || from.N == 0 || fresh && !isStill(file, end-from.N, seen) {
		return false, nil
	}
	return true, err
}

// regular is a file that claims to be regular.
type regular struct{ file *os.File }

// Read waits for at most a second: a file that makes its reader wait has no end, like /proc/kmsg.
func (r regular) Read(b []byte) (int, error) {
	_ = r.file.SetReadDeadline(time.Now().Add(time.Second)) // most files have no deadlines
	return r.file.Read(b)
}

// openRegular checks the file before it opens it, so that a FIFO's writer does not mistake us for a reader, and again
// after.
func openRegular(name string) (file *os.File, info fs.FileInfo, err error) {
	if info, err = os.Stat(name); err == nil {
		err = isRegular(info)
	}
	if err != nil {
		return nil, nil, err
	}
	if file, err = os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = isRegular(info)
	}
	if err != nil {
		file.Close()
	}
	return file, info, err
}

func isRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errDirectory
	case !info.Mode().IsRegular():
		return errNotRegular
	}
	return nil
}

// isFresh reports whether a write may be in progress that changes nothing but the bytes. A file without a size is the
// kernel's own.
func isFresh(info fs.FileInfo) bool { return info.Size() > 0 && time.Since(info.ModTime()) < freshTime }

// isStill reports whether the first length bytes are those of hash.
func isStill(file io.ReaderAt, length int64, hash hash.Hash) bool {
	now := sha256.New()
	_, err := io.Copy(now, io.NewSectionReader(file, 0, length))
	return err == nil && bytes.Equal(now.Sum(nil), hash.Sum(nil))
}

// isSame compares the properties that a write changes.
func isSame(before, after fs.FileInfo) bool {
	a, b := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	return a.Size == b.Size && a.Mtim == b.Mtim && a.Ctim == b.Ctim
}
