package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"kcup/config"
)

var (
	errDirectory = errors.New("it is a directory (Docker creates one when the source of a mount is missing)")
	errEmpty     = errors.New("it is empty")
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

// Load reads the content, and makes of it what the preset asks for.
func Load(cfg *config.Config, log *logrus.Logger) (*Content, error) {
	source, err := read(cfg)
	if err == nil && cfg.Preset == config.MTASTS {
		source.Bytes, err = publish(source.Bytes, cfg, log)
	}
	if err != nil {
		return nil, err
	}
	return Build(*source, cfg, time.Now()), nil
}

// read reads once, whole. It says what it was doing when it fails (K-11, K-12).
func read(cfg *config.Config) (*Source, error) {
	source, err := readWhole(cfg)
	if err == nil && len(source.Bytes) == 0 {
		err = errEmpty
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read content from %s: %w", origin(cfg), reason(err))
	}
	return &source, nil
}

// origin is where content comes from, as errors call it.
func origin(cfg *config.Config) string {
	if cfg.File == "" {
		return "standard input"
	}
	return fmt.Sprintf("%q", cfg.File)
}

func readWhole(cfg *config.Config) (Source, error) {
	if cfg.File == "" {
		return within(cfg, func() (Source, error) { return readAll(os.Stdin, cfg.MaxContent) })
	}
	info, err := os.Stat(cfg.File)
	if err != nil {
		return Source{}, err
	}
	open := func() (Source, error) {
		file, err := os.Open(cfg.File)
		if err != nil {
			return Source{}, err
		}
		defer file.Close()
		source, err := readAll(file, cfg.MaxContent)
		source.Name = cfg.File
		return source, err
	}
	switch {
	case info.IsDir():
		return Source{}, errDirectory
	case info.Mode().IsRegular():
		return open()
	}
	// A FIFO that nobody writes to is waited for in its open already.
	return within(cfg, open)
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
		source.Modified = time.Time{}
		done <- result{source, err}
	}()
	select {
	case r := <-done:
		return r.source, r.err
	case <-time.After(cfg.StdinTimeout):
		return Source{}, fmt.Errorf("not at its end after %d seconds (raise --stdin-read-timeout-seconds)", cfg.StdinTimeout/time.Second)
	}
}

func readAll(file *os.File, most int64) (Source, error) {
	tooLarge := fmt.Errorf("it is larger than %d bytes (raise --max-content-bytes)", most)
	info, err := file.Stat()
	if err != nil {
		return Source{}, err
	}
	size := int64(4096)
	if info.Mode().IsRegular() {
		if info.Size() > most {
			return Source{}, tooLarge
		}
		// One more, so that the end is seen without growing. Files in /proc say 0 and have more.
		size = max(size, info.Size()+1)
	}
	b := make([]byte, 0, size)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := file.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if int64(len(b)) > most {
			return Source{}, tooLarge
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return Source{}, err
		}
	}
	return Source{Bytes: b[:len(b):len(b)], Modified: info.ModTime()}, nil
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
