package content

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// HasMemory reports whether there is memory for this many bytes more (K-104).
type HasMemory func(bytes int64) bool

// Await loads the content. If a signal comes first, there is neither content nor an error (K-13).
func Await(cfg *config.Config, hasMemory HasMemory, signals <-chan os.Signal) (c *Content, err error) {
	done := make(chan struct{})
	var loaded *Content
	var failed error
	go func() {
		loaded, failed = Load(cfg, hasMemory)
		close(done)
	}()
	select {
	case <-done:
		return loaded, failed
	case <-signals:
		return nil, nil
	}
}

// Load reads the content, and builds it.
func Load(cfg *config.Config, hasMemory HasMemory) (*Content, error) {
	source, err := read(cfg, hasMemory)
	if err != nil {
		return nil, err
	}
	return Make(source, cfg)
}

// Make builds the content of a source, which it takes over. An error has a line for each finding (K-92).
func Make(source Source, cfg *config.Config) (*Content, error) {
	if cfg.Preset == config.MTASTS {
		return publish(source, cfg)
	}
	c := Build(source, cfg, time.Now())
	if c.Plain {
		c.Warnings = append(c.Warnings, fmt.Sprintf("not compressed: %v", errNoMemory))
	}
	return c, nil
}

// read reads the whole content at the start. An error says what could not be read (K-11, K-12).
func read(cfg *config.Config, hasMemory HasMemory) (source Source, err error) {
	switch err = errNotRegular; {
	case cfg.Text != "":
		source, err = readAll(strings.NewReader(cfg.Text), int64(len(cfg.Text)), cfg, hasMemory)
		source.OneShot = true
	case cfg.File != "":
		source, err = readRegular(cfg, hasMemory)
	}
	if err == errNotRegular {
		source, err = readStream(cfg, hasMemory)
	}
	return source, unreadable(cfg, err)
}

// Again reads the file once more, for a reload (K-101). was is the current content.
func Again(cfg *config.Config, was *Content, hasMemory HasMemory) (source Source, err error) {
	if err = errOneShot; !was.OneShot {
		source, err = readRegular(cfg, hasMemory)
	}
	return source, unreadable(cfg, err)
}

// Look returns the digest of what Again would read, without taking memory for it (K-102).
func Look(cfg *config.Config, was *Content) (digest Digest, err error) {
	if err = errOneShot; !was.OneShot {
		digest, err = digestRegular(cfg)
	}
	return digest, unreadable(cfg, err)
}

// enough is the number of bytes that are read: of a policy that is too long, no more than is needed to see that.
func enough(cfg *config.Config) int64 {
	if cfg.Preset == config.MTASTS || cfg.Question != nil {
		return enoughPolicy
	}
	return math.MaxInt64
}

// forVariants returns the memory for the variants of content of this size, if it may have any, and for making them,
// which was seen to take 2 MB for 2 kB, 4 MB for 100 kB to 500 kB, and 6 MB for 1 MB.
func forVariants(size int64, cfg *config.Config) int64 {
	if mayHaveVariants(size, cfg) {
		return 4<<20 + 3*size
	}
	return 0
}

func unreadable(cfg *config.Config, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EISDIR):
		err = errDirectory
	case errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOSPC):
		err = errNoMemory
	case errors.Is(err, os.ErrDeadlineExceeded): // a file that makes its reader wait
		err = errNotRegular
	case err == errEmpty && isPiped(cfg):
		err = fmt.Errorf("%w (a container gets it with docker run -i)", err)
	}
	return fmt.Errorf("cannot read content from %s: %w", origin(cfg), Reason(err))
}

// origin is the source of the content, as errors name it.
func origin(cfg *config.Config) string {
	if cfg.File != "" {
		return `"` + name(cfg) + `"`
	}
	return name(cfg)
}

// fileName is the source as findings name it, like compilers.
func fileName(cfg *config.Config) string {
	if isPiped(cfg) {
		return "<stdin>"
	}
	return name(cfg)
}

// name is the source as events name it, a file's without quotes.
func name(cfg *config.Config) string {
	switch {
	case cfg.Text != "":
		return "--text"
	case cfg.File == "":
		return "standard input"
	}
	return config.Escaped(cfg.File)
}
