package config

import (
	flags "github.com/jessevdk/go-flags"

	"gitlab.com/kcup/kcup/kcup-go/internal/mtasts"
)

// Question is what is asked of a policy instead of serving it (K-93, K-97).
type Question struct {
	Verb   string // lint or txt
	Format string // of lint: text or json
	Domain string // of txt; empty: the record alone
}

// command is `kcup mta-sts` and its words, with their options as text, as in the table. They have no variables.
type command struct {
	Lint struct {
		Format string `long:"format" default:"text" check:"one-of text json" unquote:"false"`
	} `command:"lint"`
	Txt struct {
		Domain string `long:"domain" check:"domain" unquote:"false"`
	} `command:"txt"`
	New struct {
		Mode   string   `long:"mode" check:"one-of enforce testing none" unquote:"false"`
		MX     []string `long:"mx" check:"mx" unquote:"false"`
		MaxAge string   `long:"max-age" check:"whole 0 31557600" unquote:"false"`
	} `command:"new"`
}

// usages is what --help shows of the words.
const usages = "       kcup healthcheck [OPTIONS]\n" +
	"       kcup mta-sts lint [FILE] [--format text|json]\n" +
	"       kcup mta-sts txt [FILE] [--domain D]\n" +
	"       kcup mta-sts new --mode M --mx HOST ... --max-age N\n"

// asking is what of a command line is neither an option nor its value.
type asking struct {
	health bool
	verb   *flags.Command // of mta-sts; nil: serve
	file   []string       // at most one
}

// readWords settles what the words are. The library takes those that name a command with options, but none behind `--`.
func readWords(parser *flags.Parser, rest []string) (asking, error) {
	health, named := parser.Find("healthcheck"), parser.Find("mta-sts")
	var words []string
	for taken := parser.Active; taken != nil; taken = taken.Active {
		words = append(words, taken.Name)
	}
	words = append(words, rest...)
	switch {
	case len(words) == 0:
		return asking{}, nil
	case words[0] == health.Name && len(words) == 1:
		return asking{health: true}, nil
	case words[0] == health.Name:
		return asking{}, unexpected(words[1])
	case words[0] != named.Name:
		return asking{}, unexpected(words[0])
	case len(words) == 1:
		return asking{}, usagef("mta-sts needs one of lint, txt, new")
	}
	verb, files := named.Find(words[1]), words[2:]
	if verb == nil {
		return asking{}, usagef("mta-sts: %q is not one of lint, txt, new", words[1])
	}
	most := 1
	if verb.Name == "new" {
		most = 0
	}
	if len(files) > most {
		return asking{}, unexpected(files[most])
	}
	return asking{verb: verb, file: files}, nil
}

// askHealth needs to know where the server is (K-110).
func (cfg *Config) askHealth() error {
	if cfg.Unix == "" && cfg.Port == 0 {
		return usagef("healthcheck needs a port")
	}
	cfg.Health = true
	return nil
}

// answer checks the values of the word's own options, and puts what is asked into cfg. text is a new policy.
func (c *command) answer(asked asking, cfg *Config) (text string, err error) {
	for _, file := range asked.file {
		if wrong := check("filled", file); wrong != "" {
			return "", usagef("FILE: %q %s", file, wrong)
		}
		cfg.File = named(file)
	}
	if _, err := settle(rows(asked.verb.Group), func(string) string { return "" }); err != nil {
		return "", err
	}
	if asked.verb.Name == "new" {
		return c.newPolicy()
	}
	cfg.Question = &Question{asked.verb.Name, c.Lint.Format, mtasts.Domain(c.Txt.Domain)}
	return "", nil
}

// newPolicy is only called on values that were checked, none of which can be empty.
func (c *command) newPolicy() (string, error) {
	mode := mtasts.Mode(c.New.Mode)
	switch {
	case mode == "":
		return "", usagef("mta-sts new needs --mode")
	case len(c.New.MX) == 0 && mode != mtasts.None:
		return "", usagef("mta-sts new needs --mx")
	case c.New.MaxAge == "":
		return "", usagef("mta-sts new needs --max-age")
	}
	policy, err := mtasts.Policy(mode, c.New.MX, number(c.New.MaxAge))
	if err != nil {
		return "", usagef("mta-sts new: %v", err)
	}
	return policy, nil
}
