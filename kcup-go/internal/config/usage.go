package config

import (
	"fmt"
	"strconv"
	"strings"
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

// help is generated from the table alone (K-05).
func help() string {
	var text strings.Builder
	text.WriteString("kcup puts one file on the web.\n\nUsage: kcup [OPTIONS] [FILE]\n" + usages + "\nOptions:\n")
	for _, o := range table {
		name := "    --" + o.name
		if o.short != "" {
			name = "-" + o.short + ", --" + o.name
		}
		if o.argument != "" {
			name += " " + o.argument
		}
		fmt.Fprintf(&text, "  %s\n          %s", name, o.help)
		if o.variable != "" {
			fmt.Fprintf(&text, " [variable: %s, default: %s]", o.variable, o.standard+o.unset)
		}
		text.WriteString("\n")
	}
	return text.String()
}
