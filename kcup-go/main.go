// kcup puts one file on the web. Here is the order of things, and nothing else.
// It must not hold logic.
// Its sibling is kcup-rust/src/main.rs.
package main

import (
	"cmp"
	"fmt"
	"os"

	"gitlab.com/kcup/kcup/kcup-go/internal/accesslog"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/ops"
	"gitlab.com/kcup/kcup/kcup-go/internal/server"
)

var version = "dev" // set by the linker

func main() {
	cfg, text, err := config.Parse(os.Args[1:], os.Getenv, version)
	status := 0
	switch {
	case err != nil || text != "":
	case cfg.Question != nil:
		text, status, err = content.Answer(&cfg)
	case cfg.Health:
		err = ops.Health(&cfg)
	default:
		status, err = serve(&cfg)
	}
	ops.Print(text)
	os.Exit(max(status, ops.Fail(os.Stderr, err)))
}

func serve(cfg *config.Config) (status int, err error) {
	if err := cmp.Or(server.MayHaveThreads(cfg), server.MayHaveDescriptors(cfg)); err != nil {
		return 0, err
	}
	signals, stdout, stderr := ops.Signals(), ops.NewStream(os.Stdout), ops.NewStream(os.Stderr)
	defer func() { stdout.Settle(); stderr.Settle() }()
	log, access := ops.NewLog(stderr, cfg.LogLevel, cfg.LogFormat), accesslog.New(cfg.AccessLog)
	hasRoom, done := server.HasRoom(cfg)
	loaded, err := content.Await(cfg, hasRoom, signals)
	done()
	if loaded == nil {
		return 0, err // without one a signal came first (K-13)
	}
	ops.Tell(log, loaded)
	s, err := server.New(cfg, loaded, access, log)
	if err != nil {
		return 0, err
	}
	around, err := ops.Surround(s, cfg, version, access, log)
	if err != nil {
		return 0, err
	}
	s.Start()
	around.Manager.Ready()
	stderr.Settle() // what was logged before is written before
	_, _ = fmt.Fprint(stdout, s.Greeting())
	access.Start(os.Stdout, stdout.Written())
	go around.Reload.Run()
	if err := s.Wait(signals); err != nil {
		return 0, err
	}
	around.Reload.Stop()
	return ops.Fail(stderr, s.Drain(signals)), nil // nobody may be reading any more, and the end must not wait for that
}
