package content

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// readStream reads standard input, or a file that is not a regular one, and gives up on one that may never end. Its
// goroutine is left behind, since the process ends then.
func readStream(cfg *config.Config, hasMemory HasMemory) (source Source, err error) {
	done := make(chan struct{})
	var read Source
	var failed error
	go func() {
		read, failed = readToEnd(cfg, hasMemory)
		close(done)
	}()
	select {
	case <-done:
		read.Name, read.OneShot = cfg.File, true
		return read, failed
	case <-time.After(cfg.StdinTimeout):
		return source, fmt.Errorf("not at its end after %s (raise --stdin-read-timeout-seconds)",
			Counted(int64(cfg.StdinTimeout/time.Second), "second"))
	}
}

// Prompt returns what to tell somebody who may not know that kcup waits for input from the terminal (K-12a), if so.
func Prompt(cfg *config.Config) string {
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil || !isPiped(cfg) {
		return ""
	}
	return "reading standard input, a terminal: end it with Ctrl-D on a line of its own"
}

// isPiped reports whether the content is that of standard input.
func isPiped(cfg *config.Config) bool { return cfg.File == "" && cfg.Text == "" }

func readToEnd(cfg *config.Config, hasMemory HasMemory) (source Source, err error) {
	file := os.Stdin
	if cfg.File != "" {
		if file, err = os.Open(cfg.File); err != nil { // this waits for a FIFO's writer
			return source, err
		}
		defer file.Close()
	}
	info, err := file.Stat()
	if err != nil {
		return source, err
	}
	size := int64(0)
	if position, err := file.Seek(0, io.SeekCurrent); err == nil && info.Mode().IsRegular() {
		size = max(info.Size()-position, 0) // another process may have read its beginning
	}
	return readAll(file, size, cfg, hasMemory)
}

// readAll reads to the end, or until there is enough. The size is a hint: memory for that many bytes is requested
// before they are read, for more when they have come.
func readAll(from io.Reader, size int64, cfg *config.Config, hasMemory HasMemory) (source Source, err error) {
	if size > cfg.MaxContent {
		return source, errTooLarge(cfg.MaxContent)
	}
	size = min(size, enough(cfg))
	plain := size > 0 && !hasMemory(size+forVariants(size, cfg))
	if plain && (forVariants(size, cfg) == 0 || !hasMemory(size)) {
		return source, errNoMemory
	}
	into, err := newFilling()
	if err != nil {
		return source, err
	}
	_, err = io.Copy(&limited{into, size, cfg.MaxContent, hasMemory}, io.LimitReader(from, enough(cfg)))
	if err == nil && into.length == 0 {
		err = errEmpty
	}
	if err != nil {
		into.abandon()
		return source, err
	}
	shared, err := into.seal()
	if err != nil {
		return source, err
	}
	if length := into.length; length > size {
		plain = mayHaveVariants(length, cfg) && !hasMemory(forVariants(length, cfg))
	}
	return Source{Bytes: shared.bytes, Shared: shared, Plain: plain}, nil
}

// limited fills a file in memory within the limits. Memory for the first granted bytes was requested before.
type limited struct {
	*filling
	granted, most int64
	hasMemory     HasMemory
}

// Write is for io.Copy.
func (l *limited) Write(b []byte) (int, error) {
	switch length := l.length + int64(len(b)); {
	case length > l.most:
		return 0, errTooLarge(l.most)
	case length > l.granted && !l.hasMemory(int64(len(b))):
		return 0, errNoMemory
	}
	return l.filling.Write(b)
}
