package mtasts

import (
	"bytes"
	"iter"
)

// How a policy is read: its lines, and what a line's key and value are (RFC 8461 section 3.2, SPEC K-94).

var byteOrderMark = []byte("\xef\xbb\xbf")

// keys are those of RFC 8461; any other is an extension, which sending mail servers ignore.
var keys = [...]string{"version", "mode", "max_age", "mx"}

// blanks are RFC 5234 appendix B.1: WSP.
const blanks = " \t"

// line is a line without its end.
type line struct {
	number int // from 1
	start  int // the column of the first byte, from 1: more than that where the byte-order mark was left out
	bytes  []byte
	ended  bool
}

// served is how many bytes are served of it: its end is CRLF then.
func (l line) served() int {
	size := l.start - 1 + len(l.bytes)
	if l.ended {
		size += len("\r\n")
	}
	return size
}

// pair is what a line says, with its places in the line, from 0.
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

// end is where what is not in the policy would stand.
func end(policy []byte) (line, column int) {
	last := policy[bytes.LastIndexByte(policy, '\n')+1:]
	return bytes.Count(policy, []byte{'\n'}) + 1, len(last) + 1
}

// pair is not there in a comment, where there is a bare CR, and without a colon. Blanks around key and value are
// left out, also where they must not be.
func (l line) pair() (p pair, found bool) {
	colon := bytes.IndexByte(l.bytes, ':')
	if colon < 0 || comment(l.bytes) >= 0 || bytes.IndexByte(l.bytes, '\r') >= 0 {
		return p, false
	}
	value := bytes.TrimLeft(l.bytes[colon+1:], blanks)
	p = pair{string(bytes.Trim(l.bytes[:colon], blanks)), colon, bytes.TrimRight(value, blanks), len(l.bytes) - len(value)}
	return p, true
}

// comment returns where the comment begins in a line that is one, from 0, and otherwise -1.
func comment(line []byte) int {
	text := bytes.TrimLeft(line, blanks)
	if !bytes.HasPrefix(text, []byte{'#'}) {
		return -1
	}
	return len(line) - len(text)
}

// near is the known key that key is, or nearly is: in other letters, with hyphens, or one edit away.
func near(key string) string {
	// No known key is longer, so that no long one need be copied.
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

// withinOneEdit says whether the Levenshtein distance is 0 or 1.
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
