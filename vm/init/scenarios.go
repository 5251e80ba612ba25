package main

import (
	"bytes"
	"strings"
	"time"
)

// scenario is one way to attack.
type scenario struct {
	run func(*run) error
}

const (
	ask66 = 66
	ask1M = mib
	// How long all peers are there before they leave.
	held = 3 * time.Second
	// How long they may take to come.
	coming = 120 * time.Second
)

var scenarios = map[string]scenario{
	"unread-1m":   {crowded(ask1M, 4000, crowd{})},
	"pipeline-66": {crowded(ask66, 400, crowd{endless: true, request: bytes.Repeat(request, 400)})},
	"pipeline-1m": {crowded(ask1M, 400, crowd{endless: true, request: bytes.Repeat(request, 400)})},
	"heads":       {crowded(ask66, 8000, crowd{request: unfinished(15 << 10)})},
	"idle":        {crowded(ask66, 12000, crowd{await: ask66})},
	"rest":        {atRest},
}

var request = []byte("GET /content.txt HTTP/1.1\r\nHost: a\r\n\r\n")

// unfinished is a head of so many bytes without its end.
func unfinished(size int) []byte {
	begin := "GET /content.txt HTTP/1.1\r\nHost: a\r\n"
	var head strings.Builder
	head.WriteString(begin)
	for head.Len() < size {
		head.WriteString("X-Filler: " + strings.Repeat("x", 500) + "\r\n")
	}
	return []byte(head.String()[:size])
}

// crowded is an attack of so many peers on content of so many bytes.
func crowded(size, count int, kind crowd) func(*run) error {
	return func(r *run) error {
		if r.Peers > 0 {
			count = r.Peers
		}
		if err := r.serve(size); err != nil {
			return err
		}
		peers := kind
		peers.server = r.server
		if peers.request == nil {
			peers.request = request
		}
		return r.attack(func() error {
			peers.assemble(count, coming)
			peers.hold(held)
			r.Came = peers.Opened
			if r.server.dead() {
				r.KilledAt = peers.Opened
			} else if peers.Opened < count {
				r.broken("%d of %d peers could connect within %v", peers.Opened, count, coming)
			}
			return nil
		}, peers.leave)
	}
}

// atRest is one request, and then silence. The goals are for transparent huge pages, as Debian has them.
func atRest(r *run) error {
	if err := r.serve(ask66); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	r.Held, r.Made = r.group.current()>>10, r.group.made()
	goals := map[string]int64{"kcup-rust": 2560, "kcup-go": 8192}
	if goal := goals[r.Server]; goal > 0 && r.Held > goal {
		r.broken("%d KiB at rest, more than %d", r.Held, goal)
	}
	return nil
}
