package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// getOnce makes one request on a new connection, and returns the whole body.
func getOnce(network, addr, path, fields string, within time.Duration) ([]byte, error) {
	connection, err := dial(network, addr, within)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, "GET "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"+fields+"\r\n"); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("the status is %s", response.Status)
	}
	body := make([]byte, max(0, response.ContentLength))
	_, err = io.ReadFull(response.Body, body)
	return body, err
}

// fetch requests the server's content.
func (s *server) fetch(fields string, within time.Duration) ([]byte, error) {
	return getOnce(s.network, s.addr, s.path, fields, within)
}

// asker makes requests on fresh connections at intervals, whatever happened to earlier requests.
type asker struct {
	server  *server
	fields  string
	right   func([]byte) bool
	stop    chan struct{}
	waiting sync.WaitGroup
	mutex   sync.Mutex
	freshResult
}

// freshResult summarises fresh requests.
type freshResult struct {
	Answered int      `json:"answered"`
	Failed   int      `json:"failed"`
	WorstMS  int64    `json:"worst_ms"`
	Why      []string `json:"why,omitempty"`
}

const (
	askedEvery = 250 * time.Millisecond
	// A request that has already taken too long is still waited for, to learn how long it takes.
	givenUp = 10 * time.Second
)

func ask(s *server, fields string, right func([]byte) bool) *asker {
	a := &asker{server: s, fields: fields, right: right, stop: make(chan struct{})}
	a.waiting.Add(1)
	go func() {
		defer a.waiting.Done()
		tick := time.NewTicker(askedEvery)
		defer tick.Stop()
		for {
			select {
			case <-a.stop:
				return
			case <-tick.C:
				a.waiting.Add(1)
				go a.once()
			}
		}
	}()
	return a
}

func (a *asker) once() {
	defer a.waiting.Done()
	began := time.Now()
	body, err := a.server.fetch(a.fields, givenUp)
	took := time.Since(began).Milliseconds()
	if err == nil && !a.right(body) {
		err = errors.New("the body is wrong")
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.WorstMS = max(a.WorstMS, took)
	if err == nil {
		a.Answered++
		return
	}
	a.Failed++
	if len(a.Why) < 3 {
		a.Why = append(a.Why, err.Error())
	}
}

// finish waits for the requests in progress.
func (a *asker) finish() freshResult {
	close(a.stop)
	a.waiting.Wait()
	return a.freshResult
}

const (
	versionFormat = "version %06d\n"
	versionLength = len("version 000000\n")
)

// content is a version of some size, whose bytes show both whether it is whole and which version it is.
func content(size, version int) []byte {
	line := []byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!\n")
	text := bytes.Repeat(line, size/len(line)+1)[:size]
	copy(text, fmt.Sprintf(versionFormat, version))
	return text
}

// versionOf is the version that a body begins with, or -1.
func versionOf(body []byte) int {
	version := -1
	_, _ = fmt.Sscanf(string(body[:min(len(body), versionLength)]), versionFormat, &version)
	return version
}
