package server

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

// pipeline is the whole path of a request without its socket: guard, codec, choice, head.
type pipeline struct {
	request   respond.Request
	clock     respond.Clock
	responses *respond.Responses
	out       []byte
}

func newPipeline() *pipeline {
	p := &pipeline{}
	p.clock.Set(1767225600)
	cfg := &config.Config{Compression: true, Status: 200}
	source := content.Source{Bytes: []byte(strings.Repeat("kcup ", 400)), Name: "a.txt", Modified: time.Unix(1700000000, 0)}
	p.responses = respond.Render(content.Build(source, cfg, time.Unix(1767225600, 0)), cfg)
	return p
}

func (p *pipeline) respond(t testing.TB, head []byte) respond.Choice {
	var g guard.Guard
	if g.Scan(head) != guard.Complete {
		t.Fatal("not complete")
	}
	readRequest(&p.request, &g, head)
	choice := respond.Choose(&p.request, p.responses, p.clock.Unix)
	p.out = p.responses.AppendHead(p.out[:0], choice, &p.clock, respond.Silent)
	return choice
}

func TestNothingIsAllocatedPerRequest(t *testing.T) {
	p := newPipeline()
	for _, fields := range []string{
		"", "Accept-Encoding: gzip, br;q=0.9\r\nUser-Agent: x\r\nCookie: a=b\r\nConnection: keep-alive\r\n",
		"Range: bytes=1-5\r\nIf-Range: Tue, 14 Nov 2023 22:13:20 GMT\r\n", "Range: bytes=100000-\r\n",
		"If-None-Match: \"x\", \"y\"\r\nIf-None-Match: " + p.responses.ETag + "\r\n",
		"If-Modified-Since: Tuesday, 14-Nov-23 22:13:20 GMT\r\n",
	} {
		head := []byte("GET /a?b HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n")
		p.respond(t, head)
		if n := testing.AllocsPerRun(100, func() { p.respond(t, head) }); n != 0 {
			t.Errorf("%q: %v allocations", fields, n)
		}
	}
}

func TestTheBodyIsTheLoadedBytesAndNoCopy(t *testing.T) {
	p := newPipeline()
	body := p.responses.Body(p.respond(t, []byte("GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=1-5\r\n\r\n")))
	if &body[0] != &p.responses.Bytes[1] {
		t.Fatal("a copy")
	}
}

func vectorHeads(t testing.TB) (heads [][]byte) {
	for _, c := range conformance.Vectors[struct{ Head conformance.Parts }](t, "guard", "case") {
		heads = append(heads, c.Head.Bytes(t))
	}
	for _, seed := range conformance.Corpus(t, "guard") {
		heads = append(heads, seed.Bytes)
	}
	return heads
}

var emptyHost = regexp.MustCompile(`(?i)\nhost:[ \t]*\r\n`)

// library returns what fasthttp reads of a head. It refuses an empty host, which RFC 9110 section 7.2 allows.
func library(t *testing.T, g *guard.Guard, head []byte) (request respond.Request) {
	head = head[g.Skip:]
	if line := g.FirstField - g.Skip; emptyHost.Match(head) {
		head = slices.Concat(head[:line], []byte("Host: -\r\n"), head[line:])
	}
	var header fasthttp.RequestHeader
	header.DisableSpecialHeader() // otherwise it would judge Trailer, and leave Connection and Cookie out
	if err := header.Read(bufio.NewReaderSize(bytes.NewReader(head), 2*guard.MaxHead)); err != nil {
		t.Errorf("the guard lets through what the library refuses: %v in %q", err, head)
	}
	request.Method, request.Target = respond.MethodOf(header.Method()), header.RequestURI()
	for name, value := range header.All() {
		if field := respond.FieldOf(name); field < respond.Fields {
			request.Lines[field] = append(request.Lines[field], value)
		}
	}
	return request
}

// compare makes the library read what the codec reads.
func (p *pipeline) compare(t *testing.T, b []byte) {
	var g guard.Guard
	if g.Scan(b) != guard.Complete {
		return
	}
	readRequest(&p.request, &g, b[:g.Length])
	ours, theirs := p.request, library(t, &g, b[:g.Length])
	// A field without lines is nil in one and empty in the other.
	if fmt.Sprintf("%q", ours) != fmt.Sprintf("%q", theirs) {
		t.Errorf("%q, and the library reads %q in %q", ours, theirs, b[:g.Length])
	}
}

func TestTheCodecReadsWhatTheLibraryReads(t *testing.T) {
	p := newPipeline()
	for _, head := range vectorHeads(t) {
		p.compare(t, head)
	}
	for _, fields := range []string{
		"Trailer: Content-Length\r\nContent-Type:\r\nCookie: \"\r\n", "RANGE:bytes=1-2\r\nrange: \t bytes=3-4 \t\r\nRange:\r\n",
		"If-Match: a\r\nIf-None-Match: b\r\nIf-Modified-Since: c\r\nIf-Unmodified-Since: d\r\nIf-Range: e:f\r\naccept-encoding: g\r\n",
	} {
		p.compare(t, []byte("\r\nGET http://a/b?c HTTP/1.1\r\nHost:\r\n"+fields+"\r\n"))
	}
}

func FuzzCodec(f *testing.F) {
	for _, head := range vectorHeads(f) {
		f.Add(head)
	}
	p := newPipeline()
	f.Fuzz(p.compare)
}

func BenchmarkRequest(b *testing.B) {
	p := newPipeline()
	head := []byte("GET / HTTP/1.1\r\nHost: localhost:5000\r\n\r\n")
	b.ReportAllocs()
	for b.Loop() {
		p.respond(b, head)
	}
}
