// kcup puts one file on the web. Here is the order of things, and nothing else.
// It must not hold logic.
// Its sibling is kcup-rust/src/main.rs.
package main

import (
	"fmt"
	"os"

	"kcup/config"
	"kcup/content"
	"kcup/ops"
	"kcup/ops/accesslog"
	"kcup/server"
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
	if text != "" { // even nothing would wait for what a stream cannot write
		fmt.Print(text)
	}
	os.Exit(max(status, ops.Fail(os.Stderr, err)))
}

func serve(cfg *config.Config) (status int, err error) {
	signals := ops.Signals()
	stdout, stderr := ops.NewStream(os.Stdout), ops.NewStream(os.Stderr)
	defer func() { stdout.Settle(); stderr.Settle() }()
	log := ops.NewLog(stderr, cfg.LogLevel, cfg.LogFormat)
	loaded, err := content.Await(cfg, signals, log)
	if loaded == nil {
		return 0, err // without one a signal came first (K-13)
	}
	access := accesslog.New(cfg.AccessLog)
	admin, err := ops.NewAdmin(cfg)
	if err != nil {
		return 0, err
	}
	s, err := server.New(cfg, loaded, access, log)
	if err != nil {
		return 0, err
	}
	manager := ops.NewNotifier()
	if err = ops.Seal(cfg, log); err != nil {
		return 0, err
	}
	reload := ops.NewReload(cfg, s, manager, log)
	admin.Serve(version, s, &reload.Reloads, access, log)
	s.Start()
	manager.Ready()
	stderr.Settle() // what was logged before is written before
	_, _ = fmt.Fprint(stdout, s.Greeting())
	access.Start(os.Stdout, stdout.Written())
	go reload.Run()
	<-signals
	reload.Stop()
	if err = s.Drain(signals); err == nil {
		access.Finish()
	}
	return ops.Fail(stderr, err), nil // nobody may be reading any more, and the end must not wait for that
}
