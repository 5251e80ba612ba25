package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// The part of the content that a fresh request fetches if the content has many MiB.
const (
	part    = 64 << 10
	partial = "Range: bytes=0-65535\r\n"
)

// share is a part of the group's memory, in hundredths.
func (r *run) share(hundredths int) int { return r.Memory * mib / 100 * hundredths }

// load replaces the file with a version and waits until the server serves it.
func (r *run) load(size, version int) error {
	if err := os.WriteFile(contentPath, content(size, version), 0o644); err != nil {
		return err
	}
	before := r.server.ended()
	r.server.reload()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if r.server.dead() {
			return nil
		}
		if body, err := r.server.fetch("Range: bytes=0-15\r\n", 5*time.Second); err == nil && versionOf(body) == version {
			return nil
		}
		if r.server.ended()["reload failed"] > before["reload failed"] {
			break
		}
	}
	return fmt.Errorf("version %d was not loaded", version)
}

// reloads are 50 reloads of a fifth of the memory, while one client reads each version slowly.
func reloads(r *run) error {
	size, count := r.share(20), 50
	if r.Peers > 0 {
		count = r.Peers
	}
	if err := r.serve(size, "--write-timeout-seconds", "600"); err != nil {
		return err
	}
	whole := content(size, 0)
	r.fields = partial
	r.right = func(body []byte) bool {
		return versionOf(body) > 0 && bytes.Equal(body[versionLength:], whole[versionLength:part])
	}
	var readers []*reader
	return r.attack(func() error {
		for version := 2; version < count+2 && !r.server.dead(); version++ {
			one, err := r.server.read(whole, version-1)
			if err != nil {
				return fmt.Errorf("a reader of version %d: %w", version-1, err)
			}
			readers = append(readers, one)
			if err := r.load(size, version); err != nil {
				return err
			}
			for _, one := range readers {
				if one.left != nil && one.take(1<<10) != nil {
					one.left = nil
					r.Lost++
				}
			}
			r.Came++
		}
		r.Note = fmt.Sprintf("%d reloads of %d MiB", r.Came, size/mib)
		for _, one := range readers {
			if one.left != nil && !r.server.dead() {
				if err := one.finish(mib, 0); errors.Is(err, errWrong) {
					return err
				} else if err != nil {
					r.Lost++
				}
			}
		}
		return nil
	}, func() {
		for _, one := range readers {
			one.connection.Close()
		}
	})
}

// grow begins with 1 KB, loads three fifths of the memory, and then opens as many connections as the server allows.
func grow(r *run) error {
	if err := r.serve(1000, "--idle-timeout-seconds", "600"); err != nil {
		return err
	}
	size := r.share(60)
	if err := r.load(size, 2); err != nil {
		return err
	}
	r.Rest = r.group.current() >> 10
	start := content(part, 2)
	r.fields, r.right = partial, func(body []byte) bool { return bytes.Equal(body, start) }
	most := r.server.allowed()
	r.Note = fmt.Sprintf("%d MiB, %d connections allowed", size/mib, most)
	head := bytes.Replace(request, []byte("GET"), []byte("HEAD"), 1)
	return r.beset(most, crowd{request: head, await: 66})
}

// wrongFile overwrites a policy with an ordinary log file: the last good one stays.
func wrongFile(r *run) error {
	policy := "version: STSv1\r\nmode: enforce\r\nmx: mx.example.com\r\nmax_age: 604800\r\n"
	if err := os.WriteFile(contentPath, []byte(policy), 0o644); err != nil {
		return err
	}
	r.path = "/.well-known/mta-sts.txt"
	r.right = func(body []byte) bool { return string(body) == policy }
	if err := r.start("--file", contentPath, "--preset", "mta-sts"); err != nil {
		return err
	}
	line := "2026-11-21T07:00:00Z mx postfix/smtpd[1234]: connect from unknown[192.0.2.1]\n"
	if err := os.WriteFile(contentPath, []byte(strings.Repeat(line, 8*mib/len(line))), 0o644); err != nil {
		return err
	}
	return r.attack(func() error {
		r.server.reload()
		for deadline := time.Now().Add(20 * time.Second); r.server.ended()["reload failed"] == 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				return errors.New("the reload neither failed nor was it over in 20 s")
			}
			if r.server.dead() {
				return nil
			}
		}
		time.Sleep(time.Second)
		return nil
	}, func() {})
}

// tooBig is content that does not fit into the limit: it is refused at start, with one line.
func tooBig(r *run) error {
	for _, size := range []int{r.share(110), r.share(99)} {
		if err := os.WriteFile(contentPath, content(size, 1), 0o644); err != nil {
			return err
		}
		if err := r.refused("--file", contentPath); err != nil {
			return fmt.Errorf("%d MiB of a file: %w", size/mib, err)
		}
		reader, writer, err := os.Pipe()
		if err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(writer, bytes.NewReader(content(size, 1)))
			writer.Close()
		}()
		r.stdin = reader
		err = r.refused()
		reader.Close()
		r.stdin = nil
		if err != nil {
			return fmt.Errorf("%d MiB of standard input: %w", size/mib, err)
		}
	}
	return nil
}

// refused starts the server, which ends with exit status 1 and one line.
func (r *run) refused(args ...string) (err error) {
	if r.server, err = start(r, append(args, "--max-content-bytes", "1099511627776")...); err != nil {
		return err
	}
	select {
	case <-r.server.exited:
	case <-time.After(30 * time.Second):
		return errors.New("it has not ended")
	}
	status, lines := r.server.command.ProcessState, 0
	for _, line := range r.server.said() {
		if strings.HasPrefix(line, "kcup: ") {
			lines++
		}
	}
	if status.ExitCode() != 1 || lines != 1 {
		return fmt.Errorf("%s, and %d lines of why", status, lines)
	}
	return nil
}

// rest is one request, and then silence. The goals hold with Debian's setting of transparent huge pages.
func rest(r *run) error {
	if err := r.serve(66); err != nil {
		return err
	}
	r.Held, r.Made = r.Rest, r.group.made()
	goals := map[string]int64{"kcup-rust": 2560, "kcup-go": 8192}
	if goal := goals[r.Server]; goal > 0 && r.Held > goal {
		r.broken("%d KiB at rest, more than %d", r.Held, goal)
	}
	return nil
}
