// Reading one file, or a stream; a part of load.go.

package content

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

var (
	errDirectory  = errors.New("it is a directory (Docker creates one when the source of a mount is missing)")
	errNotRegular = errors.New("it is not a regular file")
	errOnce       = errors.New("it can be read only once")
	errEmpty      = errors.New("it is empty")
	errChanging   = errors.New("it keeps changing while it is read")
	errNoMemory   = errors.New("there is not enough memory for it")
)

func errTooLarge(most int64) error {
	return fmt.Errorf("it is larger than %d bytes (raise --max-content-bytes)", most)
}

// A file that changes while it is read is read again so often, and so much later (K-103).
const (
	rereads     = 10
	rereadPause = 100 * time.Millisecond
)

// freshTime is how long ago a write must have begun to be taken for over: it sets the file's time then, and only then.
const freshTime = 2 * time.Second

// readSize is how many bytes are read at once.
const readSize = 64 << 10

// stable reads a regular file until it did not change meanwhile. What was read in vain is released.
func stable[T interface{ Release() }](name string, read func(io.Reader, fs.FileInfo) (T, error)) (got T, err error) {
	for attempt := 0; ; attempt++ {
		var steady bool
		if got, steady, err = readOnce(name, read); err != nil || steady {
			return got, err
		}
		got.Release()
		if attempt == rereads {
			return got, errChanging
		}
		time.Sleep(rereadPause)
	}
}

// readOnce reads no further than the end that there was: a file that grows could lead on for ever.
func readOnce[T interface{ Release() }](name string, read func(io.Reader, fs.FileInfo) (T, error)) (got T, steady bool, err error) {
	file, before, err := openRegular(name)
	if err != nil {
		return got, false, err
	}
	defer file.Close()
	end := int64(math.MaxInt64)
	if before.Size() > 0 { // files in /proc say 0 and have more
		end = before.Size() + 1
	}
	from, seen, fresh := &io.LimitedReader{R: regular{file}, N: end}, sha256.New(), isFresh(before)
	if fresh {
		got, err = read(io.TeeReader(from, seen), before)
	} else {
		got, err = read(from, before)
	}
	if err != nil && err != errEmpty {
		return got, false, err
	}
	steady = !fresh || isStill(file, end-from.N, seen)
	after, err2 := file.Stat()
	if err2 != nil {
		got.Release()
		return got, false, err2
	}
	if steady = steady && isSame(before, after) && from.N > 0; !steady {
		err = nil
	}
	return got, steady, err
}

// regular is a file that says it is a regular one.
type regular struct{ *os.File }

// Read waits for a second and no longer: what makes its reader wait has no end, like /proc/kmsg.
func (r regular) Read(b []byte) (int, error) {
	_ = r.SetReadDeadline(time.Now().Add(time.Second)) // most files have none
	return r.File.Read(b)
}

// openRegular looks before it opens, so that a FIFO's writer is not led to believe in a reader, and again at what it
// has opened.
func openRegular(name string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(name)
	if err == nil {
		err = isRegular(info)
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
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

// isFresh says whether a write may be under way that shows in nothing but the bytes. A file that says it has none is the
// kernel's.
func isFresh(info fs.FileInfo) bool { return info.Size() > 0 && time.Since(info.ModTime()) < freshTime }

// isStill says whether the first length bytes are those of hash.
func isStill(file io.ReaderAt, length int64, hash hash.Hash) bool {
	now := sha256.New()
	_, err := io.Copy(now, io.NewSectionReader(file, 0, length))
	return err == nil && bytes.Equal(now.Sum(nil), hash.Sum(nil))
}

// isSame compares what a write changes.
func isSame(before, after fs.FileInfo) bool {
	a, b := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	return a.Size == b.Size && a.Mtim == b.Mtim && a.Ctim == b.Ctim
}

func readStream(file *os.File, cfg *config.Config, enough int64, room Room) (Source, error) {
	info, err := file.Stat()
	if err != nil {
		return Source{}, err
	}
	size := int64(0)
	if position, err := file.Seek(0, io.SeekCurrent); err == nil && info.Mode().IsRegular() {
		size = max(info.Size()-position, 0) // its beginning may have been read by somebody else
	}
	return readAll(file, size, cfg, enough, room)
}

// readAll reads to the end, or until there is enough. The size is a hint: for so many bytes room is asked before they are
// read, for others when they have come.
func readAll(from io.Reader, size int64, cfg *config.Config, enough int64, room Room) (source Source, err error) {
	if size > cfg.MaxContent {
		return source, errTooLarge(cfg.MaxContent)
	}
	size = min(size, enough)
	plain := size > 0 && !room(size+forVariants(size, cfg))
	if plain && (forVariants(size, cfg) == 0 || !room(size)) {
		return source, errNoMemory
	}
	into, err := newFilling()
	if err != nil {
		return source, err
	}
	if err = fill(into, io.LimitReader(from, enough), size, cfg.MaxContent, room); err != nil {
		into.abandon()
		return source, err
	}
	shared, err := into.seal()
	if err != nil {
		return source, err
	}
	if length := into.length; length > size {
		plain = mayHaveVariants(length, cfg) && !room(forVariants(length, cfg))
	}
	return Source{Bytes: shared.bytes, Shared: shared, Plain: plain}, nil
}

func fill(into *filling, from io.Reader, size, most int64, room Room) error {
	for buffer := make([]byte, readSize); ; {
		n, err := from.Read(buffer)
		switch length := into.length + int64(n); {
		case length > most:
			return errTooLarge(most)
		case length > size && n > 0 && !room(int64(n)):
			return errNoMemory
		}
		if _, full := into.Write(buffer[:n]); full != nil {
			return full
		}
		switch {
		case err == io.EOF && into.length == 0:
			return errEmpty
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// digestOf is that of what readAll would read.
func digestOf(from io.Reader, size, most int64) (digest Digest, err error) {
	hash := sha256.New()
	n := int64(0)
	if size <= most {
		n, err = io.Copy(hash, io.LimitReader(from, most+1))
	}
	switch {
	case err != nil:
	case size > most || n > most:
		err = errTooLarge(most)
	case n == 0:
		err = errEmpty
	}
	return Digest(hash.Sum(nil)), err
}
