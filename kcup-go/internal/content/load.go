package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// Room says whether there is memory for so many bytes more (K-104).
type Room func(bytes int64) bool

// Await loads unless a signal comes first; then there is neither content nor an error (K-13).
func Await(cfg *config.Config, room Room, signals <-chan os.Signal, log *logrus.Logger) (*Content, error) {
	type result struct {
		loaded *Content
		err    error
	}
	done := make(chan result, 1)
	go func() {
		loaded, err := Load(cfg, room, log)
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
func Load(cfg *config.Config, room Room, log *logrus.Logger) (*Content, error) {
	source, err := read(cfg, enoughOf(cfg), room)
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

// Make makes what is served of what was read, and takes that over. An error has a line for each finding (K-92).
func Make(source Source, cfg *config.Config, log *logrus.Logger) (*Content, error) {
	if cfg.Preset != config.MTASTS {
		c := Build(source, cfg, time.Now())
		if c.Plain {
			log.Warnf("not compressed: %v", errNoMemory)
		}
		return c, nil
	}
	defer source.Release()
	digest := source.Digest()
	served, err := publish(source.Bytes, cfg, log)
	if err != nil {
		return nil, err
	}
	source.Bytes, source.Shared = served, nil
	c := Build(source, cfg, time.Now())
	c.SourceDigest = digest
	return c, nil
}

// Again reads the file once more, for a reload (K-101). was is what is served.
func Again(cfg *config.Config, was *Content, room Room) (Source, error) {
	return reread(cfg, was, func(from io.Reader, info fs.FileInfo) (Source, error) {
		return readRegular(cfg, from, info, enoughOf(cfg), room)
	})
}

// Look returns the digest of what Again would read, and takes no memory for it (K-102).
func Look(cfg *config.Config, was *Content) (Digest, error) {
	return reread(cfg, was, func(from io.Reader, info fs.FileInfo) (Digest, error) {
		return digestOf(io.LimitReader(from, enoughOf(cfg)), info.Size(), cfg.MaxContent)
	})
}

// reread reads a regular file, and neither one that was none at the start nor standard input.
func reread[T interface{ Release() }](cfg *config.Config, was *Content, read func(io.Reader, fs.FileInfo) (T, error)) (got T, err error) {
	if was.OneShot {
		return got, unreadable(cfg, errOnce)
	}
	if got, err = stable(cfg.File, read); err != nil {
		err = unreadable(cfg, err)
	}
	return got, err
}

// forVariants is what variants take, and what making them does, if content of this size may have any: 2 MB were seen for
// 2 kB, 4 MB for 100 kB to 500 kB, and 6 MB for 1 MB.
func forVariants(size int64, cfg *config.Config) int64 {
	if mayHaveVariants(size, cfg) {
		return 4<<20 + 3*size
	}
	return 0
}

// read reads as at the start: once, whole, or until there is enough. It says what it was doing when it fails (K-11, K-12).
func read(cfg *config.Config, enough int64, room Room) (Source, error) {
	source, err := readWhole(cfg, enough, room)
	if err != nil {
		err = unreadable(cfg, err)
	}
	return source, err
}

func readWhole(cfg *config.Config, enough int64, room Room) (Source, error) {
	if cfg.File == "" {
		return within(cfg, func() (Source, error) { return readStream(os.Stdin, cfg, enough, room) })
	}
	info, err := os.Stat(cfg.File)
	if err != nil {
		return Source{}, err
	}
	if info.IsDir() || info.Mode().IsRegular() {
		return stable(cfg.File, func(from io.Reader, info fs.FileInfo) (Source, error) {
			return readRegular(cfg, from, info, enough, room)
		})
	}
	// A FIFO that nobody writes to is waited for in its open already.
	return within(cfg, func() (Source, error) {
		file, err := os.Open(cfg.File)
		if err != nil {
			return Source{}, err
		}
		defer file.Close()
		return readStream(file, cfg, enough, room)
	})
}

func readRegular(cfg *config.Config, from io.Reader, info fs.FileInfo, enough int64, room Room) (Source, error) {
	source, err := readAll(from, info.Size(), cfg, enough, room)
	source.Name, source.Modified = cfg.File, info.ModTime()
	return source, err
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
		source.Name, source.OneShot = cfg.File, true
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

// reason is why there is no content (K-11).
func reason(err error) error {
	switch {
	case errors.Is(err, syscall.EISDIR):
		return errDirectory
	case errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOSPC):
		return errNoMemory
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errNotRegular
	}
	return Reason(err)
}
