package config

import "gitlab.com/kcup/kcup/kcup-go/internal/mtasts"

// usages is what --help shows of the words.
const usages = "       kcup healthcheck [OPTIONS]\n" +
	"       kcup mta-sts lint [FILE] [--format text|json]\n" +
	"       kcup mta-sts txt [FILE] [--domain D]\n" +
	"       kcup mta-sts new --mode M --mx HOST ... --max-age N\n"

// takeWords finds fault with words that mean nothing (K-99, K-110). A single one that is no command is a file (K-01a).
func (a *arguments) takeWords() error {
	words := a.words
	switch {
	case len(words) == 0:
		return nil
	case words[0] == "healthcheck" && len(words) > 1:
		return unexpected(words[1])
	case words[0] == "healthcheck":
		return nil
	case words[0] != "mta-sts" && len(words) > 1:
		return unexpected(words[1])
	case words[0] != "mta-sts":
		a.given["file"], a.words = words, nil
		return nil
	case len(words) == 1:
		return usagef("mta-sts needs one of lint, txt, new")
	case verbs[words[1]] == nil:
		return usagef("mta-sts: %q is not one of lint, txt, new", words[1])
	}
	most := 3 // with a file
	if words[1] == "new" {
		most = 2
	}
	if len(words) > most {
		return unexpected(words[most])
	}
	return nil
}

// askHealth needs to know where the server is (K-110).
func (cfg *Config) askHealth() error {
	if cfg.Unix == "" && cfg.Port == 0 {
		return usagef("healthcheck needs a port")
	}
	cfg.Health = true
	return nil
}

// askPolicy checks the values of the verb's own options, and puts the question into cfg. text is a new policy.
func (a *arguments) askPolicy(cfg *Config) (text string, err error) {
	for _, file := range a.words[2:] {
		if wrong := checkFilled(file); wrong != "" {
			return "", usagef("FILE: %q %s", file, wrong)
		}
		cfg.File, cfg.Text = named(file), ""
	}
	verb := a.words[1]
	given, err := a.settle(verbs[verb], nil)
	if err != nil {
		return "", err
	}
	if verb == "new" {
		return newPolicy(given)
	}
	cfg.Question = &Question{verb, given.text("format"), mtasts.Domain(given.text("domain"))}
	return "", nil
}

// newPolicy is only called on values that were checked, none of which can be empty.
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
