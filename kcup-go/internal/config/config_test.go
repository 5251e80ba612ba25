package config

import (
	"errors"
	"strings"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
)

func parse(variables string, args ...string) (Config, string, error) {
	getenv := func(name string) string {
		for _, pair := range strings.Split(variables, ";") {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value
			}
		}
		return ""
	}
	return Parse(args, getenv, "1.2.3")
}

func TestUsageErrorsAreWordedAsTheContractSays(t *testing.T) {
	long := strings.Repeat("x", 108)
	for _, c := range []struct {
		variables, args, want string
	}{
		{"", "--port 70000", `--port: "70000" is not a whole number from 0 to 65535`},
		{"", "-p +1", `--port: "+1" is not a whole number from 0 to 65535`},
		{"PORT=x", "", `PORT: "x" is not a whole number from 0 to 65535`},
		{"", "--max-content-bytes 1099511627777", `--max-content-bytes: "1099511627777" is not a whole number from 1 to 1099511627776`},
		{"", "--x", `unknown option "--x" (see kcup --help)`},
		{"", "--x=1", `unknown option "--x" (see kcup --help)`},
		{"", "-x", `unknown option "-x" (see kcup --help)`},
		{"", "--port", `--port needs a value`},
		{"", "-h", "-h needs a value: the host to listen on (see kcup --help)"},
		{"", "-help", `unknown option "-help": -h is the host to listen on (see kcup --help)`},
		{"", "-p", `--port needs a value`},
		{"", "--port --host ::1", `--port needs a value`},
		{"", "x y", `unexpected argument "y" (see kcup --help)`},
		{"", "--host Localhost", `--host: "Localhost" is not an IPv4 or IPv6 address, localhost or unix:PATH`},
		{"", "--host unix:", `--host: "unix:" is not an IPv4 or IPv6 address, localhost or unix:PATH`},
		{"", "--host unix:" + long, `--host: "unix:` + long + `" is too long for a unix socket`},
		{"", "healthcheck x", `unexpected argument "x" (see kcup --help)`},
		{"PORT=0", "healthcheck", "healthcheck needs a port"},
		{"", "--host fe80::1%eth0", `--host: "fe80::1%eth0" is not an IPv4 or IPv6 address, localhost or unix:PATH`},
		{"", "--file=", `--file: "" is empty`},
		{"", "--path a", `--path: "a" does not start with "/"`},
		{"", "--path /a?b", `--path: "/a?b" is not a path`},
		{"CONTENT_TYPE=text", "", `CONTENT_TYPE: "text" is not a media type`},
		{"", "--header x", `--header: "x" is not "Name: value"`},
		{"HEADERS=A:b\nDATE:x", "", `HEADERS: "DATE:x" sets a field that kcup sets itself`},
		{"", "--admin 127.0.0.1", `--admin: "127.0.0.1" is not ADDR:PORT, localhost:PORT or :PORT`},
		{"", "--admin localhost", `--admin: "localhost" is not ADDR:PORT, localhost:PORT or :PORT`},
		{"", "--admin ::1:9000", `--admin: "::1:9000" is not ADDR:PORT, localhost:PORT or :PORT`},
		{"", "--admin [127.0.0.1]:9000", `--admin: "[127.0.0.1]:9000" is not ADDR:PORT, localhost:PORT or :PORT`},
		{"", "--admin [fe80::1%1]:9000", `--admin: "[fe80::1%1]:9000" is not ADDR:PORT, localhost:PORT or :PORT`},
		{"ADMIN=127.0.0.1:65536", "", `ADMIN: "127.0.0.1:65536" is not ADDR:PORT, localhost:PORT or :PORT`},
		{"", "--admin 127.0.0.1:+1", `--admin: "127.0.0.1:+1" is not ADDR:PORT, localhost:PORT or :PORT`},
		{"", "--access-log on", `--access-log: "on" is not one of off, common, json`},
		{"", "--sandbox on", `--sandbox: "on" is not one of auto, off, required`},
		{"", "--compression on", `--compression: "on" is not one of auto, off`},
	} {
		_, _, err := parse(c.variables, strings.Fields(c.args)...)
		if !errors.As(err, new(UsageError)) || err.Error() != c.want {
			t.Errorf("%s %s: %v, want %s", c.variables, c.args, err, c.want)
		}
	}
}

func TestAnOptionBeatsItsVariableAndTheLastOneWins(t *testing.T) {
	cfg, _, err := parse("PORT=81;HOST=;HEADERS=A: b\n\nC: d", "-p80", "--port=5000", "-h::1")
	if err != nil || cfg.Port != 5000 || cfg.Host.String() != "::1" || len(cfg.Fields) != 2 || cfg.Fields[1] != (Field{"c", "d"}) {
		t.Fatalf("%+v %v", cfg, err)
	}
	if cfg, _, err = parse("HEADERS=A: b;FILE=;PORT=81", "--header", "E: f", "--file", "-"); err != nil || len(cfg.Fields) != 1 || cfg.Port != 81 || cfg.File != "" {
		t.Fatalf("%+v %v", cfg, err)
	}
}

