package server

// Limits of K-67.
const (
	maxHead   = 16384
	maxTarget = 8192
	maxFields = 100
)

type verdict uint8

const (
	partial verdict = iota
	complete
	refused
)

type guardState uint8

const (
	atStart guardState = iota
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

// guard cuts one request head out of raw bytes and refuses what two parsers could read differently
// (SPEC section 6), so that the library behind it never sees anything it is lax about. It is resumed at
// its own position when more bytes have come; the verdict does not depend on how they were split.
type guard struct {
	pos         int // bytes looked at
	lineStart   int // where the target, and then each field line, begins
	mark        int // where the version, or a field's value, begins
	skip        int // 2 when a CRLF came first (K-68)
	state       guardState
	fields      uint8
	status      uint16 // of a refusal
	http10      bool
	hasHost     bool
	emptyHost   bool
	chunked     bool
	body        bool
	close       bool
	keepAlive   bool
	hasLength   bool
	requestLine int // where the first field line begins
}

// fresh says that no byte of a head has been seen: a forgiven CRLF counts for nothing.
func (g *guard) fresh() bool { return g.state <= atStartLF || g.state == inMethod && g.pos == g.skip }

// persists is K-34, the body left aside.
func (g *guard) persists() bool { return !g.close && (g.keepAlive || !g.http10) }

// scan looks at the bytes of b it has not seen; b always begins where the head begins.
func (g *guard) scan(b []byte) verdict {
	for g.pos < len(b) {
		end := min(len(b), g.skip+maxHead)
		if g.pos >= end {
			return g.refuse(431)
		}
		if v := g.step(b[:end]); v != partial {
			return v
		}
	}
	return partial
}

// step goes on in one state until it ends or the bytes do; there is at least one.
func (g *guard) step(b []byte) verdict {
	c := b[g.pos]
	switch g.state {
	case atStart:
		if c != '\r' {
			g.state = inMethod
			return partial
		}
		return g.expect(c, '\r', atStartLF)
	case atStartLF:
		g.skip = 2
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
		g.pos++
		g.requestLine = g.pos
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
		g.pos++
		g.state = atField
		return g.judgeField(b[g.lineStart:g.mark-1], b[g.mark:g.pos-2])
	default: // atEndLF
		if c != '\n' || !g.hasHost && !g.http10 {
			return g.refuse(400)
		}
		g.pos++
		return complete
	}
}

func (g *guard) refuse(status uint16) verdict {
	g.status = status
	return refused
}

func (g *guard) expect(c, want byte, next guardState) verdict {
	if c != want {
		return g.refuse(400)
	}
	g.pos++
	g.state = next
	return partial
}

// skipWhile moves on over the bytes of a class.
func (g *guard) skipWhile(b []byte, class uint8) {
	i := g.pos
	for i < len(b) && classes[b[i]]&class != 0 {
		i++
	}
	g.pos = i
}

func (g *guard) method(b []byte) verdict {
	g.skipWhile(b, token)
	if g.pos == len(b) {
		return partial
	}
	if g.pos == g.skip {
		return g.refuse(400)
	}
	g.lineStart = g.pos + 1
	return g.expect(b[g.pos], ' ', inTarget)
}

func (g *guard) target(b []byte) verdict {
	limit := min(len(b), g.lineStart+maxTarget)
	g.skipWhile(b[:limit], targetByte)
	switch {
	case g.pos == len(b):
		return partial
	case b[g.pos] == ' ' && g.pos > g.lineStart:
		g.mark = g.pos + 1
		return g.expect(b[g.pos], ' ', inVersion)
	case g.pos == g.lineStart+maxTarget:
		return g.refuse(414)
	}
	return g.refuse(400)
}

func (g *guard) version(b []byte) verdict {
	const form = "HTTP/d.d\r"
	for g.pos < len(b) {
		c, want := b[g.pos], form[g.pos-g.mark]
		if c != want && (want != 'd' || c < '0' || c > '9') {
			return g.refuse(400)
		}
		g.pos++
		if want == '\r' {
			g.state = atLineLF
			return partial
		}
	}
	return partial
}

func (g *guard) fieldStart(c byte) verdict {
	if c == '\r' {
		return g.expect(c, '\r', atEndLF)
	}
	if g.fields == maxFields {
		return g.refuse(431)
	}
	g.fields++
	g.lineStart = g.pos
	g.state = inName
	return partial
}

func (g *guard) name(b []byte) verdict {
	g.skipWhile(b, token)
	if g.pos == len(b) {
		return partial
	}
	if g.pos == g.lineStart {
		return g.refuse(400)
	}
	g.mark = g.pos + 1
	return g.expect(b[g.pos], ':', inValue)
}

func (g *guard) value(b []byte) verdict {
	g.skipWhile(b, valueByte)
	if g.pos == len(b) {
		return partial
	}
	return g.expect(b[g.pos], '\r', atValueLF)
}
