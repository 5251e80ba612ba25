package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"kcup/config"
	"kcup/content"
	"kcup/respond"
	"kcup/server/guard"
)

// pipeline is the whole request path without its socket: guard, codec, choice, head.
type pipeline struct {
	codec   codec
	clock   respond.Clock
	content *content.Content
	out     []byte
}

func newPipeline() *pipeline {
	p := &pipeline{}
	p.codec.init()
	p.clock.Set(1767225600)
	source := content.Source{Bytes: []byte(strings.Repeat("kcup ", 400)), Name: "a.txt", Modified: time.Unix(1700000000, 0)}
	p.content = content.Build(source, &config.Config{Compression: true}, time.Unix(1767225600, 0))
	return p
}

func (p *pipeline) answer(t testing.TB, head []byte) respond.Choice {
	var g guard.Guard
	if g.Scan(head) != guard.Complete {
		t.Fatal("not complete")
	}
	request, err := p.codec.read(&g, head)
	if err != nil {
		t.Fatal(err)
	}
	choice := respond.Choose(request, p.content, "", p.clock.Unix)
	p.out = choice.AppendHead(p.out[:0], p.content, &p.clock, respond.Silent)
	return choice
}

func TestNothingIsAllocatedPerRequest(t *testing.T) {
	p := newPipeline()
	for _, fields := range []string{
		"", "Accept-Encoding: gzip, br;q=0.9\r\nUser-Agent: x\r\nCookie: a=b\r\nConnection: keep-alive\r\n",
		"Range: bytes=1-5\r\nIf-Range: Tue, 14 Nov 2023 22:13:20 GMT\r\n", "Range: bytes=100000-\r\n",
		"If-None-Match: \"x\", \"y\"\r\nIf-None-Match: " + p.content.ETag + "\r\n",
		"If-Modified-Since: Tuesday, 14-Nov-23 22:13:20 GMT\r\n",
	} {
		head := []byte("GET /a?b HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n")
		p.answer(t, head)
		if n := testing.AllocsPerRun(100, func() { p.answer(t, head) }); n != 0 {
			t.Errorf("%q: %v allocations", fields, n)
		}
	}
}

func TestTheBodyIsTheLoadedBytesAndNoCopy(t *testing.T) {
	p := newPipeline()
	body := p.answer(t, []byte("GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=1-5\r\n\r\n")).Body(p.content)
	if &body[0] != &p.content.Bytes[1] {
		t.Fatal("a copy")
	}
}

func vectorHeads(t testing.TB) (heads [][]byte) {
	var file struct{ Case []struct{ Head []any } }
	if _, err := toml.DecodeFile("../../conformance/vectors/guard.toml", &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Case {
		var head []byte
		for _, part := range c.Head {
			if text, is := part.(string); is {
				head = append(head, text...)
			} else if part := part.(map[string]any); part["repeat"] != nil {
				head = append(head, strings.Repeat(part["repeat"].(string), int(part["times"].(int64)))...)
			}
		}
		heads = append(heads, head)
	}
	corpus, err := filepath.Glob("../../conformance/corpus/guard/*")
	for _, path := range corpus {
		var head []byte
		if head, err = os.ReadFile(path); err != nil {
			break
		}
		heads = append(heads, head)
	}
	if err != nil || len(corpus) == 0 {
		t.Fatal("no corpus", err)
	}
	return heads
}

// read checks that the library agrees with the guard on what a head is.
func (p *pipeline) read(t *testing.T, b []byte) {
	var g guard.Guard
	if g.Scan(b) != guard.Complete {
		return
	}
	if _, err := p.codec.read(&g, b[:g.Length]); err != nil {
		t.Errorf("the guard lets through what the library refuses: %v in %q", err, b[:g.Length])
	}
}

func TestTheLibraryTakesWhatTheGuardLetsThrough(t *testing.T) {
	p := newPipeline()
	for _, head := range vectorHeads(t) {
		p.read(t, head)
	}
	p.read(t, []byte("GET / HTTP/1.1\r\nHost: a\r\nTrailer: Content-Length\r\nContent-Type:\r\nCookie: \"\r\n\r\n"))
}

func FuzzCodec(f *testing.F) {
	for _, head := range vectorHeads(f) {
		f.Add(head)
	}
	p := newPipeline()
	f.Fuzz(p.read)
}

func BenchmarkRequest(b *testing.B) {
	p := newPipeline()
	head := []byte("GET / HTTP/1.1\r\nHost: localhost:5000\r\n\r\n")
	b.ReportAllocs()
	for b.Loop() {
		p.answer(b, head)
	}
}
