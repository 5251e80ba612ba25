package accesslog

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Stream writes lines to standard output or standard error without ever waiting for it: their readers may stop reading,
// and serving goes on (K-20, K-127). Lines beyond what fits in between are lost.
type Stream struct {
	out     io.Writer
	batches chan batch
	spare   chan []byte
	mutex   sync.Mutex
	last    []batch // which Flush writes
}

// batch is some lines, or a mark without any that is closed when all before it have been written.
type batch struct {
	text    []byte
	lost    *atomic.Uint64 // counts the lines that were not taken; nil: nobody asks
	written chan struct{}
}

// NewStream makes a stream to out, of which this many batches may wait.
func NewStream(out io.Writer, waiting int) *Stream {
	return &Stream{out: out, batches: make(chan batch, waiting), spare: make(chan []byte, waiting)}
}

// Start begins to write: first this, then what was taken meanwhile.
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

// Write takes a line, or drops it.
func (s *Stream) Write(text []byte) (int, error) {
	s.offer(batch{text: bytes.Clone(text)})
	return len(text), nil
}

// offer says whether the stream has taken a batch over. Otherwise its lines are lost.
func (s *Stream) offer(b batch) (taken bool) {
	select {
	case s.batches <- b:
		return true
	default:
		b.lose(bytes.Count(b.text, newline))
		return false
	}
}

// keep holds on to the last batch of somebody, which Flush waits for.
func (s *Stream) keep(b batch) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.last = append(s.last, b)
}

// Flush waits until what was taken is written, for at most this long.
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

// buffer is an empty one for a batch.
func (s *Stream) buffer() []byte {
	select {
	case text := <-s.spare:
		return text
	default:
		return make([]byte, 0, batchSize+longLine)
	}
}

// pieceSize is PIPE_BUF, in bytes: a pipe takes so much whole or not at all, and so the end of the process, while it
// waits for a reader, tears no line. See pipe(7).
const pieceSize = 4096

// writer writes lines. What cannot be written is lost, in whole lines (K-127).
type writer struct {
	out  io.Writer
	torn []byte // the rest of a line of which a part was written: nothing may come before it
}

// write returns how many lines are lost.
func (w *writer) write(text []byte) (lost int) {
	for len(text) > 0 {
		piece := text[:pieceEnd(text)]
		lost += w.put(piece)
		text = text[len(piece):]
	}
	return lost
}

// pieceEnd is the end of the last line that fits in a piece; where none does, of the first.
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
