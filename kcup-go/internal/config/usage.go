package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	flags "github.com/jessevdk/go-flags"
)

// UsageError is a mistake on the command line or in a variable: exit status 2 (K-03).
type UsageError struct{ text string }

func (e UsageError) Error() string { return e.text }

func usagef(format string, values ...any) error { return UsageError{fmt.Sprintf(format, values...)} }

func unexpected(argument string) error {
	return usagef("unexpected argument %q (see kcup --help)", argument)
}

// Escaped is text as %q has it between its quotes.
func Escaped(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// usageError puts what the library found into the words of K-04. rest begins with
// the argument that the library was looking at.
func usageError(err error, rest []string) error {
	at := rest[0]
	var found *flags.Error
	if !errors.As(err, &found) {
		return unexpected(at)
	}
	switch found.Type {
	case flags.ErrUnknownFlag:
		return usagef("unknown option %q (see kcup --help)", optionName(at))
	case flags.ErrExpectedArgument:
		// The message holds the option as `-p, --port': an error reads the same for both.
		_, name, _ := strings.Cut(found.Message, "--")
		name, _, _ = strings.Cut(name, "'")
		return usagef("--%s needs a value", name)
	case flags.ErrNoArgumentForBool:
		return usagef("%s takes no value", optionName(at))
	}
	return unexpected(at)
}

// optionName is an argument without its value: --x of --x=1, -x of -xyz.
func optionName(argument string) string {
	if strings.HasPrefix(argument, "--") {
		name, _, _ := strings.Cut(argument, "=")
		return name
	}
	_, size := utf8.DecodeRuneInString(argument[1:])
	return argument[:1+size]
}

// help is generated from the table alone (K-05).
func help(parser *flags.Parser) string {
	var text strings.Builder
	text.WriteString("kcup puts one file on the web.\n\nUsage: kcup [OPTIONS]\n" + usages + "\nOptions:\n")
	for _, option := range parser.Groups()[0].Options() {
		name := "    "
		if option.ShortName != 0 {
			name = "-" + string(option.ShortName) + ", "
		}
		name += "--" + option.LongName
		if option.ValueName != "" {
			name += " " + option.ValueName
		}
		fmt.Fprintf(&text, "  %s\n          %s", name, option.Description)
		if tag := option.Field().Tag; tag.Get("var") != "" {
			value := tag.Get("else")
			if len(option.Default) > 0 {
				value = option.Default[0]
			}
			fmt.Fprintf(&text, " [variable: %s, default: %s]", tag.Get("var"), value)
		}
		text.WriteString("\n")
	}
	return text.String()
}
