package server

import (
	"bytes"

	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

// readRequest splits a head that the guard let through, which has judged its lines already. The request borrows head's
// bytes, and reuses what it has allocated.
func readRequest(r *respond.Request, g *guard.Guard, head []byte) {
	method, rest := cut(head[g.Skip:], ' ')
	r.Method = respond.MethodOf(method)
	r.Target, _ = cut(rest, ' ')
	for i := range r.Lines {
		r.Lines[i] = r.Lines[i][:0]
	}
	for lines := head[g.FirstField:]; lines[0] != '\r'; {
		var line []byte
		line, lines = cut(lines, '\n')
		name, value := cut(line, ':')
		if field := respond.FieldOf(name); field < respond.Fields {
			r.Lines[field] = append(r.Lines[field], bytes.Trim(value, " \t\r"))
		}
	}
}

// cut splits at a byte, which the guard has seen there.
func cut(b []byte, at byte) (before, behind []byte) {
	i := bytes.IndexByte(b, at)
	return b[:i], b[i+1:]
}
