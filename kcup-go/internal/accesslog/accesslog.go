// Package accesslog owns the access log (K-125 to K-127): what its lines say, and how they come to standard output.
// It must not let an answer wait.
// Its sibling is kcup-rust/src/ops/access_log.rs.
package accesslog

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	batchSize = 32 << 10 // bytes; a batch that is so long is handed over
	longLine  = 4 << 10  // room for the line that makes it so; a longer one makes its batch grow
	waiting   = 32       // so many batches may wait for the writer
	endTime   = time.Second
)

// Log brings lines to standard output. The nil one is that of no access log.
type Log struct {
	format  string
	batches chan batch
	spare   chan []byte
	ending  sync.WaitGroup
	lost    atomic.Uint64
}

// batch is some lines, or a mark without any that is closed when all before it have been written.
type batch struct {
	text    []byte
	written chan struct{}
}

// New makes a log of a format that was checked, of which off is none.
func New(format string) *Log {
	if format == "off" {
		return nil
	}
	return &Log{format: format, batches: make(chan batch, waiting), spare: make(chan []byte, waiting)}
}

// Lost is how many lines standard output did not take.
func (l *Log) Lost() uint64 {
	if l == nil {
		return 0
	}
	return l.lost.Load()
}

// Start writes to out from now on, when before is closed.
func (l *Log) Start(out io.Writer, before <-chan struct{}) {
	if l == nil {
		return
	}
	go func() {
		<-before
		w := writer{out: out}
		for b := range l.batches {
			if b.written != nil {
				close(b.written)
				continue
			}
			l.lost.Add(uint64(w.write(b.text)))
			l.giveSpare(b.text)
		}
	}()
}

// Finish waits until what the workers have left behind is written, but not for long.
func (l *Log) Finish() {
	if l == nil {
		return
	}
	written := make(chan struct{})
	go func() {
		l.ending.Wait()
		l.batches <- batch{written: written}
	}()
	select {
	case <-written:
	case <-time.After(endTime):
	}
}

func (l *Log) giveSpare(text []byte) {
	select {
	case l.spare <- text[:0]:
	default:
	}
}

func (l *Log) takeSpare() []byte {
	select {
	case text := <-l.spare:
		return text
	default:
		return make([]byte, 0, batchSize+longLine)
	}
}

// Lines gathers the lines of one worker, and belongs to it. The nil one is that of no access log.
type Lines struct {
	log    *Log
	stamp  stamp
	text   []byte
	oldest uint32
}

// Lines makes a place for the lines of one more worker.
func (l *Log) Lines() *Lines {
	if l == nil {
		return nil
	}
	return &Lines{log: l, stamp: stamp{layout: layouts[l.format]}, text: l.takeSpare()}
}

// Add adds a line. second is in Unix time; now is a time as Oldest gives it back.
func (l *Lines) Add(e *Entry, second int64, now uint32) {
	if len(l.text) == 0 {
		l.oldest = now
	}
	if l.log.format == "json" {
		l.text = e.appendJSON(l.text, l.stamp.at(second))
	} else {
		l.text = e.appendCommon(l.text, l.stamp.at(second))
	}
	if len(l.text) >= batchSize {
		l.HandOver()
	}
}

// Oldest is when the first of the lines was added that were not handed over.
func (l *Lines) Oldest() (at uint32, is bool) {
	if l == nil || len(l.text) == 0 {
		return 0, false
	}
	return l.oldest, true
}

// HandOver gives what there is to the writer. When that has enough already the lines are lost.
func (l *Lines) HandOver() {
	select {
	case l.log.batches <- batch{text: l.text}:
		l.text = l.log.takeSpare()
	default:
		l.log.lost.Add(uint64(bytes.Count(l.text, newline)))
		l.text = l.text[:0]
	}
}

// End hands over the last of the lines. It does not wait for the writer: Finish does.
func (l *Lines) End() {
	if _, is := l.Oldest(); is {
		l.log.ending.Go(func() { l.log.batches <- batch{text: l.text} })
	}
}
