package guard

import (
	"bytes"

	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
)

// judgeRequestLine is called at the line's LF: version first, then the form of the target, then CONNECT.
func (g *Guard) judgeRequestLine(b []byte) Verdict {
	method, target := b[g.Skip:g.lineStart-1], b[g.lineStart:g.mark-1]
	major, minor := b[g.mark+5], b[g.mark+7]
	if major != '1' || minor > '1' {
		return g.refuse(505)
	}
	g.HTTP10 = minor == '0'
	if !isTargetForm(string(method) == "OPTIONS", target) || string(method) == "CONNECT" {
		return g.refuse(400)
	}
	return Partial
}

// isTargetForm checks K-62.
func isTargetForm(options bool, target []byte) bool {
	if target[0] == '/' {
		return true
	}
	if len(target) == 1 && target[0] == '*' {
		return options
	}
	authority := target[schemeLength(target):]
	if len(authority) == len(target) {
		return false
	}
	if end := bytes.IndexAny(authority, "/?"); end >= 0 {
		authority = authority[:end]
	}
	return bytes.IndexByte(authority, '%') < 0 && isHostPort(authority)
}

// schemeLength returns the length of the http:// or https:// that a target begins with, or 0.
func schemeLength(target []byte) int {
	for _, scheme := range [...]string{"http://", "https://"} {
		if len(target) >= len(scheme) && respond.EqualFold(target[:len(scheme)], scheme) {
			return len(scheme)
		}
	}
	return 0
}

// isHostPort checks `uri-host [ ":" port ]` of K-66.
func isHostPort(b []byte) bool {
	i := 0
	if len(b) > 0 && b[0] == '[' {
		for i = 1; i < len(b) && classes[b[i]]&literal != 0; i++ {
		}
		if i == 1 || i == len(b) || b[i] != ']' {
			return false
		}
		i++
	} else {
		for ; i < len(b) && classes[b[i]]&hostByte != 0; i++ {
		}
	}
	if i == 0 {
		return false
	}
	if i < len(b) && b[i] == ':' {
		for i++; i < len(b) && classes[b[i]]&digit != 0; i++ {
		}
	}
	return i == len(b)
}

// judgeField is called at the LF of a field line.
func (g *Guard) judgeField(name, value []byte) Verdict {
	ok := true
	switch len(name) {
	case len("host"):
		if respond.EqualFold(name, "host") {
			value = respond.Trim(value)
			ok = !g.hasHost && (len(value) == 0 || isHostPort(value))
			g.hasHost = true
		}
	case len("connection"):
		if respond.EqualFold(name, "connection") {
			g.judgeConnection(value)
		}
	case len("content-length"):
		if respond.EqualFold(name, "content-length") {
			ok = g.judgeLength(respond.Trim(value))
		}
	case len("transfer-encoding"):
		if respond.EqualFold(name, "transfer-encoding") {
			ok = !g.chunked && !g.hasLength && !g.HTTP10 && respond.EqualFold(respond.Trim(value), "chunked")
			g.chunked, g.Body = true, true
		}
	}
	if !ok {
		return g.refuse(400)
	}
	return Partial
}

func (g *Guard) judgeLength(value []byte) bool {
	if g.hasLength || g.chunked || len(value) == 0 || len(value) > 18 {
		return false
	}
	g.hasLength = true
	for _, c := range value {
		if classes[c]&digit == 0 {
			return false
		}
		g.Body = g.Body || c != '0'
	}
	return true
}

func (g *Guard) judgeConnection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte{','}) {
		option = respond.Trim(option)
		g.close = g.close || respond.EqualFold(option, "close")
		g.keepAlive = g.keepAlive || respond.EqualFold(option, "keep-alive")
	}
}
