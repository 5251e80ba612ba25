// kcup puts one file on the web. Here is the order of things, and nothing else.
// It must not hold logic.
package main

import (
	"cmp"
	"os"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/accesslog"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/ops"
	"gitlab.com/kcup/kcup/kcup-go/internal/server"
)

var version = "dev" // set by the linker

// The time that the end waits for readers of our diagnostics, and of our access log (K-127).
const (
	lastWords = 200 * time.Millisecond
	lastLines = time.Second
)

func main() {
	cfg, text, err := config.Parse(os.Args[1:], os.Getenv, version)
	status := 0
	switch {
	case err != nil || text != "":
	case cfg.Question != nil:
		ops.QuitByDefault()
		ops.Prompt(content.Prompt(&cfg))
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
	signals, stdout, stderr := ops.Signals(), accesslog.NewStream(os.Stdout, 32), accesslog.NewStream(os.Stderr, 256)
	stderr.Start("")
	defer stderr.Flush(lastWords)
	log, access := ops.NewLog(stderr, cfg.LogLevel, cfg.LogFormat), accesslog.New(cfg, stdout)
	ops.Tell(log.Info, content.Prompt(cfg))
	var certificate *server.Certificate
	if cfg.TLSCert != "" {
		if certificate, err = server.LoadCertificate(cfg); err != nil {
			return 0, err
		}
	}
	hasMemory, done := server.HasMemory(cfg)
	loaded, err := content.Await(cfg, hasMemory, signals)
	done()
	if loaded == nil {
		return 0, err // if that is nil, a signal came first (K-13)
	}
	ops.Tell(log.Warn, loaded.Warnings...)
	admin, err := ops.NewAdmin(cfg)
	if err != nil {
		return 0, err
	}
	s, err := server.New(cfg, loaded, certificate, access, log)
	if err != nil {
		return 0, err
	}
	manager := ops.NewNotifier()
	if err := ops.EnterSandbox(cfg, log); err != nil { // from here on nothing else can be opened
		return 0, err
	}
	ops.TellCertificate(certificate, log)
	ops.Tell(log.Info, loaded.News(cfg, nil)...)
	reload := ops.NewReload(cfg, s, manager, log)
	admin.Serve(version, s, &reload.Reloads, access, log)
	s.Start()
	manager.Ready()
	stderr.Flush(lastWords) // what was logged before is written first
	stdout.Start(s.Greeting())
	go reload.Run()
	if err := s.Wait(signals); err != nil {
		return 0, err
	}
	reload.Stop()
	if err = s.Drain(signals); err == nil {
		stdout.Flush(lastLines)
	}
	return ops.Fail(stderr, err), nil // nobody may be reading any more, and the end must not wait for that
}
