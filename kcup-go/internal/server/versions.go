// The versions of the content that are held, and the limits that they leave (K-89, K-104, K-105).

package server

import (
	"slices"
	"sync"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
)

const (
	// The number of old versions that are held for responses in progress.
	mostOld = 2
	// The time in which workers release a version that nobody reads, and the longest wait for connections to make room.
	letGo    = 50 * time.Millisecond
	makeRoom = time.Second
)

// versions has the old versions of the content, oldest first, and the memory that the current reload needs.
type versions struct {
	sync.Mutex
	old       []*respond.Responses
	needed    int64
	envelope  envelope
	scheduled bool // review will run again soon
}

// Replace serves c, which it takes over, from the next request on (K-100).
func (s *Server) Replace(c *content.Content) {
	s.versions.Lock()
	defer s.versions.Unlock()
	old := s.common.current.replace(respond.Render(c, s.config))
	s.versions.old = append(s.versions.old, old)
	s.acceptor.tellAll(func(*mailbox) {}) // a worker that sleeps would hold the old version
	if !within(letGo, func() bool { return !old.Alive() }) && len(s.oldOnes()) > mostOld {
		s.recall(s.versions.old[0])
	}
	s.versions.needed = 0
	s.review()
}

// MakeRoom is called before a reload reads, with the memory that this needs at its peak beside all that is held, and
// reports whether there is room (K-104). Readers of old content, and connections over the new limits, make some.
func (s *Server) MakeRoom(needed int64) bool {
	s.versions.Lock()
	defer s.versions.Unlock()
	s.versions.needed = needed
	for !s.fits() {
		if len(s.oldOnes()) == 0 {
			s.versions.needed = 0
			s.review()
			return false
		}
		s.recall(s.versions.old[0])
	}
	return true
}

// fits reports whether the needed memory fits into the limits, and the kernel agrees. It applies the limits that remain.
func (s *Server) fits() bool {
	e := s.envelope()
	if !e.fits {
		return false
	}
	s.enforce(e)
	within(makeRoom, func() bool { return s.acceptor.open() <= e.maxConnections })
	return s.memory.has(s.versions.needed + least(len(s.workers), surroundings{tls: s.tls != nil}))
}

// Spare is the number of bytes that may be used for speed alone.
func (s *Server) Spare() int64 { return s.memory.available() / 8 }

// Abandon ends a reload that loaded nothing.
func (s *Server) Abandon() {
	s.versions.Lock()
	defer s.versions.Unlock()
	if s.versions.needed > 0 {
		s.versions.needed = 0
		s.review()
	}
}

// oldOnes returns the old versions that somebody still holds.
func (s *Server) oldOnes() []*respond.Responses {
	s.versions.old = slices.DeleteFunc(s.versions.old, func(r *respond.Responses) bool { return !r.Alive() })
	return s.versions.old
}

// recall resets the connections that still read a version.
func (s *Server) recall(r *respond.Responses) {
	s.acceptor.tellAll(func(m *mailbox) { m.replaced = append(m.replaced, r) })
	if within(makeRoom, func() bool { return !r.Alive() }) {
		s.oldOnes()
	} else {
		s.versions.old = s.versions.old[1:] // a worker that does not read its messages is not waited for again
	}
}

// envelope returns the limits that all content held, and the memory that a reload needs, leave.
func (s *Server) envelope() envelope {
	contents := s.common.current.peek().Size() + s.versions.needed
	for _, r := range s.oldOnes() {
		contents += r.Size()
	}
	return newEnvelope(s.config.MaxConnections, len(s.workers), contents, readSurroundings(s.memory, s.reserved, s.tls != nil))
}

// review computes the limits again, and once more in a second for as long as old content is held.
func (s *Server) review() {
	s.enforce(s.envelope())
	if len(s.versions.old) > 0 && !s.versions.scheduled {
		s.versions.scheduled = true
		time.AfterFunc(time.Second, func() {
			s.versions.Lock()
			defer s.versions.Unlock()
			s.versions.scheduled = false
			s.review()
		})
	}
}

// enforce applies the limits to the workers and the acceptor.
func (s *Server) enforce(e envelope) {
	if e == s.versions.envelope {
		return
	}
	if before := s.versions.envelope.maxConnections; e.maxConnections != before {
		e.log(s.config.MaxConnections, before == 0, s.common.log)
	}
	e.tell()
	s.versions.envelope = e
	threads := int64(len(s.workers))
	s.common.most.Store(int64(e.maxConnections))
	s.common.heldMost.Store(e.kept / threads)
	s.common.budget.Store(e.sockets / threads)
	s.common.cost.Store(e.cost)
	s.acceptor.tellAll(func(*mailbox) {})
	s.acceptor.nudge()
}

// within waits for a condition, at most this long, and reports whether it holds.
func within(most time.Duration, is func() bool) bool {
	for end := time.Now().Add(most); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
