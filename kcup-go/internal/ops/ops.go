// Package ops owns what is around the server: diagnostics, signals, reloads, the service manager, the
// sandbox, and the admin listener with its numbers.
// It must not be needed for serving.
package ops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// Print writes what was asked for to standard output. Even writing nothing would wait for one that takes nothing.
func Print(text string) {
	if text != "" {
		fmt.Print(text)
	}
}

// Fail says what went wrong, each fault on its line, and gives the exit status (K-07, K-08, K-92).
func Fail(out io.Writer, err error) int {
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(out, "kcup: "+strings.ReplaceAll(err.Error(), "\n", "\nkcup: "))
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

// Tell logs what there is to say of content that was loaded.
func Tell(log *logrus.Logger, c *content.Content) {
	for _, warning := range c.Warnings {
		log.Warn(warning)
	}
	if c.Advice != "" {
		log.Info(c.Advice)
	}
}

// formatter writes an event as one line. The library's own formatters call a level "warning" that the option calls warn.
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
