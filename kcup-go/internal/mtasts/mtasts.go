// Package mtasts owns MTA-STS policies: findings, the TXT record, a new policy (RFC 8461, SPEC section 9). Pure.
// It must not know the server, the command line, or where a policy comes from.
package mtasts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Served returns the bytes to serve: a line end of LF alone becomes CRLF (RFC 8461 section 3.2 has both).
func Served(policy []byte) []byte {
	served := make([]byte, 0, len(policy)+bytes.Count(policy, []byte{'\n'}))
	for at, b := range policy {
		if b == '\n' && (at == 0 || policy[at-1] != '\r') {
			served = append(served, '\r')
		}
		served = append(served, b)
	}
	return served
}

// Record returns the TXT record that announces a policy (RFC 8461 section 3.1): `v=STSv1; id=…;`, with the same id for
// a policy whatever its line ends, and another when anything else changes.
func Record(policy []byte) string {
	digest := sha256.Sum256(Served(policy))
	// 32 characters are the most that an id may have.
	return "v=STSv1; id=" + hex.EncodeToString(digest[:16]) + ";"
}

// ZoneLine returns the record as a line of a zone file, for a domain as Domain returns it.
func ZoneLine(domain, record string) string {
	return "_mta-sts." + domain + `. IN TXT "` + record + `"`
}

// MaxMaxAge is the most that `max_age` may be, in seconds; a year and a day (RFC 8461 section 3.2).
const MaxMaxAge = 31557600

// Mode is what a sending mail server does if a host fails validation (RFC 8461 section 5).
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

// Policy makes a policy with CRLF line ends, of hosts that WrongWith finds nothing wrong with and a max_age of at most
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