func TestAHostMayBeAUnixSocket(t *testing.T) {
	for _, path := range []string{"x", "/run/kcup.sock", "unix:x", strings.Repeat("x", 107)} {
		if cfg, _, err := parse("PORT=0", "healthcheck", "-hunix:"+path); err != nil || cfg.Unix != path || !cfg.Health {
			t.Errorf("%s: %+v %v", path, cfg, err)
		}
	}
	if cfg, _, err := parse("", "--host=::1", "--", "healthcheck"); err != nil || cfg.Unix != "" || !cfg.Health {
		t.Errorf("%+v %v", cfg, err)
	}
}

func TestLocalhostIsAnAddressAndNeedsNoResolver(t *testing.T) {
	cfg, _, err := parse("HOST=localhost", "--admin", ":9000")
	if err != nil || cfg.Host.String() != "127.0.0.1" || cfg.Admin.String() != "[::]:9000" {
		t.Errorf("%+v %v", cfg, err)
	}
}

func TestHelpSaysEverythingInTheTable(t *testing.T) {
	_, text, err := parse("PORT=x", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range table {
		short := "    "
		if o.short != "" {
			short = "-" + o.short + ", "
		}
		if !strings.Contains(text, "\n  "+short+"--"+o.name) || o.variable != "" && !strings.Contains(text, "[env: "+o.variable+"]") {
			t.Errorf("%s is missing", o.name)
		}
	}
	if _, text, _ = parse("", "mta-sts", "-p1", "lint", "x", "--help"); !strings.Contains(text, "--format F") {
		t.Error(text)
	}
	if _, text, _ = parse("", "--version"); text != "kcup 1.2.3 (go)\n" {
		t.Error(text)
	}
}

func TestMediaTypes(t *testing.T) {
	for text, want := range map[string]bool{
		"text/html": true, "text/html; charset=utf-8": true, `a/b;c="d e;f"; g=h`: true, "a/b ; c=d": true,
		"text": false, "/html": false, "text/": false, "text/html charset=utf-8": false, "a/b; c": false,
		`a/b; c="d`: false, "a/b; c=\x01": false, "a/b, c/d": false, "tëxt/html": false, "": false,
	} {
		if isMediaType(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestNewPoliciesAreThoseOfTheVectors(t *testing.T) {
	type newCase struct {
		Name            string
		Args            []string
		Policy, Refused string
	}
	for _, c := range conformance.Vectors[newCase](t, "mta_sts", "new") {
		_, text, err := parse("", append([]string{"mta-sts", "new"}, c.Args...)...)
		if text != c.Policy || (err == nil) != (c.Refused == "") || err != nil && err.Error() != c.Refused {
			t.Errorf("%s: %q %v", c.Name, text, err)
		}
	}
}

func TestWordsMayStandBehindADoubleDash(t *testing.T) {
	for _, args := range []string{"mta-sts txt --domain a.b -f x y", "-f x mta-sts txt --domain=a.b. -- y", "mta-sts --file x txt --domain a.b y"} {
		cfg, _, err := parse("", strings.Fields(args)...)
		if err != nil || cfg.File != "y" || *cfg.Question != (Question{"txt", "", "a.b"}) {
			t.Errorf("%s: %+v %v", args, cfg.Question, err)
		}
	}
	for _, args := range []string{"-- mta-sts lint mta-sts", "mta-sts -- lint mta-sts", "mta-sts lint mta-sts"} {
		cfg, _, err := parse("", strings.Fields(args)...)
		if err != nil || cfg.File != "mta-sts" || cfg.Question.Verb != "lint" {
			t.Errorf("%s: %+v %v", args, cfg.Question, err)
		}
	}
}

func TestAPresetDecidesAndRefuses(t *testing.T) {
	cfg, _, err := parse("PRESET=mta-sts;HEADERS=A: b")
	if err != nil || cfg.Path != "/.well-known/mta-sts.txt" || cfg.Compression || len(cfg.Fields) != 2 ||
		cfg.Fields[0] != (Field{"cache-control", "max-age=60"}) {
		t.Errorf("%+v %v", cfg, err)
	}
	if cfg, _, err = parse("", "--preset=mta-sts", "--header", "Cache-Control: no-store"); err != nil || len(cfg.Fields) != 1 {
		t.Errorf("%+v %v", cfg, err)
	}
	_, _, err = parse("COMPRESSION=auto", "--preset=mta-sts")
	if err == nil || err.Error() != `COMPRESSION: "auto" cannot be given with --preset mta-sts` {
		t.Error(err)
	}
}
