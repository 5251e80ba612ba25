// Package accesslog owns the access log (K-125 to K-127), and the streams that it and the log go through.
// It must not let a response wait.
package accesslog

import (
	"sync/atomic"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

const (
	batchSize = 32 << 10 // bytes; a batch of this length is handed over
	longLine  = 4 << 10  // room for the line that fills a batch; a longer one makes its batch grow
)

// Log writes lines to standard output. If it is nil there is no access log.
type Log struct {
	format  string
	proxies config.Proxies
	out     *Stream
	lost    atomic.Uint64
}

// New makes the log that the options ask for, if any.
func New(cfg *config.Config, out *Stream) *Log {
	if cfg.AccessLog == "off" {
		return nil
	}
	return &Log{format: cfg.AccessLog, proxies: cfg.TrustedProxies, out: out}
}

// Lost returns the number of lines that standard output did not accept.
func (l *Log) Lost() uint64 {
	if l == nil {
		return 0
	}
	return l.lost.Load()
}

// Lines collects the lines of one worker, and belongs to it. If it is nil there is no access log.
type Lines struct {
	log    *Log
	stamp  stamp
	text   []byte
	oldest uint32
}

// Lines returns a collector for the lines of one more worker.
func (l *Log) Lines() *Lines {
	if l == nil {
		return nil
	}
	return &Lines{log: l, stamp: stamp{layout: layouts[l.format]}, text: l.out.buffer()}
}

// Add appends the line of a response, unless that is to a health check. Instead of a trusted proxy it names the proxy's
// client. second is in Unix time; now is a time as Oldest returns it.
func (l *Lines) Add(e *Entry, second int64, now uint32) {
	if e.Peer.Unmap() == HealthCheck {
		return
	}
	if len(l.text) == 0 {
		l.oldest = now
	}
	e.Peer = client(e.Peer, e.Head, &l.log.proxies)
	if l.log.format == "json" {
		l.text = e.appendJSON(l.text, l.stamp.at(second))
	} else {
		l.text = e.appendCommon(l.text, l.stamp.at(second))
	}
	if len(l.text) >= batchSize {
		l.HandOver()
	}
}

// Oldest returns when the first of the lines was added that have not been handed over.
func (l *Lines) Oldest() (at uint32, ok bool) {
	if l == nil || len(l.text) == 0 {
		return 0, false
	}
	return l.oldest, true
}

// HandOver passes the lines to the stream. If the stream has no room for them, they are lost.
func (l *Lines) HandOver() {
	if l.log.out.offer(l.batch()) {
		l.text = l.log.out.buffer()
	} else {
		l.text = l.text[:0]
	}
}

// End hands over the last lines.
func (l *Lines) End() {
	if _, ok := l.Oldest(); ok {
		l.log.out.keep(l.batch())
	}
}

func (l *Lines) batch() batch { return batch{text: l.text, lost: &l.log.lost} }
