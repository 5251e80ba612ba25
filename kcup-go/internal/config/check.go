package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"gitlab.com/kcup/kcup/kcup-go/internal/mtasts"
)

// The checks of the table: each returns what is wrong with a value, in the words of K-04, or nothing.

func checkFilled(value string) string {
	if value == "" {
		return "is empty"
	}
	return ""
}

// whole returns the check for a whole number within bounds.
func whole(least, most int64) func(string) string {
	return func(value string) string {
		n, err := strconv.ParseInt(value, 10, 64)
		if strings.Trim(value, "0123456789") != "" || err != nil || n < least || n > most {
			return fmt.Sprintf("is not a whole number from %d to %d", least, most)
		}
		return ""
	}
}

func oneOf(words ...string) func(string) string {
	return func(value string) string {
		if !slices.Contains(words, value) {
			return "is not one of " + strings.Join(words, ", ")
		}
		return ""
	}
}

// parseSocket also accepts localhost, or no address before the port (K-17a).
func parseSocket(value string) (netip.AddrPort, error) {
	if port, ok := strings.CutPrefix(value, ":"); ok {
		value = "[::]:" + port
	} else if port, ok := strings.CutPrefix(value, "localhost:"); ok {
		value = "127.0.0.1:" + port
	}
	return netip.ParseAddrPort(value)
}

func checkSocket(value string) string {
	if at, err := parseSocket(value); err != nil || at.Addr().Zone() != "" {
		return "is not ADDR:PORT, localhost:PORT or :PORT"
	}
	return ""
}

func checkField(value string) string {
	_, wrong := parseField(value)
	return wrong
}

func checkContentType(value string) string {
	if !isMediaType(value) {
		return "is not a media type"
	}
	return ""
}

func checkDomain(value string) string {
	if mtasts.Domain(value) == "" {
		return "is not a domain name"
	}
	return ""
}

const (
	unixPrefix = "unix:"
	// unix(7): 108 bytes, of which the last is zero.
	longestUnix = 107
)

// parseHost knows one name, localhost; none is looked up (K-17a).
func parseHost(value string) (netip.Addr, error) {
	if value == "localhost" {
		value = "127.0.0.1"
	}
	return netip.ParseAddr(value)
}

// checkHost accepts an address, or the path of a unix socket (K-140).
func checkHost(value string) string {
	path, isUnix := strings.CutPrefix(value, unixPrefix)
	if isUnix && len(path) > longestUnix {
		return "is too long for a unix socket"
	}
	// A zone names an interface of this host, which would have to be looked up.
	if addr, err := parseHost(value); path == "" || !isUnix && (err != nil || addr.Zone() != "") {
		return "is not an IPv4 or IPv6 address, localhost or unix:PATH"
	}
	return ""
}

func checkPath(value string) string {
	if !strings.HasPrefix(value, "/") {
		return `does not start with "/"`
	}
	for _, b := range []byte(value) {
		if b <= ' ' || b > '~' || b == '?' || b == '#' {
			return "is not a path"
		}
	}
	return ""
}

// ownFields are the fields that --header must not set (K-44).
var ownFields = []string{"content-type", "content-length", "transfer-encoding", "connection", "date", "etag",
	"last-modified", "content-range", "content-encoding", "accept-ranges"}

// longestName is the limit of kcup-rust's library.
const longestName = 65535

func parseField(text string) (Field, string) {
	name, value, found := strings.Cut(text, ":")
	value = strings.Trim(value, " \t")
	if !found || !isToken(name) || len(name) > longestName || !isPrintable(value, "\t") {
		return Field{}, `is not "Name: value"`
	}
	name = strings.ToLower(name)
	if slices.Contains(ownFields, name) {
		return Field{}, "sets a field that kcup sets itself"
	}
	return Field{name, value}, ""
}

// isMediaType checks the syntax of RFC 9110 section 8.3.1.
func isMediaType(text string) bool {
	full, parameters, _ := strings.Cut(text, ";")
	kind, sub, found := strings.Cut(strings.TrimRight(full, " "), "/")
	if !found || !isToken(kind) || !isToken(sub) || !isPrintable(text, "") {
		return false
	}
	for parameters = strings.Trim(parameters, " ;"); parameters != ""; parameters = strings.TrimLeft(parameters, " ;") {
		name, value, found := strings.Cut(parameters, "=")
		if !found || !isToken(name) {
			return false
		}
		end := parameterEnd(value)
		if end <= 0 {
			return false
		}
		parameters = strings.TrimLeft(value[end:], " ")
		if parameters != "" && parameters[0] != ';' {
			return false
		}
	}
	return true
}

// parameterEnd returns where a token or quoted string at the start of text ends, or 0 if there is none.
func parameterEnd(text string) int {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, " ;")
		if end < 0 {
			end = len(text)
		}
		if !isToken(text[:end]) {
			return 0
		}
		return end
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

func isToken(text string) bool {
	for _, b := range []byte(text) {
		letter := b|0x20 >= 'a' && b|0x20 <= 'z'
		if !letter && (b < '0' || b > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(b)) {
			return false
		}
	}
	return text != ""
}

func isPrintable(text, besides string) bool {
	for _, b := range []byte(text) {
		if (b < ' ' || b > '~') && strings.IndexByte(besides, b) < 0 {
			return false
		}
	}
	return true
}
