package respond

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// Sat, 21 Nov 2026 07:00:00 GMT
const now = 1795244400

const (
	earlier  = "Sat, 21 Nov 2026 05:59:59 GMT"
	modified = "Sat, 21 Nov 2026 06:00:00 GMT"
	later    = "Sat, 21 Nov 2026 06:00:01 GMT"
)

func responses() *Responses {
	source := content.Source{Bytes: []byte(strings.Repeat("0123456789", 200)), Name: "a.txt", Modified: time.Unix(now-3600, 0)}
	cfg := &config.Config{Compression: true, Status: 200, Fields: []config.Field{{Name: "x-a", Value: "1"}, {Name: "x-b", Value: "2"}}}
	return Render(content.Build(source, cfg, time.Unix(now, 0)), cfg)
}

// request makes a request of field lines, "name: value".
func request(method, target string, lines ...string) *Request {
	r := &Request{Method: MethodOf([]byte(method)), Target: []byte(target)}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		if field := FieldOf([]byte(name)); field < Fields {
			r.Lines[field] = append(r.Lines[field], []byte(strings.TrimSpace(value)))
		}
	}
	return r
}

// render returns the response at a time: its status line, its fields, and its body.
func render(r *Responses, choice Choice, unix int64, connection Connection) (status string, fields []string, body string) {
	var clock Clock
	clock.Set(unix)
	head, _ := strings.CutSuffix(string(r.AppendHead(nil, choice, &clock, connection)), "\r\n\r\n")
	fields = strings.Split(head, "\r\n")
	return fields[0], fields[1:], string(r.Body(choice))
}

func get(r *Responses, lines ...string) Choice {
	return Choose(request("GET", "/", lines...), r, now)
}

func TestA200HasItsFieldsInOrder(t *testing.T) {
	r := responses()
	status, fields, body := render(r, get(r, "Accept-Encoding: br"), now, Close)
	tag := "etag: " + r.Variants[content.Brotli].ETag
	want := []string{
		"content-type: text/plain; charset=utf-8", "", "content-encoding: br", tag, "last-modified: " + modified,
		"accept-ranges: bytes", "vary: accept-encoding", "x-a: 1", "x-b: 2", "date: Sat, 21 Nov 2026 07:00:00 GMT", "connection: close",
	}
	if want[1] = "content-length: " + strconv.Itoa(len(body)); status != "HTTP/1.1 200 OK" || !slices.Equal(fields, want) {
		t.Errorf("%s %q", status, fields)
	}
	status, fields, body = render(r, get(r, "Range: bytes=1-3"), now, KeepAlive)
	want = []string{
		want[0], "content-length: 3", "content-range: bytes 1-3/2000", "etag: " + r.ETag, want[4], want[5], want[6], want[7], want[8],
		want[9], "connection: keep-alive",
	}
	if status != "HTTP/1.1 206 Partial Content" || !slices.Equal(fields, want) || body != "123" {
		t.Errorf("%s %q %s", status, fields, body)
	}
	status, fields, body = render(r, get(r, "If-None-Match: *"), now, Silent)
	want = []string{"etag: " + r.ETag, want[4], want[6], want[7], want[8], want[9]}
	if status != "HTTP/1.1 304 Not Modified" || !slices.Equal(fields, want) || body != "" {
		t.Errorf("%s %q %s", status, fields, body)
	}
}

