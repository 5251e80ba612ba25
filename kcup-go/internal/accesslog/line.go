package accesslog

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"time"
)

// Entry has the contents of one line.
type Entry struct {
	Peer   netip.Addr // invalid for a unix socket
	Head   []byte     // from the request line on; nil if the head was refused
	Status uint16
	Bytes  int // of the response's body
}

// Greeting returns the line of K-15: JSON before lines of JSON. name is where kcup listens.
func Greeting(format, name string, now time.Time) string {
	if format != "json" {
		return fmt.Sprintf("kcup listening on %s\n", name)
	}
	at := appendEscaped(nil, []byte(name), `\"`, `\\`)
	return fmt.Sprintf("{\"time\":\"%s\",\"listening\":\"%s\"}\n", now.UTC().Format(layouts["json"]), at)
}

// HealthCheck is the address of `kcup healthcheck` (K-125a): nobody outside of this machine or container can have it.
var HealthCheck = netip.AddrFrom4([4]byte{127, 75, 67, 85})

// layouts are the forms in which formats write a time.
var layouts = map[string]string{"common": "02/Jan/2006:15:04:05 -0700", "json": "2006-01-02T15:04:05Z"}

// stamp is the time of lines, rendered once a second.
type stamp struct {
	layout string
	second int64
	text   []byte
}

func (s *stamp) at(second int64) []byte {
	if second != s.second || s.text == nil {
		s.second = second
		s.text = time.Unix(second, 0).UTC().AppendFormat(s.text[:0], s.layout)
	}
	return s.text
}

func (e *Entry) appendCommon(b, when []byte) []byte {
	b = append(e.appendPeer(b), " - - ["...)
	b = append(append(b, when...), `] "`...)
	if e.Head == nil {
		b = append(b, '-')
	} else {
		b = appendEscaped(b, e.requestLine(), `\x22`, `\x5C`)
	}
	b = strconv.AppendUint(append(b, `" `...), uint64(e.Status), 10)
	b = strconv.AppendInt(append(b, ' '), int64(e.Bytes), 10)
	return append(b, '\n')
}

func (e *Entry) appendJSON(b, when []byte) []byte {
	b = append(append(b, `{"time":"`...), when...)
	b = e.appendPeer(append(b, `","peer":"`...))
	if e.Head == nil {
		b = append(b, `","method":null,"target":null,"version":null`...)
	} else {
		method, rest, _ := bytes.Cut(e.requestLine(), space)
		target, version, _ := bytes.Cut(rest, space)
		b = append(append(b, `","method":"`...), method...)
		b = appendEscaped(append(b, `","target":"`...), target, `\"`, `\\`)
		b = append(append(b, `","version":"`...), version...)
		b = append(b, '"')
	}
	b = strconv.AppendUint(append(b, `,"status":`...), uint64(e.Status), 10)
	b = strconv.AppendInt(append(b, `,"bytes":`...), int64(e.Bytes), 10)
	return append(b, '}', '\n')
}

func (e *Entry) requestLine() []byte {
	line, _, _ := bytes.Cut(e.Head, lineEnd)
	return line
}

func (e *Entry) appendPeer(b []byte) []byte {
	if !e.Peer.IsValid() {
		return append(b, "unix:"...)
	}
	return e.Peer.Unmap().AppendTo(b) // an IPv4 address that connected to :: is written as one (K-125)
}

// appendEscaped writes quotation marks and backslashes as given. The guard lets no byte through that could end a line.
func appendEscaped(b, text []byte, quote, backslash string) []byte {
	for _, c := range text {
		switch c {
		case '"':
			b = append(b, quote...)
		case '\\':
			b = append(b, backslash...)
		default:
			b = append(b, c)
		}
	}
	return b
}

var (
	space   = []byte(" ")
	lineEnd = []byte("\r\n")
	newline = []byte("\n")
)
