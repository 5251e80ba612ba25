package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// result is what is printed of a scenario. Sizes of memory are in KiB.
type result struct {
	planned
	Kernel string `json:"kernel"`
	OK     bool   `json:"ok"`
	// Failed is which promises were broken.
	Failed []string `json:"failed"`
	// Came is how many peers there were when it was over; KilledAt when something in the group was first killed, 0 when nothing was.
	Came     int   `json:"came"`
	KilledAt int   `json:"killed_at"`
	Kills    int64 `json:"oom_kill"`
	// Rest is before the peers came, Held while they were all there, After when they were gone.
	Rest  int64            `json:"rest_kib"`
	Held  int64            `json:"held_kib"`
	Made  map[string]int64 `json:"held_of_kib"`
	Peak  int64            `json:"peak_kib"`
	After int64            `json:"after_kib"`
	// BackMS is how long it took after the peers had left until memory was back.
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
	asker  *asker
	// right says whether a body is what a fresh request may get.
	right func([]byte) bool
}

const (
	mib = 1 << 20
	// How much longer than its memory at rest a server may hold what it took, and how much of it for good.
	backWithin = 5 * time.Second
	backAbove  = 12 * mib
	// A fresh request is answered whole within this.
	freshWithin = 2000
)

// carryOut runs a scenario and judges it.
func carryOut(row planned, port int) *result {
	began := time.Now()
	r := &run{result: result{planned: row, Kernel: kernel(), Failed: []string{}}, port: port}
	var err error
	r.group, err = newGroup(fmt.Sprintf("%d", port), int64(row.Memory)*mib)
	if err == nil {
		err = scenarios[row.Scenario].run(r)
	}
	if err != nil {
		r.broken("%v", err)
	}
	r.Kills = r.group.kills()
	r.Peak = r.group.number("memory.peak") >> 10
	if r.Kills > 0 {
		r.Failed = []string{fmt.Sprintf("killed at the %s of %d peers", ordinal(r.KilledAt), r.Came)}
	}
	if r.OK = len(r.Failed) == 0; !r.OK && r.server != nil {
		said := r.server.said()
		r.Log = said[max(0, len(said)-5):]
	}
	r.group.remove()
	r.Took = float64(time.Since(began).Milliseconds()) / 1000
	return &r.result
}

func ordinal(number int) string { return fmt.Sprintf("%dth", number) }

func (r *run) broken(format string, values ...any) {
	r.Failed = append(r.Failed, fmt.Sprintf(format, values...))
}

// serve starts the server on content of so many bytes and waits until it is at rest.
func (r *run) serve(size int, args ...string) error {
	whole := content(size, 1)
	if err := os.WriteFile("/content.txt", whole, 0o644); err != nil {
		return err
	}
	r.right = func(body []byte) bool { return string(body) == string(whole) }
	return r.start(append([]string{"--file", "/content.txt"}, args...)...)
}

func (r *run) start(args ...string) (err error) {
	if r.server, err = start(r, args...); err != nil {
		return err
	}
	if err = r.server.ready(); err != nil {
		return err
	}
	r.Rest = r.group.current() >> 10
	return nil
}

// attack lets the load run while fresh requests are asked, then lets it leave, and judges what everybody promises.
func (r *run) attack(load func() error, leave func()) error {
	r.asker = ask(r.server, r.right)
	err := load()
	r.Held, r.Made = r.group.current()>>10, r.group.made()
	r.Fresh = r.asker.finish()
	r.Ended = r.server.ended()
	leave()
	if err != nil || r.server.dead() {
		if err == nil && r.group.kills() == 0 {
			err = fmt.Errorf("it ended: %s", r.server.command.ProcessState)
		}
		return err
	}
	if r.Fresh.Failed > 0 || r.Fresh.Answered == 0 {
		r.broken("%d of %d fresh requests were not answered whole: %s", r.Fresh.Failed, r.Fresh.Failed+r.Fresh.Answered, strings.Join(r.Fresh.Why, "; "))
	}
	if r.Fresh.WorstMS > freshWithin {
		r.broken("a fresh request took %d ms", r.Fresh.WorstMS)
	}
	r.back()
	return nil
}

// back waits until memory is as at rest, almost.
func (r *run) back() {
	left := time.Now()
	for {
		current := r.group.current()
		r.After, r.BackMS = current>>10, time.Since(left).Milliseconds()
		if current <= r.Rest<<10+backAbove {
			return
		}
		if time.Since(left) > backWithin {
			r.broken("memory is %d KiB %v after the peers left, and was %d at rest", r.After, backWithin, r.Rest)
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
