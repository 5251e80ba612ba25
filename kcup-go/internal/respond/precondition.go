package respond

import (
	"bytes"
	"strings"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// precondition evaluates in the order of RFC 9110 section 13.2.2 (K-47); 0 means that no precondition decides.
func precondition(r *Request, c *content.Content, coding content.Coding, modified int64) uint16 {
	if lines := r.Lines[IfMatch]; len(lines) > 0 {
		// A variant's tag is weak and never matches strongly, so only the identity's is compared.
		if !matches(lines, c.ETag, true) {
			return 412
		}
	} else if date, valid := r.date(IfUnmodifiedSince); valid && modified > date {
		return 412
	}
	if lines := r.Lines[IfNoneMatch]; len(lines) > 0 {
		if matches(lines, c.Variants[coding].ETag, false) {
			return 304
		}
	} else if date, valid := r.date(IfModifiedSince); valid && modified <= date {
		return 304
	}
	return 0
}

func (r *Request) date(field Field) (int64, bool) {
	value, once := r.only(field)
	if !once {
		return 0, false
	}
	return ParseDate(value)
}

// matches reports whether a list of entity tags contains tag. A list that is not well formed contains nothing.
func matches(lines [][]byte, tag string, strong bool) bool {
	if len(lines) == 1 && EqualFold(lines[0], "*") {
		return true
	}
	found := false
	for _, line := range lines {
		for line = skipEmpty(line); len(line) > 0; line = skipEmpty(line) {
			end := tagEnd(line)
			if end == 0 {
				return false
			}
			found = found || sameTag(line[:end], tag, strong)
			line = Trim(line[end:])
			if len(line) > 0 && line[0] != ',' {
				return false
			}
		}
	}
	return found
}

// skipEmpty moves to the next member that is not empty.
func skipEmpty(b []byte) []byte { return bytes.TrimLeft(b, " \t,") }

// tagEnd returns where the entity tag at the start of b ends, or 0 if there is none (RFC 9110 section 8.8.3).
func tagEnd(b []byte) int {
	i := 0
	if bytes.HasPrefix(b, []byte("W/")) {
		i = 2
	}
	if i == len(b) || b[i] != '"' {
		return 0
	}
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c <= ' ' || c == 0x7f:
			return 0
		}
	}
	return 0
}

func sameTag(theirs []byte, ours string, strong bool) bool {
	if strong {
		return ours[0] == '"' && string(theirs) == ours
	}
	return string(bytes.TrimPrefix(theirs, []byte("W/"))) == strings.TrimPrefix(ours, "W/")
}
