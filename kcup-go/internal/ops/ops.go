// Package ops owns what surrounds the server: diagnostics, signals, reloads, the health check, the service manager, the
// sandbox, the admin listener and its metrics.
// It must not be needed for serving.
package ops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// Print writes a command's result to standard output. Even an empty write would wait for a full stream.
func Print(text string) {
	if text != "" {
		fmt.Print(text)
	}
}

// Fail prints the error, after which findings may follow (K-92), and returns the exit status (K-07, K-08).
func Fail(out io.Writer, err error) int {
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(out, "kcup: "+err.Error())
	if errors.As(err, new(config.UsageError)) {
		return 2
	}
	return 1
}

// NewLog makes the log of K-20; level and format are checked.
func NewLog(out io.Writer, level, format string) *logrus.Logger {
	log := logrus.New()
	log.SetOutput(out)
	log.SetFormatter(formatter{json: format == "json"})
	if parsed, err := logrus.ParseLevel(level); err == nil {
		log.SetLevel(parsed)
	}
	return log
}

// Tell logs each event with a method of a log.
func Tell(say func(...any), events ...string) {
	for _, event := range events {
		if event != "" {
			say(event)
		}
	}
}

// Prompt tells the person at a terminal what to do, if anything.
func Prompt(text string) {
	if text != "" {
		_, _ = fmt.Fprintln(os.Stderr, "kcup: "+text)
	}
}

// formatter writes an event as one line. The library's own formatters write "warning" for the level that the option
// calls warn.
type formatter struct{ json bool }

type event struct {
	Time  string `json:"time"`
	Level string `json:"level"`
	Msg   string `json:"msg"`
}

func (f formatter) Format(entry *logrus.Entry) ([]byte, error) {
	e := event{entry.Time.UTC().Format(time.RFC3339), entry.Level.String(), entry.Message}
	if entry.Level == logrus.WarnLevel {
		e.Level = "warn"
	}
	if f.json {
		text, err := json.Marshal(e)
		return append(text, '\n'), err
	}
	return []byte(e.Time + " " + e.Level + " " + e.Msg + "\n"), nil
}

// Signals delivers the signals that end kcup: SIGTERM from a supervisor, SIGINT and SIGQUIT from a terminal. They are
// handled from early on: without a handler, process 1 of a container ignores them. Go does nothing on SIGUSR1, SIGUSR2
// and SIGALRM.
func Signals() <-chan os.Signal {
	// A write to a closed standard output or error would kill the process; now it is an error like any other.
	signal.Ignore(syscall.SIGPIPE)
	// A hangup does not end the process either; it has no effect until hangups is called (K-100).
	signal.Ignore(syscall.SIGHUP)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	return signals
}

// QuitByDefault restores the default action of SIGQUIT (K-99), since Go's runtime would print its stacks.
func QuitByDefault() {
	var byDefault [4]uint64 // the kernel's struct sigaction, with nothing but SIG_DFL
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGQUIT), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
}

// hangups delivers SIGHUP. Several that come during a reload count as one (K-100).
func hangups() <-chan os.Signal {
	one := make(chan os.Signal, 1)
	signal.Notify(one, syscall.SIGHUP)
	return one
}
