package respond

import (
	"strconv"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// Connection is the connection field of an answer (K-34).
type Connection uint8

// The connection fields.
const (
	Silent Connection = iota
	Close
	KeepAlive
)

var connectionLines = [...]string{"\r\n", "connection: close\r\n\r\n", "connection: keep-alive\r\n\r\n"}

// Clock is the current second and its date field, rendered once.
type Clock struct {
	Unix int64
	line []byte
}

// Set renders the date when the second has changed, in whatever direction (K-37).
func (c *Clock) Set(unix int64) {
	if c.line != nil && c.Unix == unix {
		return
	}
	c.Unix = unix
	c.line = append(content.AppendDate(append(c.line[:0], "date: "...), unix), "\r\n"...)
}

// AppendHead renders the head of an answer, in the order of K-40.
func (choice Choice) AppendHead(b []byte, c *content.Content, clock *Clock, connection Connection) []byte {
	switch choice.Status {
	case 200:
		b = appendBlock(b, &c.Variants[choice.Coding].OK, c, clock)
	case 304:
		b = appendBlock(b, &c.Variants[choice.Coding].NotModified, c, clock)
	case 206:
		b = append(b, c.PartialHead...)
		b = strconv.AppendInt(b, int64(choice.Last-choice.First+1), 10)
		b = append(b, "\r\ncontent-range: bytes "...)
		b = append(strconv.AppendInt(b, int64(choice.First), 10), '-')
		b = append(strconv.AppendInt(b, int64(choice.Last), 10), '/')
		b = append(strconv.AppendInt(b, int64(len(c.Bytes)), 10), "\r\n"...)
		b = appendBlock(b, &c.Partial, c, clock)
	default:
		b = append(b, failures[choice.Status].head...)
		if choice.Status == 416 {
			b = append(b, c.Unsatisfied...)
		}
		if choice.Allow {
			b = append(b, "allow: GET, HEAD\r\n"...)
		}
	}
	b = append(b, clock.line...)
	return append(b, connectionLines[connection]...)
}

// appendBlock never says that the content is newer than the answer (K-42).
func appendBlock(b []byte, block *content.Block, c *content.Content, clock *Clock) []byte {
	start := len(b)
	b = append(b, block.Bytes...)
	if clock.Unix < c.LastModified {
		at := start + block.LastModified
		content.AppendDate(b[at:at:at+content.DateLength], clock.Unix)
	}
	return b
}

// failure is an answer that has nothing to do with the content (K-36).
type failure struct {
	head string
	body []byte
}

// Statuses are those of all answers, in order.
var Statuses = [...]uint16{200, 206, 304, 400, 404, 412, 414, 416, 431, 505}

var failures = makeFailures()

func makeFailures() (table [506]failure) {
	for status, reason := range map[int]string{
		400: "Bad Request", 404: "Not Found", 412: "Precondition Failed", 414: "URI Too Long",
		416: "Range Not Satisfiable", 431: "Request Header Fields Too Large", 505: "HTTP Version Not Supported",
	} {
		body := reason
		if status == 404 {
			body = "No such resource"
		}
		table[status] = failure{
			head: "HTTP/1.1 " + strconv.Itoa(status) + " " + reason + "\r\ncontent-type: text/plain; charset=utf-8\r\n" +
				"content-length: " + strconv.Itoa(len(body)) + "\r\n",
			body: []byte(body),
		}
	}
	return table
}