func TestFailuresHaveTheirTextAndWhatTheirStatusDemands(t *testing.T) {
	r := responses()
	for _, c := range []struct {
		method, target, line, status, body string
		extra                              []string
	}{
		{"GET", "/x/", "", "404 Not Found", "No such resource", nil},
		{"POST", "/", "", "404 Not Found", "No such resource", nil},
		{"OPTIONS", "*", "", "404 Not Found", "No such resource", nil},
		{"POST", "/x?y", "", "404 Not Found", "No such resource", []string{"allow: GET, HEAD"}},
		{"get", "/x", "", "404 Not Found", "No such resource", []string{"allow: GET, HEAD"}},
		{"GET", "/x", "If-Match: x", "412 Precondition Failed", "Precondition Failed", nil},
		{"GET", "/x", "Range: bytes=2000-", "416 Range Not Satisfiable", "Range Not Satisfiable", []string{"content-range: bytes */2000"}},
	} {
		r.path = "/x"
		choice := Choose(request(c.method, c.target, c.line), r, now)
		status, fields, body := render(r, choice, now, Silent)
		want := slices.Concat([]string{"content-type: text/plain; charset=utf-8", "content-length: " + strconv.Itoa(len(c.body))}, c.extra,
			[]string{"date: Sat, 21 Nov 2026 07:00:00 GMT"})
		if status != "HTTP/1.1 "+c.status || !slices.Equal(fields, want) || body != c.body {
			t.Errorf("%v: %s %q %s", c, status, fields, body)
		}
	}
}

func TestThePathIsThatOfTheTarget(t *testing.T) {
	r := responses()
	for target, path := range map[string]string{
		"/": "/", "/x": "/x", "/x?y": "/x", "/x/?": "/x/", "/?/x": "/", "/x?y?z": "/x", "*": "*",
		"http://a": "/", "http://a/": "/", "http://a/x": "/x", "HTTPS://a:1/x?y": "/x", "http://a?/x": "/", "http://a//x": "//x",
	} {
		r.path = path
		if Choose(request("GET", target), r, now).Status != 200 {
			t.Errorf("%s is not %s", target, path)
		}
		r.path = path + "z"
		if Choose(request("GET", target), r, now).Status != 404 {
			t.Errorf("%s is %sz", target, path)
		}
	}
}

func TestOnlyLettersHaveTwoCases(t *testing.T) {
	for text, want := range map[string]bool{"AZ=": true, "az=": true, "aZ\x1d": false, "az]": false, "ay=": false} {
		if EqualFold([]byte(text), "az=") != want {
			t.Errorf("%q", text)
		}
	}
}

func TestHeadIsAnsweredAsGetButWithoutRanges(t *testing.T) {
	r := responses()
	for _, more := range [][]string{{"Range: bytes=0-0"}, {"Range: bytes=0-0", "If-Range: x"}} {
		lines := append(more, "Accept-Encoding: gzip")
		head, got := Choose(request("HEAD", "/", lines...), r, now), get(r, lines[1:]...)
		if head != got || head.Coding != content.Gzip {
			t.Error(head, got)
		}
	}
}

func TestARangeSelectsIdentityBeforePreconditions(t *testing.T) {
	r := responses()
	for _, c := range []struct {
		lines  []string
		status uint16
		coding content.Coding
	}{
		{[]string{"Range: bytes=0-0"}, 206, content.Identity},
		{[]string{"Range: bytes=0-0", "Range: bytes=0-0"}, 200, content.Brotli},
		{[]string{"Range: bytes=0-0,2-2"}, 200, content.Brotli},
		{[]string{"Range: bytes=0-0", "If-None-Match: " + r.ETag}, 304, content.Identity},
		{[]string{"Range: bytes=2000-", "If-None-Match: " + r.ETag}, 304, content.Identity},
		{[]string{"If-None-Match: " + r.ETag}, 200, content.Brotli},
		{[]string{"Range: bytes=0-0", `If-Match: "x"`}, 412, content.Identity},
		{[]string{"Range: bytes=0-0", "If-Match: " + r.ETag}, 206, content.Identity},
	} {
		if got := get(r, append(c.lines, "Accept-Encoding: br")...); got.Status != c.status || got.Coding != c.coding {
			t.Errorf("%q: %v", c.lines, got)
		}
	}
}

