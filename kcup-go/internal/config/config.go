// Package config owns the one table of options: flag, variable, default, help and check.
// It must not read files or open sockets.
package config

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Field is a field line of --header; its name is in lower case.
type Field struct{ Name, Value string }

// Config has the meaning of all options; every value is checked.
type Config struct {
	File            string // empty: standard input, or Text
	Text            string // the content itself, if it is not empty
	StdinTimeout    time.Duration
	Host            netip.Addr
	Unix            string // the path of a socket to listen on instead; empty: Host and Port
	Port            uint16
	MaxContent      int64
	Path            string // empty: any path
	Status          uint16 // of the response with the content
	ContentType     string // empty: decided when the content is loaded
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
	TrustedProxies  Proxies
	TLSCert         string // empty: no TLS
	TLSKey          string
	LogLevel        string
	LogFormat       string
	Health          bool      // check the server that these options would start, and serve nothing
	Question        *Question // nil: serve
}

// Question is a question about a policy, asked instead of serving it (K-93, K-97).
type Question struct {
	Verb   string // lint or txt
	Format string // of lint: text or json
	Domain string // of txt; empty: only the record's text
}

// Parse reads arguments and variables. If text is not empty, kcup prints it and does nothing else.
func Parse(args []string, getenv func(string) string, version string) (cfg Config, text string, err error) {
	a, err := takeApart(args)
	switch {
	case err != nil:
		return cfg, "", err
	case a.stop == "help":
		return cfg, a.command.helpText(), nil
	case a.stop == "version":
		return cfg, "kcup " + version + " (go)\n", nil
	case a.command.name == "mta-sts":
		return cfg, "", usagef("mta-sts needs one of lint, txt, new")
	case a.command == serve && a.file != nil:
		a.given["file"] = []string{*a.file}
	}
	given, err := a.settle(table, getenv)
	if err != nil {
		return cfg, "", err
	}
	cfg = given.meaning()
	health := a.command.name == "healthcheck"
	err = cmp.Or(cfg.decideSource(given), cfg.applyPreset(given))
	if err == nil && (a.command == serve || health) {
		err = cfg.pairTLS()
	}
	if err != nil || a.command == serve {
		return cfg, "", err
	}
	if health {
		return cfg, "", cfg.askHealth()
	}
	text, err = a.askPolicy(&cfg)
	return cfg, text, err
}

// meaning must only be called on checked values: the errors that it drops cannot occur.
func (s settings) meaning() Config {
	seconds := func(name string) time.Duration { return time.Duration(s.number(name)) * time.Second }
	cfg := Config{
		File: named(s.text("file")), Text: s.text("text"), Path: s.text("path"), Status: uint16(s.number("status")),
		ContentType: s.text("content-type"), Preset: Preset(s.text("preset")),
		Port: uint16(s.number("port")), MaxContent: s.number("max-content-bytes"), Compression: s.text("compression") == "auto",
		MaxConnections: int(s.number("max-connections")), Threads: int(s.number("threads")), Sandbox: s.text("sandbox"),
		AccessLog: s.text("access-log"), TLSCert: s.text("tls-cert"), TLSKey: s.text("tls-key"), LogLevel: s.text("log-level"), LogFormat: s.text("log-format"),
		StdinTimeout: seconds("stdin-read-timeout-seconds"), ReloadInterval: seconds("reload-interval-seconds"),
		HeaderTimeout: seconds("header-timeout-seconds"), IdleTimeout: seconds("idle-timeout-seconds"),
		WriteTimeout: seconds("write-timeout-seconds"), ShutdownTimeout: seconds("shutdown-timeout-seconds"),
	}
	cfg.Host, _ = parseHost(s.text("host"))
	cfg.Admin, _ = parseSocket(s.text("admin"))
	if text := s.text("trusted-proxy"); text != "" {
		cfg.TrustedProxies, _ = parseProxies(text)
	}
	if path, ok := strings.CutPrefix(s.text("host"), unixPrefix); ok {
		cfg.Unix = path
	}
	for _, text := range s["header"].values {
		field, _ := parseField(text)
		cfg.Fields = append(cfg.Fields, field)
	}
	return cfg
}

// decideSource chooses if both a file and a text are given: an option takes precedence over a variable (K-10a).
func (cfg *Config) decideSource(given settings) error {
	file, text := given["file"], given["text"]
	switch {
	case file.source == "" || text.source == "":
	case file.isOption() == text.isOption():
		return usagef("%s: %q cannot be given with %s", text.source, cfg.Text, file.source)
	case file.isOption():
		cfg.Text = ""
	}
	if cfg.Text != "" {
		cfg.File = ""
	}
	return nil
}

// pairTLS finds a certificate without a key, or the other way round (K-150).
func (cfg *Config) pairTLS() error {
	switch {
	case cfg.TLSCert != "" && cfg.TLSKey == "":
		return usagef("--tls-cert needs --tls-key (or TLS_KEY)")
	case cfg.TLSKey != "" && cfg.TLSCert == "":
		return usagef("--tls-key needs --tls-cert (or TLS_CERT)")
	}
	return nil
}

// named returns a file as Config has it.
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

// Preset is the kind of content that is served.
type Preset string

// MTASTS is an MTA-STS policy (RFC 8461).
const MTASTS Preset = "mta-sts"

// decided are the options that a preset decides, in the order of the table (K-91).
var decided = [...]string{"path", "status", "content-type", "compression"}

// applyPreset sets the options that the preset decides, none of which may have been given (K-90).
func (cfg *Config) applyPreset(given settings) error {
	if cfg.Preset == "" {
		return nil
	}
	for _, name := range decided {
		if s := given[name]; s.source != "" {
			return usagef("%s: %q cannot be given with --preset %s", s.source, s.values[0], cfg.Preset)
		}
	}
	// RFC 8461 section 3.2: the well-known path, the media type.
	cfg.Path = "/.well-known/mta-sts.txt"
	cfg.ContentType = "text/plain; charset=utf-8"
	cfg.Compression = false
	if !slices.ContainsFunc(cfg.Fields, func(f Field) bool { return f.Name == "cache-control" }) {
		cfg.Fields = slices.Insert(cfg.Fields, 0, Field{"cache-control", "max-age=60"})
	}
	return nil
}
