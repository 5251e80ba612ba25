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

// Set renders the date if the second has changed, in either direction (K-37).
func (c *Clock) Set(unix int64) {
	if c.line != nil && c.Unix == unix {
		return
	}
	c.Unix = unix
	c.line = append(AppendDate(append(c.line[:0], dateName...), unix), "\r\n"...)
}

func (c *Clock) date() []byte { return c.line[len(dateName) : len(c.line)-2] }

// refusal is a response without the content (K-36).
type refusal struct {
	head string
	body []byte
}

// Statuses are the status codes of all responses, in order.
var Statuses = [...]uint16{
	200, 206, 304, 400, 401, 403, 404, 410, 412, 414, 416, 421, 429, 431, 451, 500, 501, 502, 503, 504, 505,
}

// phrases are their reason phrases.
var phrases = map[uint16]string{
	200: "OK", 206: "Partial Content", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
	404: "Not Found", 410: "Gone", 412: "Precondition Failed", 414: "URI Too Long", 416: "Range Not Satisfiable",
	421: "Misdirected Request", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
	451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
	503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
}

func statusLine(status uint16) string {
	return "HTTP/1.1 " + strconv.Itoa(int(status)) + " " + phrases[status] + "\r\n"
}

var refusals = makeRefusals()

func makeRefusals() (table [506]refusal) {
	for _, status := range []uint16{400, 404, 412, 414, 416, 431, 505} {
		body := phrases[status]
		if status == 404 {
			body = "No such resource"
		}
		head := statusLine(status) +
			fieldLine("content-type", "text/plain; charset=utf-8") + fieldLine("content-length", strconv.Itoa(len(body)))
		table[status] = refusal{head, []byte(body)}
	}
	return table
}
