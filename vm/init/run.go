package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// result is what is printed for a scenario. Memory is in KiB.
type result struct {
	planned
	Kernel string `json:"kernel"`
	OK     bool   `json:"ok"`
	// Failed lists the promises that were broken.
	Failed []string `json:"failed"`
	// Came is how many peers connected before the end or the server's death; Lost is how many of them the server closed.
	Came  int   `json:"came"`
	Lost  int   `json:"lost"`
	Kills int64 `json:"oom_kill"`
	// Rest is before the peers came, Held while all were connected, After when they were gone.
	Rest  int64            `json:"rest_kib"`
	Held  int64            `json:"held_kib"`
	Made  map[string]int64 `json:"held_of_kib"`
	Peak  int64            `json:"peak_kib"`
	After int64            `json:"after_kib"`
	Kept  map[string]int64 `json:"after_of_kib"`
	// BackMS is how long it took until memory was back after the peers had left.
	BackMS int64            `json:"back_ms"`
	Fresh  freshResult      `json:"fresh"`
	Ended  map[string]int64 `json:"ended"`
	Note   string           `json:"note,omitempty"`
	Took   float64          `json:"seconds"`
	Log    []string         `json:"log,omitempty"`
}

// run is one scenario against one server.
type run struct {
	result
	group  *group
	server *server
	port   int
	stdin  *os.File
	// The path and additional fields of a fresh request, and the check of its body.
	path   string
	fields string
	right  func([]byte) bool
}

const (
	mib = 1 << 20
	// How long a server is left alone after one request until it counts as at rest.
	settling = 2 * time.Second
	// When its peers have left, memory returns to its value at rest plus this much,
	backAbove = 12 * mib
	// within this time.
	backWithin = 15 * time.Second
	// A fresh request gets its whole response within this time.
	freshWithin = 2 * time.Second
)

// carryOut runs a scenario and checks the promises.
func carryOut(row planned, port int) *result {
	began := time.Now()
	r := &run{result: result{planned: row, Kernel: kernel(), Failed: []string{}}, port: port, path: contentPath}
	var err error
	r.group, err = newGroup(fmt.Sprintf("%d", port), int64(row.Memory)*mib)
	if err == nil {
		err = scenarios[row.Scenario](r)
	}
	if err != nil {
		r.broken("%v", err)
	}
	r.Kills = r.group.kills()
	r.Peak = r.group.number("memory.peak") >> 10
	if r.Kills > 0 {
		r.Failed = []string{fmt.Sprintf("killed, %d peers were there", r.Came)}
	}
	if r.OK = len(r.Failed) == 0; !r.OK && r.server != nil {
		said := r.server.said()
		r.Log = said[max(0, len(said)-5):]
	}
	r.group.remove()
	r.Took = float64(time.Since(began).Milliseconds()) / 1000
	return &r.result
}

func (r *run) broken(format string, values ...any) {
	r.Failed = append(r.Failed, fmt.Sprintf(format, values...))
}

// serve starts the server with content of this many bytes and waits until it is at rest.
func (r *run) serve(size int, args ...string) error {
	whole := content(size, 1)
	if err := os.WriteFile(contentPath, whole, 0o644); err != nil {
		return err
	}
	r.right = func(body []byte) bool { return string(body) == string(whole) }
	return r.start(append([]string{"--file", contentPath}, args...)...)
}

func (r *run) start(args ...string) (err error) {
	if r.server, err = start(r, args...); err != nil {
		return err
	}
	if err = r.server.ready(); err != nil {
		return err
	}
	time.Sleep(settling)
	r.Rest = r.group.current() >> 10
	return nil
}

// attack runs the load beside fresh requests, ends it, and checks the promises of every scenario.
func (r *run) attack(load func() error, leave func()) error {
	before := r.server.ended()
	asker := ask(r.server, r.fields, r.right)
	err := load()
	r.Held, r.Made = r.group.current()>>10, r.group.made()
	r.Fresh = asker.finish()
	if r.server.dead() {
		leave()
		if r.group.kills() == 0 {
			return fmt.Errorf("it ended, %d peers were there", r.Came)
		}
		return nil
	}
	r.judgeFresh()
	r.account(before)
	leave()
	r.back()
	return err
}

func (r *run) judgeFresh() {
	if fresh := r.Fresh; fresh.Failed > 0 || fresh.Answered == 0 {
		r.broken("%d of %d fresh requests failed: %s", fresh.Failed, fresh.Failed+fresh.Answered, strings.Join(fresh.Why, "; "))
	}
	if r.Fresh.WorstMS > freshWithin.Milliseconds() {
		r.broken("a fresh request took %d ms", r.Fresh.WorstMS)
	}
}

// account waits until the counters include every connection that the server has closed, also those seen here.
func (r *run) account(before map[string]int64) {
	if r.server.admin == "" {
		return
	}
	want := int64(r.Lost + r.Fresh.Answered)
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		r.Ended = r.server.ended()
		told := int64(0)
		for reason, count := range r.Ended {
			if reason != "peer" && !strings.HasPrefix(reason, "reload") {
				told += count - before[reason]
			}
		}
		if told >= want {
			return
		}
		if time.Now().After(deadline) {
			r.broken("the server ended %d connections, and its counters tell of %d", want, told)
			return
		}
	}
}

// back waits until memory is nearly as at rest.
func (r *run) back() {
	left := time.Now()
	for {
		current := r.group.current()
		r.After, r.BackMS = current>>10, time.Since(left).Milliseconds()
		if current <= r.Rest<<10+backAbove {
			return
		}
		r.Kept = r.group.made()
		if time.Since(left) > backWithin {
			r.broken("%v after the peers left, %d KiB are in use, and %d at rest", backWithin, r.After, r.Rest)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func kernel() string {
	var names syscall.Utsname
	_ = syscall.Uname(&names)
	var release strings.Builder
	for _, char := range names.Release {
		if char == 0 {
			break
		}
		release.WriteByte(byte(char))
	}
	return release.String()
}
