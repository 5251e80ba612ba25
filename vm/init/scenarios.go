package main

import (
	"bytes"
	"strings"
	"time"
)

const (
	// How long all peers stay connected before they leave.
	stay = 3 * time.Second
	// How long they may take to connect.
	coming = 120 * time.Second
)

// scenarios has every attack by name.
var scenarios = map[string]func(*run) error{
	"unread-1m":    crowded(mib, 4000, crowd{request: request}),
	"unread-close": crowded(128<<10, 4000, crowd{request: lastRequest}),
	"pipeline-66":  crowded(66, 400, crowd{request: bytes.Repeat(request, 400), endless: true}),
	"pipeline-1m":  crowded(mib, 400, crowd{request: bytes.Repeat(request, 400), endless: true}),
	"heads":        crowded(66, 8000, crowd{request: unfinished(15 << 10)}),
	"idle":         crowded(66, 12000, crowd{request: request, await: 66}, "--idle-timeout-seconds", "600"),
	"wrk":          wrk,
	"slow-readers": slowReaders(50, true),
	"slow-crowded": slowReaders(1000, false),
	"reloads":      reloads,
	"grow":         grow,
	"wrong-file":   wrongFile,
	"too-big":      tooBig,
	"rest":         rest,
}

var (
	request     = []byte("GET " + contentPath + " HTTP/1.1\r\nHost: a\r\n\r\n")
	lastRequest = []byte("GET " + contentPath + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
)

// unfinished is a head of this many bytes without its end.
func unfinished(size int) []byte {
	field := "X-Filler: " + strings.Repeat("x", 500) + "\r\n"
	return append(request[:len(request)-2:len(request)-2], strings.Repeat(field, size/len(field)+1)...)[:size]
}

// crowded is an attack by this many peers of a kind on content of this many bytes.
func crowded(size, count int, kind crowd, args ...string) func(*run) error {
	return func(r *run) error {
		if err := r.serve(size, args...); err != nil {
			return err
		}
		return r.beset(count, kind)
	}
}

// beset lets this many peers of a kind connect, stay and leave.
func (r *run) beset(count int, peers crowd) error {
	if r.Peers > 0 {
		count = r.Peers
	}
	peers.server = r.server
	return r.attack(func() error {
		peers.assemble(count, coming)
		peers.hold(stay)
		r.Came, r.Lost = peers.opened, peers.ended
		if peers.opened < count && !r.server.dead() {
			r.broken("%d of %d peers could connect within %v", peers.opened, count, coming)
		}
		return nil
	}, peers.leave)
}
