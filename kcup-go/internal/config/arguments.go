package config

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// arguments are a command line taken apart. We do this ourselves, since no library reports mistakes in the words of
// K-04: some take the next option for a missing value, others print the mistake themselves, or end the process.
type arguments struct {
	given   map[string][]string // values by option name; of a single-valued option the last
	command *command            // named by the words so far
	file    *string             // nil: none is given without an option
	stop    string              // help or version, after which nothing is read
}

func takeApart(args []string) (a arguments, err error) {
	a.given, a.command = map[string][]string{}, serve
	for len(args) > 0 && a.stop == "" && err == nil {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			for len(args) > 0 && err == nil {
				err, args = a.takeWord(args[0]), args[1:]
			}
		case isOption(arg):
			args, err = a.takeOption(arg, args)
		default:
			err = a.takeWord(arg)
		}
	}
	return a, err
}

// asHost says what -h is, for people who expect help.
const asHost = "the host to listen on (see kcup --help)"

// takeOption returns the arguments after the option's value.
func (a *arguments) takeOption(arg string, rest []string) ([]string, error) {
	if strings.HasPrefix(arg, "-help") { // No host begins with "elp" (K-05a).
		return nil, usagef("unknown option %q: -h is %s", arg, asHost)
	}
	name, value, attached := cutOption(arg)
	known := slices.Concat(table, a.command.options)
	at := slices.IndexFunc(known, func(o option) bool { return "--"+o.name == name || "-"+o.short == name })
	switch {
	case at < 0:
		return nil, usagef("unknown option %q (see kcup --help)", name)
	case known[at].check == nil && attached:
		return nil, usagef("%s takes no value", name)
	case known[at].check == nil:
		a.stop = known[at].name
		return nil, nil
	case attached:
	case len(rest) > 0 && !isOption(rest[0]):
		value, rest = rest[0], rest[1:]
	case name == "-h":
		return nil, usagef("-h needs a value: %s", asHost)
	default:
		return nil, usagef("--%s needs a value", known[at].name)
	}
	if option := known[at]; option.many {
		a.given[option.name] = append(a.given[option.name], value)
	} else {
		a.given[option.name] = []string{value}
	}
	return rest, nil
}

// isOption reports whether an argument is an option, or several: - alone is a file.
func isOption(arg string) bool { return strings.HasPrefix(arg, "-") && arg != "-" }

// cutOption splits --name=value, -xvalue and -x=value.
func cutOption(arg string) (name, value string, attached bool) {
	if strings.HasPrefix(arg, "--") {
		return strings.Cut(arg, "=")
	}
	_, size := utf8.DecodeRuneInString(arg[1:])
	name, value = arg[:1+size], arg[1+size:]
	return name, strings.TrimPrefix(value, "="), value != ""
}

// setting has the values of an option, and the option or variable that gave them: empty for the default.
type setting struct {
	source string
	values []string
}

func (s setting) isOption() bool { return strings.HasPrefix(s.source, "--") }

type settings map[string]setting

// settle uses variables, and then defaults, for options that were not given, and checks every value. A variable that is
// empty counts as unset (K-02).
func (a *arguments) settle(options []option, getenv func(string) string) (settings, error) {
	found := settings{}
	for _, o := range options {
		s := setting{"--" + o.name, a.given[o.name]}
		if s.values == nil && o.variable != "" {
			s = setting{o.variable, o.split(getenv(o.variable))}
		}
		if s.values == nil {
			if s.source = ""; o.standard != "" {
				s.values = []string{o.standard}
			}
		}
		for _, value := range s.values {
			if wrong := o.check(value); wrong != "" {
				return nil, usagef("%s: %q %s", s.source, value, wrong)
			}
		}
		found[o.name] = s
	}
	return found, nil
}

// split returns the values in a variable.
func (o *option) split(value string) []string {
	switch {
	case value == "":
		return nil
	case o.many:
		return strings.FieldsFunc(value, func(r rune) bool { return r == '\n' })
	}
	return []string{value}
}

// text returns the value of a single-valued option.
func (s settings) text(name string) string {
	if values := s[name].values; len(values) > 0 {
		return values[0]
	}
	return ""
}

func (s settings) number(name string) int64 { return number(s.text(name)) }
