// kcup puts one file on the web. Here is the order of things, and nothing else.
// It must not hold logic.
// Its sibling is kcup-rust/src/main.rs.
package main

import (
	"errors"
	"fmt"
	"os"

	"kcup/config"
	"kcup/content"
	"kcup/ops"
	"kcup/server"
)

var version = "dev" // set by the linker

func main() { os.Exit(run()) }

func run() int {
	signals := ops.Signals()
	cfg, text, err := config.Parse(os.Args[1:], os.Getenv, version)
	if err != nil {
		return fail(err)
	}
	if text != "" {
		fmt.Print(text)
		return 0
	}
	stdout, stderr := ops.NewStream(os.Stdout), ops.NewStream(os.Stderr)
	defer stdout.Flush()
	defer stderr.Flush()
	log := ops.NewLog(stderr, cfg.LogLevel, cfg.LogFormat)

	loaded, err := content.Await(&cfg, signals)
	if loaded == nil && err == nil {
		return 0 // a signal came first (K-13)
	}
	if err != nil {
		return fail(err)
	}
	s, err := server.New(&cfg, loaded, log)
	if err == nil {
		err = s.Run(signals, func() { _, _ = fmt.Fprint(stdout, s.Greeting()) })
	}
	return fail(err)
}

// fail says what went wrong, once, and gives the exit status (K-07, K-08).
func fail(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "kcup: "+err.Error())
	if errors.As(err, new(config.UsageError)) {
		return 2
	}
	return 1
}
