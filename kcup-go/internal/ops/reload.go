// Reloads (SPEC section 10).

package ops

import (
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/server"
)

// Reloads counts reloads by their result (K-119).
type Reloads struct{ OK, Failed atomic.Uint64 }

// Reload reads the file again on SIGHUP, or when it has changed, and replaces the content. It has a goroutine of its
// own: no worker waits for it.
type Reload struct {
	Reloads
	cfg     *config.Config
	server  *server.Server
	manager *Notifier
	log     *logrus.Logger
	hangups <-chan os.Signal
	drain   chan struct{}
	content watch
	pair    watch // the certificate and its key
}

// watch is what polls saw of the content or of the pair, and the failure of the last read, which was logged.
type watch struct {
	settling
	failure string
}

// NewReload receives SIGHUP from now on: the service manager may send it as soon as it knows that we are ready.
func NewReload(cfg *config.Config, s *server.Server, manager *Notifier, log *logrus.Logger) *Reload {
	return &Reload{cfg: cfg, server: s, manager: manager, log: log, hangups: hangups(), drain: make(chan struct{})}
}

// Stop ends Run, because the drain begins.
func (r *Reload) Stop() {
	close(r.drain)
	r.manager.Stopping()
}

// Run reloads on SIGHUP (K-100), and when a poll finds other bytes (K-102).
func (r *Reload) Run() {
	var poll <-chan time.Time
	if r.cfg.ReloadInterval > 0 {
		poll = time.After(r.cfg.ReloadInterval)
	}
	day := time.NewTicker(24 * time.Hour)
	defer day.Stop()
	for {
		select {
		case <-r.drain: // takes precedence over a hangup that came during a reload
			return
		default:
		}
		select {
		case <-r.drain:
			return
		case <-r.hangups:
			r.manager.Reloading()
			r.content.failure, r.pair.failure = "", "" // a failure is logged on each SIGHUP, even if it is the same again
			isGood := r.usePair(r.readPair())
			source, err := r.read()
			r.load(source, err, isGood)
			r.server.Abandon() // frees what a failed reload had reserved
			r.manager.Ready()
		case <-poll:
			pair := r.pollPair()
			poll = time.After(min(r.poll(), pair))
		case <-day.C:
			if t := r.server.TLS(); t != nil {
				Tell(r.log.Warn, t.Certificate().Warning(time.Now()))
			}
		}
	}
}

// poll checks the file, and returns when to check again. It is read whole only if it seems to have changed.
func (r *Reload) poll() time.Duration {
	if !r.content.isPending() {
		digest, err := content.Look(r.cfg, r.server.Content())
		return r.content.pause(r.cfg, r.content.judge(sightOf(digest, err), r.loaded()))
	}
	defer r.server.Abandon()
	source, err := r.read()
	step := r.content.judge(sightOf(source.Digest(), err), r.loaded())
	if step == settled {
		r.load(source, err, true)
	} else {
		source.Release()
	}
	return r.content.pause(r.cfg, step)
}

// pause returns the time until the next check.
func (w *watch) pause(cfg *config.Config, v step) time.Duration {
	switch v {
	case unsettled:
		return settlingTime
	case unchanged:
		w.failure = ""
	}
	return cfg.ReloadInterval
}

func (r *Reload) loaded() sight { return sight{digest: r.server.Content().SourceDigest} }

func (r *Reload) read() (content.Source, error) {
	return content.Again(r.cfg, r.server.Content(), r.server.MakeRoom)
}

// load serves the content that was read, or logs why that failed. The reload has failed if the pair is not good, either.
func (r *Reload) load(source content.Source, err error, isGood bool) {
	var c *content.Content
	if err == nil {
		c, err = content.Make(source, r.cfg)
	}
	if err != nil {
		r.count(false)
		r.content.fail(err, "content", r.log)
		return
	}
	Tell(r.log.Warn, c.Warnings...)
	news := c.News(r.cfg, r.server.Content())
	c.Collapse(r.server.Spare())
	r.server.Replace(c)
	r.count(isGood)
	r.content.failure = ""
	Tell(r.log.Info, news...)
}

// fail logs a failure line by line, unless the last read failed in the same way (K-101).
func (w *watch) fail(err error, what string, log *logrus.Logger) {
	failure := err.Error()
	if failure == w.failure {
		return
	}
	w.failure = failure
	lines := strings.Split(failure, "\n")
	lines[0] += "; the last good " + what + " stays"
	Tell(log.Warn, lines...)
}

func (r *Reload) count(isGood bool) {
	if isGood {
		r.OK.Add(1)
	} else {
		r.Failed.Add(1)
	}
}

// settlingTime is the time after which a poll reads a changed file again (K-102).
const settlingTime = time.Second

// settling decides what a poll has to do. Pure.
type settling struct {
	seen sight // the last result, if it differs from what is loaded and has been seen only once
}

// sight is the result of reading the file: a digest, or a failure.
type sight struct {
	digest  content.Digest
	failure string
}

func sightOf(digest content.Digest, err error) sight {
	if err != nil {
		return sight{failure: err.Error()}
	}
	return sight{digest: digest}
}

// step is what a poll has to do.
type step uint8

const (
	unchanged step = iota // nothing
	unsettled             // look again after settlingTime
	settled               // load it, or log the failure
)

// judge compares a result with the loaded content, and with the result before.
func (s *settling) judge(now, loaded sight) step {
	switch before := s.seen; now {
	case loaded:
		s.seen = sight{}
		return unchanged
	case before:
		s.seen = sight{}
		return settled
	}
	s.seen = now
	return unsettled
}

func (s *settling) isPending() bool { return s.seen != sight{} }
