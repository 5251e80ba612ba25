package mtasts

import (
	"bytes"
	"strings"
)

// A name is at most 255 bytes on the wire, which is 253 in writing (RFC 1035 section 2.3.4).
const maxName = 253

// hostFault returns what is wrong with the value of an `mx`, which is not empty (RFC 8461 sections 3.2 and 4.1).
func hostFault(host []byte) (fault rule, found bool) {
	name := bytes.TrimPrefix(host, []byte("*."))
	switch {
	case notASCII(host) >= 0:
		return mxNonASCII, true
	case hasPriority(host):
		return mxPriority, true
	case bytes.ContainsAny(host, " \t,;"):
		return mxSeveral, true
	case isAddress(host):
		return mxAddress, true
	case bytes.IndexByte(host, ':') >= 0:
		return mxPort, true
	case bytes.HasSuffix(host, []byte{'.'}):
		return mxTrailingDot, true
	case bytes.IndexByte(name, '*') >= 0:
		return mxWildcard, true
	case !isName(name):
		return mxHost, true
	case bytes.IndexByte(host, '.') < 0:
		return mxOneLabel, true
	}
	return 0, false
}

// hasPriority recognises a host as in the zone file's MX record: digits, white space and more.
func hasPriority(host []byte) bool {
	rest := bytes.TrimLeft(host, "0123456789")
	return len(rest) > 1 && len(rest) < len(host) && strings.IndexByte(blanks, rest[0]) >= 0
}

// WrongWith returns what is wrong with a host for a new policy, in words that follow its value, or nothing.
func WrongWith(host string) string {
	if host == "" {
		return "is empty"
	}
	fault, found := hostFault([]byte(host))
	if !found || table[fault].severity == Warning {
		return ""
	}
	return strings.TrimPrefix(table[fault].message, `"mx" `)
}

// Domain returns the domain to publish a record for, without the dot at its end; empty if it is none, or too long with
// `_mta-sts.` before it.
func Domain(text string) string {
	name := strings.TrimSuffix(text, ".")
	if !isName([]byte(name)) || len(name)+len("_mta-sts.") > maxName {
		return ""
	}
	return name
}

// isAddress recognises addresses with or without brackets and port.
func isAddress(host []byte) bool {
	digitsAndDots := len(bytes.Trim(host, "0123456789.")) == 0 && len(bytes.Trim(host, ".")) > 0
	return host[0] == '[' || bytes.Count(host, []byte{':'}) > 1 || digitsAndDots
}

// isName checks the syntax of RFC 5321 section 4.1.2: Domain.
func isName(name []byte) bool {
	if len(name) > maxName {
		return false
	}
	for label := range bytes.SplitSeq(name, []byte{'.'}) {
		if !isLabel(label) {
			return false
		}
	}
	return true
}

func isLabel(label []byte) bool {
	for _, b := range label {
		if !isAlphanumeric(b) && b != '-' {
			return false
		}
	}
	return len(label) >= 1 && len(label) <= 63 && label[0] != '-' && label[len(label)-1] != '-'
}

func isAlphanumeric(b byte) bool {
	letter := b|0x20 >= 'a' && b|0x20 <= 'z'
	return letter || isDigit(b)
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
