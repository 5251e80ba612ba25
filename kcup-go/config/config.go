// Package config owns the one table of options: flag, variable, default, help and check.
// It must not read files or open sockets.
// Its sibling is kcup-rust/src/config/mod.rs.
package config

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	flags "github.com/jessevdk/go-flags"
)

// Field is a field line of --header; its name is in lower case.
type Field struct{ Name, Value string }

// Config is the table with its meaning: every value is checked.
type Config struct {
	File            string // empty: standard input
	StdinTimeout    time.Duration
	Host            netip.Addr
	Port            uint16
	MaxContent      int64
	Path            string // empty: any path
	ContentType     string // empty: found out when loading
	Fields          []Field
	Compression     bool
	MaxConnections  int
	HeaderTimeout   time.Duration
	IdleTimeout     time.Duration
	WriteTimeout    time.Duration
	ShutdownTimeout time.Duration
	Threads         int // 0: the CPUs this cgroup grants
	LogLevel        string
	LogFormat       string
}

// asked is returned through the library for --help and --version, which end the parsing where they stand.
type asked struct{ text string }

// Parse reads args and variables. When text is not empty it is all there is to do: print it.
func Parse(args []string, getenv func(string) string, version string) (cfg Config, text string, err error) {
	// The library would print completions and end the process when it saw this variable.
	os.Unsetenv("GO_FLAGS_COMPLETION")
	var t table
	parser := flags.NewParser(&t, flags.PassDoubleDash)
	var answer asked
	stop := &flags.Error{Type: flags.ErrHelp}
	t.Help = func() error { answer.text = help(parser); return stop }
	t.Version = func() error { answer.text = "kcup " + version + " (go)\n"; return stop }

	rest, err := parser.ParseArgs(args)
	if answer.text != "" {
		return cfg, answer.text, nil
	}
	if err != nil {
		return cfg, "", usageError(err, rest)
	}
	if len(rest) > 0 {
		return cfg, "", usagef("unexpected argument %q (see kcup --help)", rest[0])
	}
	if err := settle(parser, getenv); err != nil {
		return cfg, "", err
	}
	return t.meaning(), "", nil
}

// settle lets variables stand in for what was not given, and checks every value.
func settle(parser *flags.Parser, getenv func(string) string) error {
	for _, option := range options(parser) {
		tag := option.Field().Tag
		source, values := "--"+option.LongName, texts(option.Value())
		if option.IsSetDefault() {
			if value := getenv(tag.Get("var")); value != "" {
				source, values = tag.Get("var"), split(option, value)
				for i := range values {
					if err := option.Set(&values[i]); err != nil {
						return err
					}
				}
			} else if len(option.Default) == 0 {
				continue
			}
		}
		for _, value := range values {
			if wrong := check(tag.Get("check"), value); wrong != "" {
				return usagef("%s: %q %s", source, value, wrong)
			}
		}
	}
	return nil
}

// options lists the rows of the table that carry a value.
func options(parser *flags.Parser) []*flags.Option {
	var rows []*flags.Option
	for _, group := range parser.Groups() {
		for _, option := range group.Options() {
			if option.Field().Tag.Get("check") != "" {
				rows = append(rows, option)
			}
		}
	}
	return rows
}

func texts(value any) []string {
	if many, ok := value.([]string); ok {
		return many
	}
	return []string{value.(string)}
}

func split(option *flags.Option, value string) []string {
	if _, many := option.Value().([]string); !many {
		return []string{value}
	}
	return strings.FieldsFunc(value, func(r rune) bool { return r == '\n' })
}

// meaning is only called on a table whose values were checked: what it drops cannot fail.
func (t *table) meaning() Config {
	cfg := Config{
		File: t.File, Path: t.Path, ContentType: t.ContentType,
		StdinTimeout: seconds(t.StdinTimeout), HeaderTimeout: seconds(t.HeaderTimeout),
		IdleTimeout: seconds(t.IdleTimeout), WriteTimeout: seconds(t.WriteTimeout),
		ShutdownTimeout: seconds(t.ShutdownTimeout),
		Port:            uint16(number(t.Port)), MaxContent: number(t.MaxContent),
		Compression: t.Compression == "auto", MaxConnections: int(number(t.MaxConnections)),
		Threads: int(number(t.Threads)), LogLevel: t.LogLevel, LogFormat: t.LogFormat,
	}
	cfg.Host, _ = netip.ParseAddr(t.Host)
	for _, text := range t.Header {
		field, _ := parseField(text)
		cfg.Fields = append(cfg.Fields, field)
	}
	if cfg.File == "-" {
		cfg.File = ""
	}
	return cfg
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func seconds(text string) time.Duration { return time.Duration(number(text)) * time.Second }
