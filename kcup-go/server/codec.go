package server

import (
	"bufio"
	"bytes"

	"github.com/valyala/fasthttp"

	"kcup/respond"
	"kcup/server/guard"
)

// codec turns a head that the guard let through into a request. The library sees nothing but this head:
// no socket, no body, no end. One codec serves a worker for good, and nothing in it is allocated twice.
type codec struct {
	header  fasthttp.RequestHeader
	bytes   bytes.Reader
	buffer  *bufio.Reader
	request respond.Request
	scratch []byte
}

// standIn is put in front of an empty host, which the library refuses and RFC 9110 section 7.2 allows.
const standIn = "Host: -\r\n"

func (c *codec) init() {
	c.buffer = bufio.NewReaderSize(&c.bytes, guard.MaxHead+len(standIn))
	// Else the library would judge Trailer, and lay Connection and Cookie aside.
	c.header.DisableSpecialHeader()
}

// read parses head, which begins at its request line. The request is good until the next call.
func (c *codec) read(g *guard.Guard, head []byte) (*respond.Request, error) {
	if head = head[g.Skip:]; g.EmptyHost {
		line := g.FirstField - g.Skip
		c.scratch = append(append(append(c.scratch[:0], head[:line]...), standIn...), head[line:]...)
		head = c.scratch
	}
	c.bytes.Reset(head)
	c.buffer.Reset(&c.bytes)
	if err := c.header.Read(c.buffer); err != nil {
		return nil, err
	}
	r := &c.request
	r.Target = c.header.RequestURI()
	switch string(c.header.Method()) {
	case "GET":
		r.Method = respond.Get
	case "HEAD":
		r.Method = respond.Head
	default:
		r.Method = respond.Other
	}
	for i := range r.Lines {
		r.Lines[i] = r.Lines[i][:0]
	}
	for name, value := range c.header.All() {
		if field := fieldOf(name); field < respond.Fields {
			r.Lines[field] = append(r.Lines[field], value)
		}
	}
	return r, nil
}

// fieldOf knows a field by its name in the library's spelling.
func fieldOf(name []byte) respond.Field {
	switch string(name) {
	case "Accept-Encoding":
		return respond.AcceptEncoding
	case "If-Match":
		return respond.IfMatch
	case "If-None-Match":
		return respond.IfNoneMatch
	case "If-Modified-Since":
		return respond.IfModifiedSince
	case "If-Unmodified-Since":
		return respond.IfUnmodifiedSince
	case "If-Range":
		return respond.IfRange
	case "Range":
		return respond.Range
	}
	return respond.Fields
}
