package accesslog

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Stream writes lines to standard output or standard error without ever waiting for it: a reader that stops reading
// does not stop serving (K-20, K-127). Lines that do not fit into its queue are lost.
type Stream struct {
	out     io.Writer
	batches chan batch
	spare   chan []byte
	mutex   sync.Mutex
	last    []batch // written by Flush
}

// batch is some lines, or a mark without lines that is closed when all lines before it have been written.
type batch struct {
	text    []byte
	lost    *atomic.Uint64 // counts the lines that were not accepted; may be nil
	written chan struct{}
}

// NewStream makes a stream to out, for which this many batches may wait.
func NewStream(out io.Writer, waiting int) *Stream {
	return &Stream{out: out, batches: make(chan batch, waiting), spare: make(chan []byte, waiting)}
}

// Start begins to write: first this text, then what has been accepted so far.
func (s *Stream) Start(first string) {
	go func() {
		w := writer{out: s.out}
		w.write([]byte(first))
		for b := range s.batches {
			if b.written != nil {
				close(b.written)
				continue
			}
			b.lose(w.write(b.text))
			if cap(b.text) >= batchSize {
				select {
				case s.spare <- b.text[:0]:
				default:
				}
			}
		}
	}()
}

func (b *batch) lose(lines int) {
	if b.lost != nil {
		b.lost.Add(uint64(lines))
	}
}

// Write accepts a line, or drops it.
func (s *Stream) Write(text []byte) (int, error) {
	s.offer(batch{text: bytes.Clone(text)})
	return len(text), nil
}

// offer reports whether the stream has accepted a batch. Otherwise its lines are lost.
func (s *Stream) offer(b batch) (taken bool) {
	select {
	case s.batches <- b:
		return true
	default:
		b.lose(bytes.Count(b.text, newline))
		return false
	}
}

// keep accepts a last batch, which Flush waits for.
func (s *Stream) keep(b batch) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.last = append(s.last, b)
}

// Flush waits until everything accepted has been written, for at most this long.
func (s *Stream) Flush(most time.Duration) {
	written := make(chan struct{})
	s.mutex.Lock()
	due := append(s.last, batch{written: written})
	s.last = nil
	s.mutex.Unlock()
	go func() {
		for _, b := range due {
			s.batches <- b
		}
	}()
	select {
	case <-written:
	case <-time.After(most):
	}
}

// buffer returns an empty buffer for a batch.
func (s *Stream) buffer() []byte {
	select {
	case text := <-s.spare:
		return text
	default:
		return make([]byte, 0, batchSize+longLine)
	}
}

// pieceSize is PIPE_BUF, in bytes: a pipe accepts this much whole or not at all, so that no half line is left in it if
// the process ends while it waits for a reader. See pipe(7).
const pieceSize = 4096

// writer writes lines. What cannot be written is lost, in whole lines (K-127).
type writer struct {
	out  io.Writer
	torn []byte // the rest of a line that was written in part, which must be written first
}

// write returns the number of lines that are lost.
func (w *writer) write(text []byte) (lost int) {
	for len(text) > 0 {
		piece := text[:pieceEnd(text)]
		lost += w.put(piece)
		text = text[len(piece):]
	}
	return lost
}

// pieceEnd returns the end of the last line that fits into a piece, or of the first line if none fits.
func pieceEnd(text []byte) int {
	if len(text) <= pieceSize {
		return len(text)
	}
	if last := bytes.LastIndexByte(text[:pieceSize], '\n'); last >= 0 {
		return last + 1
	}
	return bytes.IndexByte(text, '\n') + 1
}

func (w *writer) put(piece []byte) (lost int) {
	if len(w.torn) > 0 {
		n, err := w.out.Write(w.torn)
		if w.torn = w.torn[n:]; err != nil {
			return bytes.Count(piece, newline)
		}
	}
	n, err := w.out.Write(piece)
	if err == nil {
		return 0
	}
	if n > 0 && piece[n-1] != '\n' {
		end := n + bytes.IndexByte(piece[n:], '\n') + 1
		w.torn = append(w.torn[:0], piece[n:end]...)
		n = end
	}
	return bytes.Count(piece[n:], newline)
}
