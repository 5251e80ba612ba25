package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"kcup/config"
)

// Await loads unless a signal comes first; then there is neither content nor an error (K-13).
func Await(cfg *config.Config, signals <-chan os.Signal, log *logrus.Logger) (*Content, error) {
	type result struct {
		loaded *Content
		err    error
	}
	done := make(chan result, 1)
	go func() {
		loaded, err := Load(cfg, log)
		done <- result{loaded, err}
	}()
	select {
	case r := <-done:
		return r.loaded, r.err
	case <-signals:
		return nil, nil
	}
}

// Load reads the content, and makes of it what is served.
func Load(cfg *config.Config, log *logrus.Logger) (*Content, error) {
	source, err := read(cfg, enoughOf(cfg))
	if err != nil {
		return nil, err
	}
	return Make(source, cfg, log)
}

// enoughOf is how many bytes of the file are looked at: of a policy that is too long no more than shows that it is.
func enoughOf(cfg *config.Config) int64 {
	if cfg.Preset == config.MTASTS {
		return enough
	}
	return math.MaxInt64
}

// Make makes what is served of what was read. An error has a line for each finding (K-92).
func Make(source Source, cfg *config.Config, log *logrus.Logger) (*Content, error) {
	if cfg.Preset != config.MTASTS {
		return Build(source, cfg, time.Now()), nil
	}
	read := source.Digest()
	served, err := publish(source.Bytes, cfg, log)
	runtime.KeepAlive(source.Shared)
	if err != nil {
		return nil, err
	}
	source.Bytes, source.Shared = served, nil
	c := Build(source, cfg, time.Now())
	c.Read = read
	return c, nil
}

// Again reads the file once more, for a reload (K-101). was is what is served; room is how many bytes more of memory
// can be had (K-104).
func Again(cfg *config.Config, was *Content, room func() int64) (Source, error) {
	return reread(cfg, was, func(from io.Reader, info fs.FileInfo) (Source, error) {
		enough := enoughOf(cfg)
		return readRegular(cfg.File, io.LimitReader(from, enough), info, cfg.MaxContent, func(size int64) bool {
			size = min(size, enough)
			if needed(size, cfg) <= room() {
				return true
			}
			debug.FreeOSMemory() // of an earlier attempt, say
			return needed(size, cfg) <= room()
		})
	})
}

// Look returns the digest of what Again would read, and takes no memory for it (K-102).
func Look(cfg *config.Config, was *Content) (Digest, error) {
	return reread(cfg, was, func(from io.Reader, info fs.FileInfo) (Digest, error) {
		return digestOf(io.LimitReader(from, enoughOf(cfg)), info.Size(), cfg.MaxContent)
	})
}

// reread reads a regular file, and neither one that was none at the start nor standard input.
func reread[T any](cfg *config.Config, was *Content, read func(io.Reader, fs.FileInfo) (T, error)) (got T, err error) {
	if was.Once {
		return got, unreadable(cfg, errOnce)
	}
	if got, err = stable(cfg.File, read); err != nil {
		err = unreadable(cfg, err)
	}
	return got, err
}

// needed is what content takes, and what making its variants takes if it may have any. These are no larger than the
// content; both compressors together were seen to take 2 MB for 2 kB, 11 MB for 100 kB and 19 MB for 1 MB.
func needed(size int64, cfg *config.Config) int64 {
	if cfg.Compression && size >= minCompressed && size <= maxCompressed {
		return 12<<20 + 8*size
	}
	return size
}

// read reads as at the start: once, whole, or until there is enough. It says what it was doing when it fails (K-11, K-12).
func read(cfg *config.Config, enough int64) (Source, error) {
	source, err := readWhole(cfg, enough)
	if err != nil {
		err = unreadable(cfg, err)
	}
	return source, err
}

func readWhole(cfg *config.Config, enough int64) (Source, error) {
	if cfg.File == "" {
		return within(cfg, func() (Source, error) { return readStream(os.Stdin, cfg.MaxContent, enough) })
	}
	info, err := os.Stat(cfg.File)
	if err != nil {
		return Source{}, err
	}
	if info.IsDir() || info.Mode().IsRegular() {
		return stable(cfg.File, func(from io.Reader, info fs.FileInfo) (Source, error) {
			return readRegular(cfg.File, io.LimitReader(from, enough), info, cfg.MaxContent, func(int64) bool { return true })
		})
	}
	// A FIFO that nobody writes to is waited for in its open already.
	return within(cfg, func() (Source, error) {
		file, err := os.Open(cfg.File)
		if err != nil {
			return Source{}, err
		}
		defer file.Close()
		return readStream(file, cfg.MaxContent, enough)
	})
}

// within gives up on a reader that may never come to its end. The reader is left behind: what follows is the end
// of the process.
func within(cfg *config.Config, read func() (Source, error)) (Source, error) {
	type result struct {
		source Source
		err    error
	}
	done := make(chan result, 1)
	go func() {
		source, err := read()
		source.Name, source.Once = cfg.File, true
		done <- result{source, err}
	}()
	select {
	case r := <-done:
		return r.source, r.err
	case <-time.After(cfg.StdinTimeout):
		return Source{}, fmt.Errorf("not at its end after %d seconds (raise --stdin-read-timeout-seconds)", cfg.StdinTimeout/time.Second)
	}
}

func unreadable(cfg *config.Config, err error) error {
	return fmt.Errorf("cannot read content from %s: %w", origin(cfg), reason(err))
}

// origin is where content comes from, as errors call it.
func origin(cfg *config.Config) string {
	if cfg.File == "" {
		return "standard input"
	}
	return fmt.Sprintf("%q", cfg.File)
}

// reason words what the system says (K-11).
func reason(err error) error {
	var number syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied")
	case errors.Is(err, syscall.EISDIR):
		return errDirectory
	case errors.As(err, &number):
		return number
	}
	return err
}
