// Package config owns the one table of options: flag, variable, default, help and check.
// It must not read files or open sockets.
// Its sibling is kcup-rust/src/config/mod.rs.
package config

import (
	"net/netip"
	"os"
	"slices"
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
	Unix            string // the path of a socket to listen on instead; empty: Host and Port
	Port            uint16
	MaxContent      int64
	Path            string // empty: any path
	ContentType     string // empty: found out when loading
	Fields          []Field
	Compression     bool
	ReloadInterval  time.Duration // 0: never
	MaxConnections  int
	HeaderTimeout   time.Duration
	IdleTimeout     time.Duration
	WriteTimeout    time.Duration
	ShutdownTimeout time.Duration
	Threads         int // 0: the CPUs this cgroup grants
	Preset          Preset
	Sandbox         string         // auto, off or required
	Admin           netip.AddrPort // the zero value: none
	AccessLog       string         // off, common or json
	LogLevel        string
	LogFormat       string
	Health          bool      // ask the server that these options would make, and serve nothing
	Question        *Question // nil: serve
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
	parser.SubcommandsOptional = true
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
	question, err := readWords(parser, rest)
	if err != nil {
		return cfg, "", err
	}
	given, err := settle(rows(parser.Groups()[0]), getenv)
	if err != nil {
		return cfg, "", err
	}
	cfg = t.meaning()
	if err = cfg.applyPreset(given); err != nil {
		return cfg, "", err
	}
	switch {
	case question.health:
		err = cfg.askHealth()
	case question.verb != nil:
		text, err = t.MTASTS.answer(question, &cfg)
	}
	return cfg, text, err
}

// explicit is where a value that is no default stands, and its text: of several the last.
type explicit struct{ source, value string }

// settle lets variables stand in for what was not given, and checks every value. What was given is returned by option.
func settle(rows []*flags.Option, getenv func(string) string) (map[string]explicit, error) {
	found := map[string]explicit{}
	for _, option := range rows {
		tag := option.Field().Tag
		source, values := "--"+option.LongName, texts(option.Value())
		isGiven := !option.IsSetDefault()
		if !isGiven {
			if value := getenv(tag.Get("var")); value != "" {
				isGiven, source, values = true, tag.Get("var"), split(option, value)
				for i := range values {
					if err := option.Set(&values[i]); err != nil {
						return nil, err
					}
				}
			} else if len(option.Default) == 0 {
				continue
			}
		}
		for _, value := range values {
			if wrong := check(tag.Get("check"), value); wrong != "" {
				return nil, usagef("%s: %q %s", source, value, wrong)
			}
			if isGiven {
				found[option.LongName] = explicit{source, value}
			}
		}
	}
	return found, nil
}

// rows lists those of the table that carry a value.
func rows(table *flags.Group) []*flags.Option {
	return slices.DeleteFunc(slices.Clone(table.Options()), func(option *flags.Option) bool {
		return option.Field().Tag.Get("check") == ""
	})
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
		File: named(t.File), Path: t.Path, ContentType: t.ContentType, Preset: Preset(t.Preset),
		StdinTimeout: seconds(t.StdinTimeout), HeaderTimeout: seconds(t.HeaderTimeout),
		IdleTimeout: seconds(t.IdleTimeout), WriteTimeout: seconds(t.WriteTimeout),
		ShutdownTimeout: seconds(t.ShutdownTimeout), ReloadInterval: seconds(t.ReloadInterval),
		Port: uint16(number(t.Port)), MaxContent: number(t.MaxContent),
		Compression: t.Compression == "auto", MaxConnections: int(number(t.MaxConnections)),
		Threads: int(number(t.Threads)), Sandbox: t.Sandbox, AccessLog: t.AccessLog, LogLevel: t.LogLevel, LogFormat: t.LogFormat,
	}
	cfg.Host, _ = netip.ParseAddr(t.Host)
	cfg.Admin, _ = netip.ParseAddrPort(t.Admin)
	if path, is := strings.CutPrefix(t.Host, unixPrefix); is {
		cfg.Unix = path
	}
	for _, text := range t.Header {
		field, _ := parseField(text)
		cfg.Fields = append(cfg.Fields, field)
	}
	return cfg
}

// named is a file as Config has it.
func named(file string) string {
	if file == "-" {
		return ""
	}
	return file
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func seconds(text string) time.Duration { return time.Duration(number(text)) * time.Second }
