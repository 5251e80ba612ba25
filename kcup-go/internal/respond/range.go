package respond

import (
	"bytes"
	"math"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

type rangeKind uint8

const (
	ignored rangeKind = iota
	satisfiable
	unsatisfiable
)

// byteRange is the part of the content that a range field selects; first and last are both included.
type byteRange struct {
	kind        rangeKind
	first, last int
}

// rangeOf returns the range to send, if the request has one that counts (K-48, K-49).
func rangeOf(r *Request, c *content.Content, modified, now int64) byteRange {
	value, once := r.only(Range)
	if !once || r.Method != Get || !ifRange(r, c, modified, now) {
		return byteRange{}
	}
	return parseRange(value, len(c.Bytes))
}

// ifRange reports whether the range is kept. A date is a strong validator only if the content cannot have changed again
// within its second (RFC 9110 section 8.8.2.2).
func ifRange(r *Request, c *content.Content, modified, now int64) bool {
	if len(r.Lines[IfRange]) == 0 {
		return true
	}
	value, once := r.only(IfRange)
	if !once {
		return false
	}
	if string(value) == c.ETag {
		return true
	}
	date, valid := ParseDate(value)
	return valid && date == modified && now-modified >= 1
}

// parseRange reads one byte range of RFC 9110 section 14.1.2; anything else is ignored.
func parseRange(value []byte, length int) byteRange {
	const unit = "bytes="
	if len(value) < len(unit) || !EqualFold(value[:len(unit)], unit) {
		return byteRange{}
	}
	var spec []byte
	for rest := value[len(unit):]; len(rest) > 0; {
		var member []byte
		member, rest, _ = bytes.Cut(rest, []byte{','})
		if member = Trim(member); len(member) == 0 {
			continue
		}
		if spec != nil {
			return byteRange{}
		}
		spec = member
	}
	return resolve(spec, length)
}

func resolve(spec []byte, length int) byteRange {
	from, to, ok := bytes.Cut(spec, []byte{'-'})
	first, hasFirst := number(from)
	last, hasLast := number(to)
	switch {
	case !ok || len(from) > 0 && !hasFirst || len(to) > 0 && !hasLast || !hasFirst && !hasLast:
		return byteRange{}
	case !hasFirst && last == 0:
		return byteRange{kind: unsatisfiable}
	case !hasFirst:
		return byteRange{satisfiable, max(0, length-last), length - 1}
	case hasLast && isLess(to, from):
		return byteRange{}
	case first >= length:
		return byteRange{kind: unsatisfiable}
	case !hasLast:
		last = math.MaxInt
	}
	return byteRange{satisfiable, first, min(last, length-1)}
}

// number reads any number of digits. The largest int stands for all numbers beyond it: no content is that long.
func number(digits []byte) (n int, valid bool) {
	for _, c := range digits {
		if !isDigit(c) {
			return 0, false
		}
		if d := int(c - '0'); n > (math.MaxInt-d)/10 {
			n = math.MaxInt
		} else {
			n = n*10 + d
		}
	}
	return n, len(digits) > 0
}

// isLess compares the digits themselves, since two numbers may be greater than any int.
func isLess(a, b []byte) bool {
	a, b = bytes.TrimLeft(a, "0"), bytes.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return bytes.Compare(a, b) < 0
}
