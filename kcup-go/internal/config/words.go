package config

import (
	"embed"
	"slices"

	"gitlab.com/kcup/kcup/kcup-go/internal/mtasts"
)

// command is a command that the words on a command line name: its own options, which have no variables, and the words
// that may follow.
type command struct {
	name      string
	help      string // its file in help/
	takesFile bool
	options   []option
	commands  []*command
}

var serve = &command{help: "kcup", takesFile: true, commands: []*command{
	{name: "healthcheck", help: "healthcheck"},
	{name: "mta-sts", help: "mta-sts", commands: []*command{
		{name: "lint", help: "mta-sts-lint", takesFile: true, options: []option{
			{name: "format", standard: "text", check: oneOf("text", "json")},
		}},
		{name: "txt", help: "mta-sts-txt", takesFile: true, options: []option{
			{name: "domain", check: checkDomain},
		}},
		{name: "new", help: "mta-sts-new", options: []option{
			{name: "mode", check: oneOf("enforce", "testing", "none")},
			{name: "mx", many: true, check: mtasts.WrongWith},
			{name: "max-age", check: whole(0, mtasts.MaxMaxAge)},
		}},
	}},
}}

// texts are what --help prints: made from share/options.toml.
//
//go:embed help
var texts embed.FS

func (c *command) helpText() string {
	text, _ := texts.ReadFile("help/" + c.help + ".txt")
	return string(text)
}

// takeWord reads a word of a command, or a file (K-01a, K-99, K-110).
func (a *arguments) takeWord(word string) error {
	at := slices.IndexFunc(a.command.commands, func(c *command) bool { return c.name == word })
	switch {
	case a.file == nil && at >= 0:
		a.command = a.command.commands[at]
	case a.file == nil && a.command.takesFile:
		a.file = &word
	case a.command.name == "mta-sts":
		return usagef("mta-sts: %q is not one of lint, txt, new", word)
	default:
		return unexpected(word)
	}
	return nil
}

// askHealth prepares a health check, which needs a port (K-110).
func (cfg *Config) askHealth() error {
	if cfg.Unix == "" && cfg.Port == 0 {
		return usagef("healthcheck needs a port")
	}
	cfg.Health = true
	return nil
}

// askPolicy checks the values of the verb's own options, and stores the question in cfg. text is a new policy.
func (a *arguments) askPolicy(cfg *Config) (text string, err error) {
	if a.file != nil {
		if wrong := checkFilled(*a.file); wrong != "" {
			return "", usagef("FILE: %q %s", *a.file, wrong)
		}
		cfg.File, cfg.Text = named(*a.file), ""
	}
	verb := a.command.name
	given, err := a.settle(a.command.options, nil)
	if err != nil {
		return "", err
	}
	if verb == "new" {
		return newPolicy(given)
	}
	cfg.Question = &Question{verb, given.text("format"), mtasts.Domain(given.text("domain"))}
	return "", nil
}

// newPolicy must only be called on checked values, none of which can be empty.
func newPolicy(given settings) (string, error) {
	mode, hosts := mtasts.Mode(given.text("mode")), given["mx"].values
	switch {
	case mode == "":
		return "", usagef("mta-sts new needs --mode")
	case len(hosts) == 0 && mode != mtasts.None:
		return "", usagef("mta-sts new needs --mx")
	case given.text("max-age") == "":
		return "", usagef("mta-sts new needs --max-age")
	}
	policy, err := mtasts.Policy(mode, hosts, given.number("max-age"))
	if err != nil {
		return "", usagef("mta-sts new: %v", err)
	}
	return policy, nil
}
