package mtasts

import (
	"errors"
	"fmt"
	"strings"
)

// MaxMaxAge is the most that `max_age` may be, in seconds; a year and a day (RFC 8461 section 3.2).
const MaxMaxAge = 31557600

// Mode is what a sender does when a host fails validation (RFC 8461 section 5).
type Mode string

// The modes by their names.
const (
	Enforce Mode = "enforce"
	Testing Mode = "testing"
	None    Mode = "none"
)

func modeOf(name []byte) (mode Mode, known bool) {
	switch mode = Mode(name); mode {
	case Enforce, Testing, None:
		return mode, true
	}
	return "", false
}

// Policy is a policy with CRLF line ends, of hosts that WrongWith finds nothing wrong with and a max_age of at most
// MaxMaxAge seconds. An error says what is wrong with the whole.
func Policy(mode Mode, hosts []string, maxAge int64) (string, error) {
	var policy strings.Builder
	fmt.Fprintf(&policy, "version: STSv1\r\nmode: %s\r\n", mode)
	for _, host := range hosts {
		policy.WriteString("mx: " + host + "\r\n")
	}
	fmt.Fprintf(&policy, "max_age: %d\r\n", maxAge)
	if policy.Len() > MaxSize {
		return "", errors.New(table[sizeOver].message)
	}
	return policy.String(), nil
}
