package respond

import (
	"strings"
	"testing"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

func TestVaryIsJoinedUnchanged(t *testing.T) {
	cfg := &config.Config{Status: 200, Fields: []config.Field{{Name: "vary", Value: "Origin,"}, {Name: "vary"}, {Name: "vary", Value: "x"}}}
	c := content.Build(content.Source{Bytes: []byte("x"), Name: "a.css"}, cfg, time.Unix(0, 0))
	if text := string(Render(c, cfg).ok[content.Identity].bytes); !strings.HasSuffix(text, "accept-ranges: bytes\r\nvary: Origin,, x\r\n") {
		t.Error(text)
	}
}

func TestVaryIsOneFieldInItsPlace(t *testing.T) {
	cfg := &config.Config{Status: 200, Compression: true, Fields: []config.Field{{Name: "x", Value: "1"}, {Name: "vary", Value: "Origin"}}}
	c := content.Build(content.Source{Bytes: make([]byte, 2000), Name: "a.css"}, cfg, time.Unix(0, 0))
	if text := string(Render(c, cfg).ok[content.Identity].bytes); !strings.HasSuffix(text, "accept-ranges: bytes\r\nvary: accept-encoding, Origin\r\nx: 1\r\n") {
		t.Error(text)
	}
}

func TestThereIsNoVaryWhereNothingVaries(t *testing.T) {
	cfg := &config.Config{Status: 200}
	c := content.Build(content.Source{Bytes: []byte("x"), Name: "a.css"}, cfg, time.Unix(0, 0))
	if text := string(Render(c, cfg).ok[content.Identity].bytes); strings.Contains(text, "vary") {
		t.Error(text)
	}
}
