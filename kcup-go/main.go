// kcup puts one file on the web. Here is the order of things, and nothing else.
// It must not hold logic.
// Its sibling is kcup-rust/src/main.rs.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"kcup/config"
	"kcup/content"
	"kcup/ops"
	"kcup/server"
)

var version = "dev" // set by the linker

func main() { os.Exit(run()) }

func run() (status int) {
	cfg, text, err := config.Parse(os.Args[1:], os.Getenv, version)
	if cfg.Question != nil {
		text, status, err = content.Answer(&cfg)
	} else if err == nil && text == "" {
		err = serve(&cfg)
	}
	fmt.Print(text)
	return max(status, fail(err))
}

func serve(cfg *config.Config) error {
	signals := ops.Signals()
	stdout, stderr := ops.NewStream(os.Stdout), ops.NewStream(os.Stderr)
	defer stdout.Flush()
	defer stderr.Flush()
	log := ops.NewLog(stderr, cfg.LogLevel, cfg.LogFormat)
	loaded, err := content.Await(cfg, signals, log)
	if loaded == nil {
		return err // without one a signal came first (K-13)
	}
	s, err := server.New(cfg, loaded, log)
	if err != nil {
		return err
	}
	return s.Run(signals, func() { stderr.Settle(); _, _ = fmt.Fprint(stdout, s.Greeting()) })
}

// fail says what went wrong, each fault on its line, and gives the exit status (K-07, K-08, K-92).
func fail(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "kcup: "+strings.ReplaceAll(err.Error(), "\n", "\nkcup: "))
	if errors.As(err, new(config.UsageError)) {
		return 2
	}
	return 1
}
