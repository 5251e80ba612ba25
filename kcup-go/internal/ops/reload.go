// Taking a changed file into service.

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

// Reloads counts them by their result (K-119).
type Reloads struct{ OK, Failed atomic.Uint64 }

// Reload reads the file again when it is told to or the file has changed, and puts what comes of it in the place of
// the content. It does so on a goroutine of its own: no worker waits for it.
type Reload struct {
	Reloads
	cfg      *config.Config
	server   *server.Server
	manager  *Notifier
	log      *logrus.Logger
	hangups  <-chan os.Signal
	drain    chan struct{}
	settling settling
	failure  string // what was wrong at the last read, and was logged
}

// NewReload takes hangups from now on: the service manager may send one as soon as it hears that we are ready.
func NewReload(cfg *config.Config, s *server.Server, manager *Notifier, log *logrus.Logger) *Reload {
	return &Reload{cfg: cfg, server: s, manager: manager, log: log, hangups: hangups(), drain: make(chan struct{})}
}

// Stop ends Run, since the drain begins.
func (r *Reload) Stop() {
	close(r.drain)
	r.manager.Stopping()
}

// Run reloads for a hangup (K-100), and when a poll finds other bytes (K-102).
func (r *Reload) Run() {
	var poll <-chan time.Time
	if r.cfg.ReloadInterval > 0 {
		poll = time.After(r.cfg.ReloadInterval)
	}
	for {
		select {
		case <-r.drain: // also before a hangup that came during a reload
			return
		default:
		}
		select {
		case <-r.drain:
			return
		case <-r.hangups:
			r.manager.Reloading()
			r.failure = "" // a reload that was asked for says what came of it
			r.load(r.read())
			r.server.Abandon() // what a reload that failed would have needed
			r.manager.Ready()
		case <-poll:
			poll = time.After(r.poll())
		}
	}
}

// poll looks at the file, and says when to look again. Its bytes are only read when they seem to have changed.
func (r *Reload) poll() time.Duration {
	if !r.settling.isPending() {
		digest, err := content.Look(r.cfg, r.server.Content())
		return r.pause(r.settling.judge(sightOf(digest, err), r.loaded()))
	}
	defer r.server.Abandon()
	source, err := r.read()
	step := r.settling.judge(sightOf(source.Digest(), err), r.loaded())
	if step == settled {
		r.load(source, err)
	} else {
		source.Release()
	}
	return r.pause(step)
}

// pause is how long not to look after a step.
func (r *Reload) pause(v step) time.Duration {
	switch v {
	case unsettled:
		return settlingTime
	case unchanged:
		r.failure = ""
	}
	return r.cfg.ReloadInterval
}

func (r *Reload) loaded() sight { return sight{digest: r.server.Content().SourceDigest} }

func (r *Reload) read() (content.Source, error) {
	return content.Again(r.cfg, r.server.Content(), r.server.MakeRoom)
}

// load makes content of what was read, unless that failed, and serves it.
func (r *Reload) load(source content.Source, err error) {
	var c *content.Content
	if err == nil {
		c, err = content.Make(source, r.cfg)
	}
	if err != nil {
		r.fail(err.Error())
		return
	}
	Tell(r.log.Warn, c.Warnings...)
	news := c.News(r.cfg, r.server.Content())
	c.Collapse(r.server.Spare())
	r.server.Replace(c)
	r.OK.Add(1)
	r.failure = ""
	Tell(r.log.Info, news...)
}

// fail logs it line by line, unless it did so at the last read (K-101).
func (r *Reload) fail(failure string) {
	r.Failed.Add(1)
	if failure == r.failure {
		return
	}
	r.failure = failure
	lines := strings.Split(failure, "\n")
	lines[0] += "; the last good content stays"
	Tell(r.log.Warn, lines...)
}

// settlingTime is how long what a poll saw must stay so before it is believed (K-102).
const settlingTime = time.Second

// settling decides what a poll makes of what it saw. All of it is pure.
type settling struct {
	seen sight // not believed yet
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
	settled               // load it, or say what is wrong
)

// judge compares a sight with the loaded content, and with the sight before.
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
