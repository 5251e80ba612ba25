package guard

// judgeRequestLine is called at its LF: version first, then the form of the target, then CONNECT.
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

// isTargetForm is K-62.
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
	for i, c := range authority {
		if c == '%' {
			return false
		}
		if c == '/' || c == '?' {
			authority = authority[:i]
			break
		}
	}
	return isHostPort(authority)
}

// schemeLength counts the bytes of http:// or https:// that a target begins with.
func schemeLength(target []byte) int {
	for _, scheme := range [...]string{"http://", "https://"} {
		if len(target) >= len(scheme) && equalFold(target[:len(scheme)], scheme) {
			return len(scheme)
		}
	}
	return 0
}

// isHostPort is `uri-host [ ":" port ]` of K-66.
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
		if equalFold(name, "host") {
			value = trimBlanks(value)
			ok = !g.hasHost && (len(value) == 0 || isHostPort(value))
			g.hasHost = true
		}
	case len("connection"):
		if equalFold(name, "connection") {
			g.judgeConnection(value)
		}
	case len("content-length"):
		if equalFold(name, "content-length") {
			ok = g.judgeLength(trimBlanks(value))
		}
	case len("transfer-encoding"):
		if equalFold(name, "transfer-encoding") {
			ok = !g.chunked && !g.hasLength && !g.HTTP10 && equalFold(trimBlanks(value), "chunked")
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
	for start, i := 0, 0; i <= len(value); i++ {
		if i < len(value) && value[i] != ',' {
			continue
		}
		option := trimBlanks(value[start:i])
		g.close = g.close || equalFold(option, "close")
		g.keepAlive = g.keepAlive || equalFold(option, "keep-alive")
		start = i + 1
	}
}

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// equalFold compares without regard to the case of ASCII letters; want is in lower case.
func equalFold(b []byte, want string) bool {
	if len(b) != len(want) {
		return false
	}
	for i, c := range b {
		if c != want[i] && (c < 'A' || c > 'Z' || c+32 != want[i]) {
			return false
		}
	}
	return true
}
