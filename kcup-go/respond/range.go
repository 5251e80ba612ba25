package respond

import (
	"math"

	"kcup/content"
)

type rangeKind uint8

const (
	ignored rangeKind = iota
	satisfiable
	unsatisfiable
)

// byteRange is what a range field selects; first and last are both included.
type byteRange struct {
	kind        rangeKind
	first, last int
}

// rangeOf is K-48 and K-49.
func rangeOf(r *Request, c *content.Content, modified, now int64) byteRange {
	value, once := r.only(Range)
	if !once || r.Method != Get || !ifRange(r, c, modified, now) {
		return byteRange{}
	}
	return parseRange(value, len(c.Bytes))
}

// ifRange says whether the range is kept. A date is a strong validator only when the content can not have
// changed twice in its second (RFC 9110 section 8.8.2.2).
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
	date, valid := ParseDate(value, now)
	return valid && date == modified && now-modified >= 1
}

// parseRange reads one byte range of RFC 9110 section 14.1.2; anything else is ignored.
func parseRange(value []byte, length int) byteRange {
	const unit = "bytes="
	if len(value) < len(unit) || !isWord(value[:len(unit)], unit) {
		return byteRange{}
	}
	var spec []byte
	for rest := value[len(unit):]; len(rest) > 0; {
		var member []byte
		member, rest = cut(rest, ',')
		member = trim(member)
		if len(member) == 0 {
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
	first, rest, hasFirst := leadingNumber(spec)
	if len(rest) == 0 || rest[0] != '-' {
		return byteRange{}
	}
	last, rest, hasLast := leadingNumber(rest[1:])
	switch {
	case len(rest) > 0 || !hasFirst && !hasLast:
		return byteRange{}
	case !hasFirst && last == 0:
		return byteRange{kind: unsatisfiable}
	case !hasFirst:
		return byteRange{satisfiable, max(0, length-last), length - 1}
	case !hasLast:
		last = math.MaxInt
	}
	switch {
	case last < first:
		return byteRange{}
	case first >= length:
		return byteRange{kind: unsatisfiable}
	}
	return byteRange{satisfiable, first, min(last, length-1)}
}

// leadingNumber stays at the largest int when digits go on: nothing is that long. Two such numbers are then equal,
// which is as good as any order of theirs.
func leadingNumber(b []byte) (n int, rest []byte, found bool) {
	i := 0
	for ; i < len(b) && isDigit(b[i]); i++ {
		d := int(b[i] - '0')
		if n > (math.MaxInt-d)/10 {
			n = math.MaxInt
		} else {
			n = n*10 + d
		}
	}
	return n, b[i:], i > 0
}

func cut(b []byte, at byte) (before, after []byte) {
	for i, c := range b {
		if c == at {
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}
