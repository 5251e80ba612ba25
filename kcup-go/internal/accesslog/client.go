package accesslog

import (
	"bytes"
	"net/netip"
	"strings"
	"unsafe"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
)

// client returns the client that a request with this head comes from, according to trusted proxies (K-128): the
// connection's peer, unless that is a trusted proxy. Each field is read from its end, where the proxies have added what
// they saw: nothing before it, which a client may have sent, can change how that is read.
func client(peer netip.Addr, head []byte, proxies *config.Proxies) netip.Addr {
	if !proxies.Contain(peer) {
		return peer
	}
	forwarded, isForwarded := named(peer, head, "forwarded", forwardedFor, proxies)
	other, isOther := named(peer, head, "x-forwarded-for", itself, proxies)
	switch {
	case isForwarded && isOther && forwarded != other:
		return peer // one may be the proxy's and the other a client's (K-128c)
	case isForwarded:
		return forwarded
	}
	return other
}

// named returns the client that the list in a field leads to (K-128a), if the list has members.
func named(peer netip.Addr, head []byte, name string, node func(member []byte) []byte, proxies *config.Proxies) (client netip.Addr, found bool) {
	client = peer
	for rest := head; len(rest) > 0; {
		var line []byte
		start := bytes.LastIndexByte(rest, '\n') + 1
		line, rest = rest[start:], rest[:max(start-1, 0)]
		list, more := valueOf(bytes.TrimSuffix(line, []byte("\r")), name, ':')
		for more {
			var member []byte
			if list, member, more = cutLast(list, ','); len(member) == 0 {
				continue
			}
			found = true
			address, ok := parseNode(node(member))
			if !ok {
				return client, true
			}
			if client = address; !proxies.Contain(address) {
				return client, true
			}
		}
	}
	return client, found
}

// valueOf returns the value of a field line, or of a parameter, if it has this name.
func valueOf(text []byte, name string, separator byte) (value []byte, ok bool) {
	if len(text) <= len(name) || text[len(name)] != separator || !bytes.EqualFold(text[:len(name)], []byte(name)) {
		return nil, false
	}
	return text[len(name)+1:], true
}

// cutLast returns what comes before and after the last separator. One between quotation marks does not count.
func cutLast(text []byte, separator byte) (before, behind []byte, found bool) {
	quoted := false
	for at := len(text) - 1; at >= 0; at-- {
		switch c := text[at]; {
		case c == '"':
			// Backwards, the first one without a backslash before it opens the quoted string.
			quoted = !quoted || at > 0 && text[at-1] == '\\'
		case c == separator && !quoted:
			return text[:at], respond.Trim(text[at+1:]), true
		}
	}
	return nil, respond.Trim(text), false
}

func itself(member []byte) []byte { return member }

// forwardedFor returns the value of the only parameter "for" of a member of forwarded (RFC 7239 section 4), without its
// quotation marks.
func forwardedFor(member []byte) (node []byte) {
	found := 0
	for more := true; more; {
		var part []byte
		member, part, more = cutLast(member, ';')
		if value, ok := valueOf(part, "for", '='); ok {
			node = value
			found++
		}
	}
	if found != 1 {
		return nil
	}
	if inner, ok := bytes.CutPrefix(node, quotationMark); ok {
		if inner, ok = bytes.CutSuffix(inner, quotationMark); ok {
			return inner
		}
	}
	return node
}

var quotationMark = []byte(`"`)

// parseNode reads the address in a node (K-128b).
func parseNode(node []byte) (address netip.Addr, ok bool) {
	text := unsafe.String(unsafe.SliceData(node), len(node)) // an address without a zone does not keep it
	port := ""
	inner, bracketed := strings.CutPrefix(text, "[")
	if bracketed {
		text, port, ok = strings.Cut(inner, "]")
		if !ok {
			return netip.Addr{}, false
		}
	} else if strings.Count(text, ":") == 1 {
		colon := strings.IndexByte(text, ':')
		text, port = text[:colon], text[colon:]
	}
	if strings.Contains(text, "%") || !isPort(port) {
		return netip.Addr{}, false
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap(), err == nil && (!bracketed || address.Is6())
}

// isPort reports whether text is nothing, a number or an obfuscated port (RFC 7239 section 6).
func isPort(text string) bool {
	const others = "._-"
	for at, c := range []byte(text) {
		isAlphanumeric := c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if at == 0 && c != ':' || at > 0 && !isAlphanumeric && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return len(text) != 1
}
