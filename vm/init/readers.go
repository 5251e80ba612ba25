package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// reader is a peer that has sent one request and reads slowly.
type reader struct {
	connection net.Conn
	body       io.ReadCloser
	left       []byte // the expected rest of the response
}

// read requests the content, which is this version of `whole`, and reads the response's head and the version.
func (s *server) read(whole []byte, version int) (*reader, error) {
	connection, err := dial(s.network, s.addr, 2*time.Minute)
	if err != nil {
		return nil, err
	}
	if _, err := connection.Write(request); err != nil {
		connection.Close()
		return nil, err
	}
	// A small buffer, since its bytes have left the kernel.
	response, err := http.ReadResponse(bufio.NewReaderSize(connection, 512), nil)
	if err != nil {
		connection.Close()
		return nil, err
	}
	line := make([]byte, versionLength)
	_, err = io.ReadFull(response.Body, line)
	if err == nil && versionOf(line) != version {
		err = errWrong
	}
	if err != nil {
		connection.Close()
		return nil, err
	}
	return &reader{connection, response.Body, whole[versionLength:]}, nil
}

var errWrong = errors.New("a byte is wrong")

// take reads the next bytes, at most this many; io.EOF once it has them all.
func (r *reader) take(count int) error {
	count = min(count, len(r.left))
	buffer := make([]byte, count)
	if _, err := io.ReadFull(r.body, buffer); err != nil {
		return fmt.Errorf("%d bytes before the end: %w", len(r.left), err)
	}
	if string(buffer) != string(r.left[:count]) {
		return errWrong
	}
	if r.left = r.left[count:]; len(r.left) == 0 {
		return io.EOF
	}
	return nil
}

// finish reads to the end, and closes.
func (r *reader) finish(piece int, pause time.Duration) error {
	defer r.connection.Close()
	for {
		if err := r.take(piece); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		time.Sleep(pause)
	}
}

// slowReaders are peers that never stop reading, and peers that pause until all others, which come then and do not read at all,
// are there. The first get every byte. The second do, too, or are closed to make room, as the counters show: none if there is
// room for all.
func slowReaders(silent int, roomy bool) func(*run) error {
	return func(r *run) error { return r.slowReaders(silent, roomy) }
}

func (r *run) slowReaders(silent int, roomy bool) error {
	const steady, pausing = 20, 100
	if err := r.serve(mib); err != nil {
		return err
	}
	whole := content(mib, 1)
	crowd := crowd{server: r.server, request: request}
	var waiting, begun sync.WaitGroup
	var mutex sync.Mutex
	var failed []error
	lost := 0
	goOn := make(chan struct{})
	begin := func(count int, work func(*reader) error, ended func(error)) {
		begun.Add(count)
		for range count {
			waiting.Go(func() {
				one, err := r.server.read(whole, 1)
				begun.Done()
				if err == nil {
					err = work(one)
				}
				if err != nil {
					mutex.Lock()
					defer mutex.Unlock()
					ended(err)
				}
			})
		}
	}
	return r.attack(func() error {
		begin(steady, func(one *reader) error { return one.finish(32<<10, 250*time.Millisecond) },
			func(err error) { failed = append(failed, err) })
		begin(pausing, func(one *reader) error { <-goOn; return one.finish(64<<10, 0) },
			func(err error) {
				lost++
				if err == errWrong {
					failed = append(failed, err)
				}
			})
		begun.Wait()
		crowd.assemble(silent, coming)
		crowd.hold(stay)
		close(goOn)
		waiting.Wait()
		r.Came, r.Lost = crowd.opened+steady+pausing, crowd.ended+lost
		r.Note = fmt.Sprintf("%d of %d that paused were ended", lost, pausing)
		if roomy && lost > 0 {
			r.broken("%s, and there was room for them", r.Note)
		}
		if len(failed) > 0 && !r.server.dead() {
			r.broken("%d readers did not get every byte: %v", len(failed), failed[0])
		}
		return nil
	}, crowd.leave)
}

var (
	wrkRequests = regexp.MustCompile(`(\d+) requests in`)
	wrkErrors   = regexp.MustCompile(`Socket errors: connect (\d+), read (\d+), write (\d+)`)
)

// wrk requests 1 MiB on 400 connections for 20 s, and reads. They share what one emulated CPU can copy, less than 200 MiB/s.
// A fair share of that is a whole response every 2 s, so a fresh request fetches only 64 KiB.
func wrk(r *run) error {
	if err := r.serve(mib); err != nil {
		return err
	}
	start := content(part, 1)
	r.fields, r.right = partial, func(body []byte) bool { return bytes.Equal(body, start) }
	return r.attack(func() error {
		said, err := exec.Command("/usr/bin/wrk", "-t2", "-c400", "-d20s", "--timeout", "30s", "http://"+r.server.addr+contentPath).Output()
		if err != nil {
			return fmt.Errorf("wrk: %w", err)
		}
		r.Came = 400
		r.Note = string(wrkRequests.Find(said))
		if errors := wrkErrors.FindSubmatch(said); errors != nil && !r.server.dead() {
			for _, text := range errors[1:] {
				count, _ := strconv.Atoi(string(text))
				r.Lost += count
			}
			if r.Lost > 0 {
				r.broken("wrk lost connections: %s", errors[0])
			}
		}
		return nil
	}, func() {})
}
