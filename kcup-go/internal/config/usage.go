package config

import (
	"fmt"
	"strconv"
)

// UsageError is a mistake on the command line or in a variable: exit status 2 (K-03).
type UsageError struct{ text string }

func (e UsageError) Error() string { return e.text }

func usagef(format string, values ...any) error { return UsageError{fmt.Sprintf(format, values...)} }

func unexpected(argument string) error {
	return usagef("unexpected argument %q (see kcup --help)", argument)
}

// Escaped returns text as %q writes it, without the quotes.
func Escaped(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}
