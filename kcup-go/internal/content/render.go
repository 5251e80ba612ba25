package content

import (
	"strconv"
	"strings"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// render makes the heads of all answers with content, in the order of K-40.
func (c *Content) render(kind string, fields []config.Field) {
	var vary []string
	extra := ""
	if c.Variants[Gzip].Body != nil {
		vary = append(vary, "accept-encoding")
	}
	for _, field := range fields {
		switch {
		case field.Name != "vary":
			extra += line(field.Name, field.Value)
		case field.Value != "":
			vary = append(vary, field.Value)
		}
	}
	if len(vary) > 0 {
		extra = line("vary", strings.Join(vary, ", ")) + extra
	}
	ranges := line("accept-ranges", "bytes")
	for coding := range c.Variants {
		v := &c.Variants[coding]
		if v.Body == nil {
			continue
		}
		start := "HTTP/1.1 200 OK\r\n" + line("content-type", kind) + line("content-length", strconv.Itoa(len(v.Body)))
		if Coding(coding) != Identity {
			start += line("content-encoding", Coding(coding).String())
		}
		v.OK = c.block(start, v.ETag, ranges+extra)
		v.NotModified = c.block("HTTP/1.1 304 Not Modified\r\n", v.ETag, extra)
	}
	c.PartialHead = "HTTP/1.1 206 Partial Content\r\n" + line("content-type", kind) + "content-length: "
	c.Partial = c.block("", c.ETag, ranges+extra)
	c.Unsatisfied = line("content-range", "bytes */"+strconv.Itoa(len(c.Bytes)))
}

func (c *Content) block(start, etag, end string) Block {
	b := append([]byte(start), line("etag", etag)+"last-modified: "...)
	at := len(b)
	b = AppendDate(b, c.LastModified)
	return Block{append(b, "\r\n"+end...), at}
}

func line(name, value string) string { return name + ": " + value + "\r\n" }