func TestIfRangeKeepsTheRangeOnlyWithAStrongValidator(t *testing.T) {
	r := responses()
	for _, c := range []struct {
		validator string
		unix      int64
		status    uint16
	}{
		{r.ETag, now, 206}, {modified, now, 206}, {"Saturday, 21-Nov-26 06:00:00 GMT", now, 206},
		{"W/" + r.ETag, now, 200}, {"*", now, 200}, {"", now, 200}, {`"x"`, now, 200}, {earlier, now, 200}, {later, now, 200},
		{r.ETag + ", " + r.ETag, now, 200}, {modified, now - 3599, 206}, {modified, now - 3600, 200},
	} {
		got := Choose(request("GET", "/", "Range: bytes=0-0", "If-Range: "+c.validator), r, c.unix)
		if got.Status != c.status {
			t.Errorf("%s: %v", c.validator, got)
		}
	}
	if got := get(r, "Range: bytes=0-0", "If-Range: "+r.ETag, "If-Range: "+r.ETag); got.Status != 200 {
		t.Error(got)
	}
}

func TestPreconditionsAreEvaluatedInOrder(t *testing.T) {
	r := responses()
	for _, c := range []struct {
		lines  []string
		status uint16
	}{
		{[]string{"If-Match: " + r.ETag}, 200},
		{[]string{"If-Match: *", "If-None-Match: *"}, 304},
		{[]string{`If-Match: "x"`, "If-None-Match: *"}, 412},
		{[]string{`If-Match: "x"`, "If-Match: " + r.ETag}, 200},
		{[]string{"If-Match: W/" + r.ETag}, 412},
		{[]string{"If-Match: " + r.ETag, "If-Unmodified-Since: " + earlier}, 200},
		{[]string{"If-Unmodified-Since: " + earlier}, 412},
		{[]string{"If-Unmodified-Since: " + modified}, 200},
		{[]string{"If-Unmodified-Since: " + earlier, "If-Unmodified-Since: " + earlier}, 200},
		{[]string{"If-Unmodified-Since: yesterday"}, 200},
		{[]string{"If-None-Match: W/" + r.ETag}, 304},
		{[]string{`If-None-Match: "x"`, "If-Modified-Since: " + later}, 200},
		{[]string{"If-None-Match: " + r.ETag + " x", "If-Modified-Since: " + later}, 200},
		{[]string{"If-Modified-Since: " + modified}, 304},
		{[]string{"If-Modified-Since: " + earlier}, 200},
		{[]string{"If-Modified-Since: " + later, "If-Modified-Since: " + later}, 200},
		{[]string{"If-Modified-Since: " + modified, "If-Unmodified-Since: " + earlier}, 412},
	} {
		if got := get(r, c.lines...); got.Status != c.status {
			t.Errorf("%q: %v", c.lines, got)
		}
	}
}

func TestPreconditionsAreAboutTheVariantThatWasSelected(t *testing.T) {
	r := responses()
	weak := r.Variants[content.Gzip].ETag
	for _, c := range []struct {
		line   string
		status uint16
	}{
		{"If-None-Match: " + weak, 304}, {"If-None-Match: " + weak[2:], 304}, {"If-None-Match: " + r.ETag, 200},
		{"If-Match: " + weak, 412}, {"If-Match: " + r.ETag, 200},
	} {
		if got := get(r, "Accept-Encoding: gzip", c.line); got.Status != c.status || got.Status != 412 && got.Coding != content.Gzip {
			t.Errorf("%s: %v", c.line, got)
		}
	}
}

func TestLastModifiedIsNeverLaterThanDate(t *testing.T) {
	r := responses()
	_, want, _ := render(r, get(r), now, Silent)
	for unix, date := range map[int64]string{now - 7200: "Sat, 21 Nov 2026 05:00:00 GMT", now - 3600: modified} {
		_, fields, _ := render(r, get(r), unix, Silent)
		want[len(want)-1] = "date: " + date
		want[slices.IndexFunc(want, func(line string) bool { return strings.HasPrefix(line, "last-modified: ") })] = "last-modified: " + date
		if !slices.Equal(fields, want) {
			t.Errorf("%d: %q", unix, fields)
		}
	}
	if got := Choose(request("GET", "/", "If-Modified-Since: Sat, 21 Nov 2026 05:00:00 GMT"), r, now-7200); got.Status != 304 {
		t.Error(got)
	}
}
