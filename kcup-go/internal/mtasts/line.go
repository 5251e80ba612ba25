package mtasts

import (
	"bytes"
	"iter"
)

// Reading a policy: its lines, and their keys and values (RFC 8461 section 3.2, SPEC K-94).

var byteOrderMark = []byte("\xef\xbb\xbf")

// keys are the keys of RFC 8461; any other is an extension, which sending mail servers ignore.
var keys = [...]string{"version", "mode", "max_age", "mx"}

// blanks are white space: WSP in RFC 5234 appendix B.1.
const blanks = " \t"

// line is a line without its end.
type line struct {
	number int // from 1
	start  int // the column of the first byte, from 1: more than that if a byte-order mark was removed
	bytes  []byte
	ended  bool
}

// served returns how many bytes are served of it, with CRLF at its end.
func (l line) served() int {
	size := l.start - 1 + len(l.bytes)
	if l.ended {
		size += len("\r\n")
	}
	return size
}

// pair is the key and value of a line, with their places in it, from 0.
type pair struct {
	key     string
	colon   int
	value   []byte
	valueAt int
}

func lines(policy []byte) iter.Seq[line] {
	return func(yield func(line) bool) {
		l := line{start: 1}
		for piece := range bytes.Lines(policy) {
			l.number++
			if piece, l.ended = bytes.CutSuffix(piece, []byte{'\n'}); l.ended {
				piece = bytes.TrimSuffix(piece, []byte{'\r'})
			}
			l.start, l.bytes = 1, piece
			if l.number == 1 && bytes.HasPrefix(piece, byteOrderMark) {
				l.start, l.bytes = 1+len(byteOrderMark), piece[len(byteOrderMark):]
			}
			if !yield(l) {
				return
			}
		}
	}
}

// end returns the line and column after the end, where anything missing would be.
func end(policy []byte) (line, column int) {
	last := policy[bytes.LastIndexByte(policy, '\n')+1:]
	return bytes.Count(policy, []byte{'\n'}) + 1, len(last) + 1
}

// pair returns nothing for a comment, and for a line with a bare CR or without a colon. Blanks around key and value are
// removed, even those that are not allowed.
func (l line) pair() (p pair, found bool) {
	colon := bytes.IndexByte(l.bytes, ':')
	if colon < 0 || comment(l.bytes) >= 0 || bytes.IndexByte(l.bytes, '\r') >= 0 {
		return p, false
	}
	value := bytes.TrimLeft(l.bytes[colon+1:], blanks)
	p = pair{string(bytes.Trim(l.bytes[:colon], blanks)), colon, bytes.TrimRight(value, blanks), len(l.bytes) - len(value)}
	return p, true
}

// comment returns where the comment begins in a line that is one, from 0, otherwise -1.
func comment(line []byte) int {
	text := bytes.TrimLeft(line, blanks)
	if !bytes.HasPrefix(text, []byte{'#'}) {
		return -1
	}
	return len(line) - len(text)
}

// near returns the known key that key is or resembles: in another letter case, with hyphens, or one edit away.
func near(key string) string {
	// No known key is longer, so a long key need not be copied.
	if len(key) > len("version")+1 {
		return ""
	}
	plain := []byte(key)
	for at, b := range plain {
		switch {
		case b == '-':
			plain[at] = '_'
		case b >= 'A' && b <= 'Z':
			plain[at] = b | 0x20
		}
	}
	for _, known := range keys {
		if withinOneEdit(string(plain), known) {
			return known
		}
	}
	return ""
}

// withinOneEdit reports whether the Levenshtein distance is 0 or 1.
func withinOneEdit(long, short string) bool {
	if len(long) < len(short) {
		long, short = short, long
	}
	same := 0
	for same < len(short) && long[same] == short[same] {
		same++
	}
	switch len(long) - len(short) {
	case 0:
		return same == len(long) || long[same+1:] == short[same+1:]
	case 1:
		return long[same+1:] == short[same:]
	}
	return false
}
