package server

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
)

// loaded is content in a sealed file.
func loaded(t *testing.T, text string) *respond.Responses {
	name := t.TempDir() + "/a.txt"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := content.Load(&config.Config{File: name, MaxContent: 1 << 20}, func(int64) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return respond.Render(c, &config.Config{Status: 200})
}

// With -race: content may be read until it is released, even if it is replaced meanwhile.
func TestContentIsThereForWhoGotIt(t *testing.T) {
	var place current
	place.replace(loaded(t, strings.Repeat("0 text ", 100)))
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c := place.get()
				if !bytes.HasSuffix(c.Bytes, []byte(" text ")) || c.Bytes[0] != c.Bytes[7] {
					t.Error("not of one content")
				}
				if _, _, ok := c.Offset(c.Bytes); !ok {
					t.Error("its file is gone")
				}
				c.Release()
			}
		})
	}
	var old []*respond.Responses
	for n := range 50 {
		old = append(old, place.replace(loaded(t, strings.Repeat(string(rune('0'+n%10))+" text ", 100))))
	}
	close(stop)
	readers.Wait()
	for _, c := range old {
		if c.Alive() {
			t.Error("still there when nobody holds it")
		}
	}
	place.peek().Release()
}
