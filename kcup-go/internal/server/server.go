// Package server owns sockets: listening, accepting, the life of connections, and the drain.
// It must not decide what a response says.
package server

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"gitlab.com/kcup/kcup/kcup-go/internal/accesslog"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
)

// Server is a bound listener, and workers that wait to be started.
type Server struct {
	common   *common
	acceptor acceptor
	workers  []*worker
	running  sync.WaitGroup
	failed   chan error // with room for each loop's error
	memory   *memory
	versions versions
	config   *config.Config
	reserved uint64 // descriptors that are not connections
	tls      *TLS   // nil without it
}

// New binds, and accepts nothing yet. It takes over c, which is complete. The certificate is nil without TLS.
func New(cfg *config.Config, c *content.Content, certificate *Certificate, access *accesslog.Log, log *logrus.Logger) (*Server, error) {
	threads := threads(cfg)
	s := &common{started: time.Now(), log: log, logsEnds: log.IsLevelEnabled(logrus.DebugLevel)}
	s.current.replace(respond.Render(c, cfg))
	// One tick more than the option: a phase may begin late in the turn in which its clock was read.
	s.limits = limits{
		idle: ticks(cfg.IdleTimeout) + 1, inHead: ticks(cfg.HeaderTimeout) + 1,
		writing: glanceTime, lingering: ticks(time.Second),
	}
	s.stall = ticks(cfg.WriteTimeout)
	server := &Server{common: s, config: cfg, memory: openMemory(), failed: make(chan error, threads+1)}
	server.reserved = reservedDescriptors(threads, cfg)
	// One more than there are workers: the acceptor and signals should not wait for a worker's time slice.
	runtime.GOMAXPROCS(threads + 1)
	var err error
	if certificate != nil {
		server.tls = &TLS{}
		server.tls.Replace(certificate)
		if server.acceptor.tls, err = newTerminators(server.tls, threads, cfg.HeaderTimeout, &s.heldMost); err != nil {
			return nil, fmt.Errorf("cannot start a terminator: %w", err)
		}
	}
	s.waker.notify = make(chan struct{}, 1)
	for range threads {
		w, err := newWorker(s, access.Lines())
		if err != nil {
			return nil, fmt.Errorf("cannot start a worker: %w", err)
		}
		server.workers = append(server.workers, w)
	}
	server.acceptor.common, server.acceptor.workers = s, server.workers
	if server.acceptor.listener, err = newListener(cfg); err != nil {
		return nil, err
	}
	if err = server.acceptor.init(); err != nil {
		return nil, fmt.Errorf("cannot start: %w", err)
	}
	c.Collapse(server.Spare())
	server.review()
	return server, nil
}

// Greeting returns the line of K-15.
func (s *Server) Greeting() string {
	return accesslog.Greeting(s.config.AccessLog, s.acceptor.listener.url, time.Now())
}

// Content returns the current content, for a caller that reads everything but its bytes.
func (s *Server) Content() *content.Content { return s.common.current.peek().Content }

// TLS is nil without it.
func (s *Server) TLS() *TLS { return s.tls }

// Draining reports whether the drain has begun.
func (s *Server) Draining() bool { return s.acceptor.draining.Load() }

// Start accepts connections from now on.
func (s *Server) Start() {
	for _, w := range s.workers {
		s.running.Go(func() { s.watch("a worker", w.run) })
	}
	if s.tls != nil {
		for _, t := range s.acceptor.tls.all {
			s.running.Go(func() { s.watch("a terminator", t.run) })
		}
	}
	s.running.Go(func() { s.watch("the acceptor", s.acceptor.run) })
}

// watch reports a loop that failed: half a server is none (K-07).
func (s *Server) watch(name string, run func() error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.failed <- fmt.Errorf("%s failed: %v", name, fault)
		}
	}()
	if err := run(); err != nil {
		s.failed <- fmt.Errorf("%s failed: %w", name, err)
	}
}

// Wait returns when a signal comes, or a loop has failed.
func (s *Server) Wait(signals <-chan os.Signal) error {
	select {
	case <-signals:
		return nil
	case err := <-s.failed:
		return err
	}
}

// Drain stops accepting, and returns when every connection has ended or the time for that is over (K-18, K-19). The
// error is that of a second signal, or of a loop that failed.
func (s *Server) Drain(signals <-chan os.Signal) error {
	s.common.log.Info("draining")
	s.acceptor.draining.Store(true)
	s.acceptor.nudge()
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-signals:
		return errors.New("stopped by a second signal before the drain was over")
	case err := <-s.failed:
		return err
	case <-time.After(s.config.ShutdownTimeout):
		s.common.log.Warnf("the drain is over after %s: %s cut", content.Counted(int64(s.config.ShutdownTimeout/time.Second), "second"),
			content.Counted(int64(s.acceptor.open()), "connection"))
		s.acceptor.tellAll(func(m *mailbox) { m.cut = true })
		select {
		case <-done:
		case <-time.After(time.Second):
		}
	}
	return nil
}
