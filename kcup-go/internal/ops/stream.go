package ops

import (
	"bytes"
	"os"
	"time"
)

// Stream writes lines to a file without ever waiting for it: whoever reads our standard output or standard error
// may stop doing so, and serving goes on (K-20). Lines beyond what fits in between are lost.
type Stream struct {
	lines chan line
}

// line is what is written, or a mark without text that is closed when all before it has been.
type line struct {
	text    []byte
	written chan struct{}
}

const (
	streamLines   = 256
	settleTimeout = 200 * time.Millisecond
)

// NewStream starts writing to file.
func NewStream(file *os.File) *Stream {
	s := &Stream{make(chan line, streamLines)}
	go func() {
		for line := range s.lines {
			if line.written != nil {
				close(line.written)
				continue
			}
			_, _ = file.Write(line.text) // there is nowhere left to say that it failed
		}
	}()
	return s
}

// Write takes a line, or drops it.
func (s *Stream) Write(text []byte) (int, error) {
	select {
	case s.lines <- line{text: bytes.Clone(text)}:
	default:
	}
	return len(text), nil
}

// Written is closed when all that was taken so far has been written.
func (s *Stream) Written() <-chan struct{} {
	mark := line{written: make(chan struct{})}
	s.lines <- mark
	return mark.written
}

// Settle waits until what was taken is written, unless nobody reads it.
func (s *Stream) Settle() {
	mark := line{written: make(chan struct{})}
	timeout := time.After(settleTimeout)
	select {
	case s.lines <- mark:
	case <-timeout:
		return
	}
	select {
	case <-mark.written:
	case <-timeout:
	}
}
