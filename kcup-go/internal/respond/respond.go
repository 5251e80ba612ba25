// Package respond owns the choice of a response: a request head and the content give it. All of it is pure.
// It must not touch sockets, read clocks or copy bodies.
package respond

import (
	"bytes"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// Method is a request method; only these are told apart (K-32).
type Method uint8

// The methods.
const (
	Get Method = iota
	Head
	Other
	Methods
)

// MethodOf returns the method of a name, which is case-sensitive (RFC 9110 section 9.1).
func MethodOf(name []byte) Method {
	switch string(name) {
	case "GET":
		return Get
	case "HEAD":
		return Head
	}
	return Other
}

// Field is a request field that a response can depend on.
type Field uint8

// The fields.
const (
	AcceptEncoding Field = iota
	IfMatch
	IfNoneMatch
	IfModifiedSince
	IfUnmodifiedSince
	IfRange
	Range
	Fields
)

// names are in lower case.
var names = [Fields]string{
	AcceptEncoding:    "accept-encoding",
	IfMatch:           "if-match",
	IfNoneMatch:       "if-none-match",
	IfModifiedSince:   "if-modified-since",
	IfUnmodifiedSince: "if-unmodified-since",
	IfRange:           "if-range",
	Range:             "range",
}

// FieldOf returns the field of a name, which is case-insensitive (RFC 9110 section 5.1); Fields is any other.
func FieldOf(name []byte) Field {
	for field, known := range names {
		if EqualFold(name, known) {
			return Field(field)
		}
	}
	return Fields
}

// Request is what a response depends on. It borrows its bytes.
type Request struct {
	Method Method
	Target []byte
	Lines  [Fields][][]byte // the values of each field's lines, in order, without white space around them
}

// only returns the value of a field that is there exactly once.
func (r *Request) only(field Field) ([]byte, bool) {
	if len(r.Lines[field]) != 1 {
		return nil, false
	}
	return r.Lines[field][0], true
}

// Choice is a response that has been chosen, but not rendered. First and Last count bytes of a 206, both included.
type Choice struct {
	Status      uint16 // 200 for the whole content, whatever --status is
	Allow       bool   // a 404 because of the method
	Coding      content.Coding
	First, Last int
}

// Choose chooses the response. now is in Unix seconds.
func Choose(r *Request, responses *Responses, now int64) Choice {
	c := responses.Content
	if path := responses.path; path != "" && string(pathOf(r.Target)) != path {
		return Choice{Status: 404}
	}
	if r.Method == Other {
		return Choice{Status: 404, Allow: true}
	}
	if responses.status != 200 { // K-50
		return Choice{Status: 200, Coding: negotiate(r.Lines[AcceptEncoding], c)}
	}
	modified := min(c.LastModified, now)
	choice := Choice{Status: 200, Coding: content.Identity}
	ranged := rangeOf(r, c, modified, now)
	switch ranged.kind {
	case satisfiable:
		choice.Status, choice.First, choice.Last = 206, ranged.first, ranged.last
	case unsatisfiable:
		choice.Status = 416
	case ignored:
		choice.Coding = negotiate(r.Lines[AcceptEncoding], c)
	}
	if status := precondition(r, c, choice.Coding, modified); status != 0 {
		return Choice{Status: status, Coding: choice.Coding}
	}
	return choice
}

// pathOf returns the target without scheme, authority and query; the guard has checked its form.
func pathOf(target []byte) []byte {
	if _, behind, ok := bytes.Cut(target, []byte("://")); ok && target[0] != '/' {
		target = nil
		if at := bytes.IndexAny(behind, "/?"); at >= 0 {
			target = behind[at:]
		}
	}
	path, _, _ := bytes.Cut(target, []byte{'?'})
	if len(path) == 0 {
		return root
	}
	return path
}

var root = []byte("/")
