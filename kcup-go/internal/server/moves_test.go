package server

import (
	"strconv"
	"strings"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
)

func TestOrderOfResets(t *testing.T) {
	type resetCase struct {
		Name, Want string
		Share      int64
		Steps      []string
	}
	for _, c := range conformance.Vectors[resetCase](t, "resets", "case") {
		a, slots := account{budget: c.Share}, make([]connection, 26)
		for slot := range slots {
			slots[slot].buffer = leastBuffer
		}
		for _, step := range c.Steps {
			words := strings.Fields(step)
			peer := &slots[(words[0][0]-'a')%26]
			number, _ := strconv.Atoi(words[len(words)-1])
			switch words[1] {
			case "sends":
				a.charge(peer, number)
			case "owes":
				a.saw(peer, number)
			case "is":
				a.set(peer, 0)
			default:
				a.at(a.now + uint32(number))
			}
		}
		var owing []int32
		for slot := range slots {
			if slots[slot].claim > 0 {
				owing = append(owing, int32(slot))
			}
		}
		a.order(owing, slots)
		var names []string
		for _, slot := range owing {
			names = append(names, string('a'+rune(slot)))
		}
		if got := strings.Join(names, " "); got != c.Want {
			t.Errorf("%s: %s, want %s", c.Name, got, c.Want)
		}
	}
}
