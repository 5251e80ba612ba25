package respond

import "strconv"

// Connection is the connection field of a response (K-34).
type Connection uint8

// The connection fields.
const (
	Silent Connection = iota
	Close
	KeepAlive
)

var connectionLines = [...]string{"\r\n", "connection: close\r\n\r\n", "connection: keep-alive\r\n\r\n"}

const dateName = "date: "

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
	c.line = append(AppendDate(append(c.line[:0], dateName...), unix), "\r\n"...)
}

func (c *Clock) date() []byte { return c.line[len(dateName) : len(c.line)-2] }

// refusal is a response that says nothing of the content (K-36).
type refusal struct {
	head string
	body []byte
}

// Statuses are those of all responses, in order.
var Statuses = [...]uint16{200, 206, 304, 400, 404, 412, 414, 416, 431, 505}

var refusals = makeRefusals()

func makeRefusals() (table [506]refusal) {
	for status, reason := range map[int]string{
		400: "Bad Request", 404: "Not Found", 412: "Precondition Failed", 414: "URI Too Long",
		416: "Range Not Satisfiable", 431: "Request Header Fields Too Large", 505: "HTTP Version Not Supported",
	} {
		body := reason
		if status == 404 {
			body = "No such resource"
		}
		head := "HTTP/1.1 " + strconv.Itoa(status) + " " + reason + "\r\n" +
			fieldLine("content-type", "text/plain; charset=utf-8") + fieldLine("content-length", strconv.Itoa(len(body)))
		table[status] = refusal{head, []byte(body)}
	}
	return table
}
