package respond

import (
	"strconv"
	"strings"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// Responses is one version of the content, with every response head that it may need, rendered when it is loaded: only
// the date, the connection field and the numbers of a 206 are left to write. It shares the content's holders.
type Responses struct {
	*content.Content
	ok, notModified [content.Codings]block
	partial         block
	status          uint16 // of a response with the whole content: --status
	path            string // --path, empty for any
	beforeLength    string // of a 206, up to its numbers; partial comes after them
	unsatisfied     string // the part of a 416 that depends on the content
}

// block is a rendered part of a response head.
type block struct {
	bytes        []byte
	lastModified int // the place of its value, in case the clock was set back (K-42); 0 if there is none
}

// Render renders the head of every response that c can have, in the order of K-40.
func Render(c *content.Content, cfg *config.Config) *Responses {
	r := &Responses{Content: c, status: cfg.Status, path: cfg.Path}
	var vary []string
	extra := ""
	if c.HasVariants() {
		vary = append(vary, "accept-encoding")
	}
	for _, field := range cfg.Fields {
		switch {
		case field.Name != "vary":
			extra += fieldLine(field.Name, field.Value)
		case field.Value != "":
			vary = append(vary, field.Value)
		}
	}
	if len(vary) > 0 {
		extra = fieldLine("vary", strings.Join(vary, ", ")) + extra
	}
	ranges, mediaType := fieldLine("accept-ranges", "bytes"), fieldLine("content-type", c.MediaType)
	for coding, v := range c.Variants {
		if v.Body == nil {
			continue
		}
		start := statusLine(cfg.Status) + mediaType + fieldLine("content-length", strconv.Itoa(len(v.Body)))
		if coding := content.Coding(coding); coding != content.Identity {
			start += fieldLine("content-encoding", coding.String())
		}
		if cfg.Status != 200 { // K-50
			r.ok[coding] = block{bytes: []byte(start + extra)}
			continue
		}
		r.ok[coding] = r.block(start, v.ETag, ranges+extra)
		r.notModified[coding] = r.block(statusLine(304), v.ETag, extra)
	}
	r.beforeLength = statusLine(206) + mediaType + "content-length: "
	r.partial = r.block("", c.ETag, ranges+extra)
	r.unsatisfied = fieldLine("content-range", "bytes */"+strconv.Itoa(len(c.Bytes)))
	return r
}

func (r *Responses) block(start, etag, end string) block {
	b := append([]byte(start), fieldLine("etag", etag)+"last-modified: "...)
	at := len(b)
	b = AppendDate(b, r.LastModified)
	return block{append(b, "\r\n"+end...), at}
}

func fieldLine(name, value string) string { return name + ": " + value + "\r\n" }

// Status returns the status code of the response that was chosen.
func (r *Responses) Status(choice Choice) uint16 {
	if choice.Status == 200 {
		return r.status
	}
	return choice.Status
}

// AppendHead renders the head of the response that was chosen.
func (r *Responses) AppendHead(b []byte, choice Choice, clock *Clock, connection Connection) []byte {
	switch choice.Status {
	case 200:
		b = r.appendBlock(b, &r.ok[choice.Coding], clock)
	case 304:
		b = r.appendBlock(b, &r.notModified[choice.Coding], clock)
	case 206:
		b = strconv.AppendInt(append(b, r.beforeLength...), int64(choice.Last-choice.First+1), 10)
		b = append(b, "\r\ncontent-range: bytes "...)
		b = append(strconv.AppendInt(b, int64(choice.First), 10), '-')
		b = append(strconv.AppendInt(b, int64(choice.Last), 10), '/')
		b = append(strconv.AppendInt(b, int64(len(r.Bytes)), 10), "\r\n"...)
		b = r.appendBlock(b, &r.partial, clock)
	default:
		b = append(b, refusals[choice.Status].head...)
		if choice.Status == 416 {
			b = append(b, r.unsatisfied...)
		}
		if choice.Allow {
			b = append(b, "allow: GET, HEAD\r\n"...)
		}
	}
	b = append(b, clock.line...)
	return append(b, connectionLines[connection]...)
}

// appendBlock appends a block. Its last-modified is never later than the date (K-42).
func (r *Responses) appendBlock(b []byte, part *block, clock *Clock) []byte {
	start := len(b)
	b = append(b, part.bytes...)
	if clock.Unix < r.LastModified && part.lastModified > 0 {
		at := start + part.lastModified
		copy(b[at:], clock.date())
	}
	return b
}

// Body returns the body of the response that was chosen: a part of the loaded bytes, never a copy.
func (r *Responses) Body(choice Choice) []byte {
	switch choice.Status {
	case 200:
		return r.Variants[choice.Coding].Body
	case 206:
		return r.Bytes[choice.First : choice.Last+1]
	case 304:
		return nil
	}
	return refusals[choice.Status].body
}
