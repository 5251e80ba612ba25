package ops

import (
	"errors"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

func TestAPollBelievesWhatItSawTwice(t *testing.T) {
	loaded, a, b := sight{digest: content.Digest{1}}, sight{digest: content.Digest{2}}, sight{digest: content.Digest{3}}
	missing, empty := sightOf(content.Digest{}, errors.New("no such file")), sightOf(content.Digest{1}, errors.New("it is empty"))
	type look struct {
		saw  sight
		want step
	}
	for name, looks := range map[string][]look{
		"nothing":                  {{loaded, unchanged}, {loaded, unchanged}},
		"other bytes":              {{a, unsettled}, {a, settled}},
		"bytes that go on":         {{a, unsettled}, {b, unsettled}, {a, unsettled}, {a, settled}},
		"bytes that were gone":     {{a, unsettled}, {loaded, unchanged}, {a, unsettled}, {a, settled}},
		"a failure":                {{missing, unsettled}, {missing, settled}, {missing, unsettled}, {missing, settled}},
		"a failure that passes":    {{missing, unsettled}, {loaded, unchanged}},
		"deleted, empty, new":      {{missing, unsettled}, {empty, unsettled}, {b, unsettled}, {b, settled}},
		"what settled is not seen": {{a, unsettled}, {a, settled}, {a, unsettled}},
	} {
		var s settling
		for i, look := range looks {
			if got := s.judge(look.saw, loaded); got != look.want || s.isPending() != (got == unsettled) {
				t.Errorf("%s, look %d: %d, want %d", name, i, got, look.want)
			}
		}
	}
}
