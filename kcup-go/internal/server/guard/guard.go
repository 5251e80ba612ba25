// Package guard owns the raw bytes of a request head: it cuts out one head, and refuses what two parsers could read
// differently (SPEC section 6), so that nothing behind it has to be strict.
// It must not decide what a response says.
package guard

// Limits of K-67.
const (
	MaxHead   = 16384
	maxTarget = 8192
	maxFields = 100
)

// Verdict is the guard's verdict on the bytes that it has seen.
type Verdict uint8

const (
	Partial Verdict = iota // nothing is wrong so far, and the end of the head has not come
	Complete
	Refused
)

type state uint8

const (
	atStart state = iota
	atStartLF
	inMethod
	inTarget
	inVersion
	atLineLF
	atField
	inName
	inValue
	atValueLF
	atEndLF
)

// Guard goes on where it stopped when more bytes have come; the verdict does not depend on how they were split. Its
// exported fields are valid once it is Complete, and Status once it is Refused.
type Guard struct {
	Length     int // bytes read; of a complete head, its length with the forgiven CRLF
	Skip       int // 2 if a CRLF came first (K-68), otherwise 0
	FirstField int // where the field lines begin
	Status     uint16
	HTTP10     bool
	Body       bool // whether a body is announced (K-70)

	lineStart int // where the target, and then each field line, begins
	mark      int // where the version, or a field's value, begins
	state     state
	fields    uint8
	hasHost   bool
	hasLength bool
	chunked   bool
	close     bool
	keepAlive bool
}

// Fresh reports whether no byte of a head has been seen, except for a CRLF before it.
func (g *Guard) Fresh() bool {
	return g.state <= atStartLF || g.state == inMethod && g.Length == g.Skip
}

// Persists reports whether the connection persists as far as the request goes (K-34), apart from a body.
func (g *Guard) Persists() bool { return !g.close && (g.keepAlive || !g.HTTP10) }

// Scan reads the bytes of b that it has not seen; b always begins where the head begins.
func (g *Guard) Scan(b []byte) Verdict {
	for g.Length < len(b) {
		end := min(len(b), g.Skip+MaxHead)
		if g.Length >= end {
			return g.refuse(431)
		}
		if v := g.step(b[:end]); v != Partial {
			return v
		}
	}
	return Partial
}

// step goes on in one state until that or the bytes end; there is at least one byte.
func (g *Guard) step(b []byte) Verdict {
	c := b[g.Length]
	switch g.state {
	case atStart:
		if c != '\r' {
			g.state = inMethod
			return Partial
		}
		return g.expect(c, '\r', atStartLF)
	case atStartLF:
		g.Skip = 2
		return g.expect(c, '\n', inMethod)
	case inMethod:
		return g.method(b)
	case inTarget:
		return g.target(b)
	case inVersion:
		return g.version(b)
	case atLineLF:
		if c != '\n' {
			return g.refuse(400)
		}
		g.Length++
		g.FirstField = g.Length
		g.state = atField
		return g.judgeRequestLine(b)
	case atField:
		return g.fieldStart(c)
	case inName:
		return g.name(b)
	case inValue:
		return g.value(b)
	case atValueLF:
		if c != '\n' {
			return g.refuse(400)
		}
		g.Length++
		g.state = atField
		return g.judgeField(b[g.lineStart:g.mark-1], b[g.mark:g.Length-2])
	default: // atEndLF
		if c != '\n' || !g.hasHost && !g.HTTP10 {
			return g.refuse(400)
		}
		g.Length++
		return Complete
	}
}

func (g *Guard) refuse(status uint16) Verdict {
	g.Status = status
	return Refused
}

func (g *Guard) expect(c, want byte, next state) Verdict {
	if c != want {
		return g.refuse(400)
	}
	g.Length++
	g.state = next
	return Partial
}

// skipWhile skips the bytes of a class.
func (g *Guard) skipWhile(b []byte, class uint8) {
	i := g.Length
	for i < len(b) && classes[b[i]]&class != 0 {
		i++
	}
	g.Length = i
}

func (g *Guard) method(b []byte) Verdict {
	g.skipWhile(b, token)
	if g.Length == len(b) {
		return Partial
	}
	if g.Length == g.Skip {
		return g.refuse(400)
	}
	g.lineStart = g.Length + 1
	return g.expect(b[g.Length], ' ', inTarget)
}

func (g *Guard) target(b []byte) Verdict {
	limit := min(len(b), g.lineStart+maxTarget)
	g.skipWhile(b[:limit], targetByte)
	switch {
	case g.Length == len(b):
		return Partial
	case b[g.Length] == ' ' && g.Length > g.lineStart:
		g.mark = g.Length + 1
		return g.expect(b[g.Length], ' ', inVersion)
	case classes[b[g.Length]]&targetByte != 0:
		return g.refuse(414)
	}
	return g.refuse(400)
}

func (g *Guard) version(b []byte) Verdict {
	const form = "HTTP/d.d\r"
	for g.Length < len(b) {
		c, want := b[g.Length], form[g.Length-g.mark]
		if c != want && (want != 'd' || c < '0' || c > '9') {
			return g.refuse(400)
		}
		g.Length++
		if want == '\r' {
			g.state = atLineLF
			return Partial
		}
	}
	return Partial
}

func (g *Guard) fieldStart(c byte) Verdict {
	if c == '\r' {
		return g.expect(c, '\r', atEndLF)
	}
	if classes[c]&token == 0 {
		return g.refuse(400)
	}
	if g.fields == maxFields {
		return g.refuse(431)
	}
	g.fields++
	g.lineStart = g.Length
	g.state = inName
	return Partial
}

func (g *Guard) name(b []byte) Verdict {
	g.skipWhile(b, token)
	if g.Length == len(b) {
		return Partial
	}
	g.mark = g.Length + 1
	return g.expect(b[g.Length], ':', inValue)
}

func (g *Guard) value(b []byte) Verdict {
	g.skipWhile(b, valueByte)
	if g.Length == len(b) {
		return Partial
	}
	return g.expect(b[g.Length], '\r', atValueLF)
}
