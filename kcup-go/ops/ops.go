// Package ops owns what is around the server: diagnostics, and signals.
// It must not be needed for serving.
// Its sibling is kcup-rust/src/ops/mod.rs.
package ops

import (
	"bytes"
	"os"
	"time"
)

// Stream writes lines to a file without ever waiting for it: whoever reads our standard output or standard error
// may stop doing so, and serving goes on (K-20). Lines beyond what fits in between are lost.
type Stream struct {
	lines chan []byte
	done  chan struct{}
}

const (
	streamLines   = 256
	flushPatience = 200 * time.Millisecond
)

// NewStream starts writing to file.
func NewStream(file *os.File) *Stream {
	s := &Stream{make(chan []byte, streamLines), make(chan struct{})}
	go func() {
		for line := range s.lines {
			_, _ = file.Write(line) // there is nowhere left to say that it failed
		}
		close(s.done)
	}()
	return s
}

// Write takes a line, or drops it.
func (s *Stream) Write(line []byte) (int, error) {
	select {
	case s.lines <- bytes.Clone(line):
	default:
	}
	return len(line), nil
}

// Flush ends the stream: what was taken is written, unless nobody reads it.
func (s *Stream) Flush() {
	close(s.lines)
	select {
	case <-s.done:
	case <-time.After(flushPatience):
	}
}
