// When a poll believes what it saw; a part of reload.go.

package ops

import (
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// settlingTime is how long what a poll saw must stay so before it is believed (K-102).
const settlingTime = time.Second

// settling decides what a poll makes of what it saw. All of it is pure.
type settling struct {
	seen sight // not believed yet
}

// sight is what a read of the file gave: bytes, or a failure.
type sight struct {
	digest  content.Digest
	failure string
}

func sightOf(digest content.Digest, err error) sight {
	if err != nil {
		return sight{failure: err.Error()}
	}
	return sight{digest: digest}
}

// verdict is what to do about a sight.
type verdict uint8

const (
	unchanged verdict = iota // nothing
	unsettled                // look again after settlingTime
	settled                  // load it, or say what is wrong
)

// judge compares with what is loaded, and with what was seen before.
func (s *settling) judge(now, loaded sight) verdict {
	switch before := s.seen; now {
	case loaded:
		s.seen = sight{}
		return unchanged
	case before:
		s.seen = sight{}
		return settled
	}
	s.seen = now
	return unsettled
}

func (s *settling) isPending() bool { return s.seen != sight{} }
