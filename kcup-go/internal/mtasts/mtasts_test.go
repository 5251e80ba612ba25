package mtasts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
)

type ruleRow struct {
	Rule, Severity, Message, Section string
	Breaks                           []string
}

type policyCase struct {
	Name     string
	Policy   conformance.Parts
	Findings []struct {
		Rule, Text string
		Times      int
	}
	More int
	ID   string
	JSON string
}

// told returns the rule and the line of each finding that is listed.
func (c policyCase) told() (rules, texts []string) {
	for _, finding := range c.Findings {
		number, text, _ := strings.Cut(finding.Text, ":")
		first, _ := strconv.Atoi(number)
		for line := range max(finding.Times, 1) {
			rules, texts = append(rules, finding.Rule), append(texts, fmt.Sprintf("%d:%s", first+line, text))
		}
	}
	return rules, texts
}

func TestTheRulesAreThoseOfTheTable(t *testing.T) {
	rows := conformance.Vectors[ruleRow](t, "mta_sts", "rule")
	if len(rows) != len(table) {
		t.Fatalf("%d there, %d here", len(rows), len(table))
	}
	for i, want := range rows {
		got := table[i]
		if got.slug != want.Rule || string(got.severity) != want.Severity || got.message != want.Message ||
			got.section != want.Section || !slices.Equal(got.breaks, want.Breaks) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestEveryVectorHasItsFindings(t *testing.T) {
	for _, c := range conformance.Vectors[policyCase](t, "mta_sts", "case") {
		got := Lint(c.Policy.Bytes(t)).Lines("a b")
		_, want := c.told()
		for i := range want {
			want[i] = "a b:" + want[i]
		}
		if c.More > 0 {
			want = append(want, fmt.Sprintf("a b: and %d more", c.More))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.Name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestEveryVectorWithoutAnErrorHasItsID(t *testing.T) {
	for _, c := range conformance.Vectors[policyCase](t, "mta_sts", "case") {
		policy := c.Policy.Bytes(t)
		if Lint(policy).HasError != (c.ID == "") {
			t.Errorf("%s: an error and an id, or neither", c.Name)
		}
		if got := Record(policy); c.ID != "" && got != "v=STSv1; id="+c.ID+";" {
			t.Errorf("%s: %s", c.Name, got)
		}
	}
}

func TestJSONIsWhatAParserReads(t *testing.T) {
	for _, c := range conformance.Vectors[policyCase](t, "mta_sts", "case") {
		text := Lint(c.Policy.Bytes(t)).JSON("<stdin>")
		if c.JSON != "" && text != c.JSON {
			t.Errorf("%s: %s, want %s", c.Name, text, c.JSON)
		}
		var read []struct {
			Line, Column            int
			Severity, Rule, Message string
			Section                 string
			Breaks                  []string
			More                    int
		}
		rules, texts := c.told()
		if err := json.Unmarshal([]byte(text), &read); err != nil || len(read) != len(rules)+min(c.More, 1) {
			t.Errorf("%s: %v: %s", c.Name, err, text)
			continue
		}
		for i, one := range read {
			if i == len(rules) {
				if one.More != c.More {
					t.Errorf("%s: %v", c.Name, one)
				}
				continue
			}
			want := fmt.Sprintf("%d:%d: %s: %s (RFC 8461 section %s)", one.Line, one.Column, one.Severity, one.Message, one.Section)
			if len(one.Breaks) > 0 {
				want += "; breaks: " + strings.Join(one.Breaks, ", ")
			}
			if one.Rule != rules[i] || want != texts[i] {
				t.Errorf("%s: %v", c.Name, one)
			}
		}
	}
}

func TestADomainLosesOneDotAndNothingElse(t *testing.T) {
	longest := strings.Repeat("a.", 121) + "bb"
	for _, good := range []string{"example.com", "test", "xn--mller-kva.example", longest} {
		if Domain(good) != good || Domain(good+".") != good {
			t.Error(good)
		}
	}
	for _, bad := range []string{"", ".", "..", "a..", "a b", "_mta-sts.a", "*.a", "-a", "é", longest + "b"} {
		if got := Domain(bad); got != "" {
			t.Errorf("%q: %q", bad, got)
		}
	}
	if got := ZoneLine("a.b", "v=STSv1; id=0;"); got != `_mta-sts.a.b. IN TXT "v=STSv1; id=0;"` {
		t.Error(got)
	}
}

func TestANewPolicyIsRefusedWhenItIsTooLong(t *testing.T) {
	host := strings.Repeat("a.", 126) + "b"
	if policy, err := Policy(Testing, slices.Repeat([]string{host}, 252), day); err != nil || Lint([]byte(policy)).HasError {
		t.Error(err)
	}
	if _, err := Policy(Testing, slices.Repeat([]string{host}, 253), day); err == nil || err.Error() != "the policy is over 65536 bytes" {
		t.Error(err)
	}
}

func FuzzLint(f *testing.F) {
	for _, c := range conformance.Vectors[policyCase](f, "mta_sts", "case") {
		f.Add(c.Policy.Bytes(f), "mx1.example.com *.example.net", uint32(week))
	}
	f.Fuzz(func(t *testing.T, policy []byte, hosts string, seconds uint32) {
		findings := Lint(policy)
		checkPlaces(t, policy, findings)
		checkLineEnds(t, bytes.ReplaceAll(policy, []byte{'\r'}, nil))
		checkNew(t, strings.Split(hosts, " "), int64(seconds)%(MaxMaxAge+1))
	})
}

func checkPlaces(t *testing.T, policy []byte, findings *Findings) {
	all := bytes.Split(policy, []byte{'\n'})
	for _, finding := range findings.First {
		if finding.Line < 1 || finding.Line > len(all) || finding.Column < 1 || finding.Column > len(all[finding.Line-1])+1 {
			t.Errorf("%q: %v is not in it", policy, finding)
		}
	}
	if !slices.IsSortedFunc(findings.First, inOrder) {
		t.Errorf("%q: not in order", policy)
	}
	if !json.Valid([]byte(findings.JSON("a"))) {
		t.Errorf("%q: %s", policy, findings.JSON("a"))
	}
}

func checkLineEnds(t *testing.T, policy []byte) {
	crlf := Served(policy)
	if Record(policy) != Record(crlf) || !reflect.DeepEqual(Lint(policy), Lint(crlf)) || !bytes.Equal(Served(crlf), crlf) {
		t.Errorf("%q: line ends change it", policy)
	}
}

// checkNew checks that a host is refused for a new policy exactly where Lint finds an error, and that a policy that is
// not refused is served as it is.
func checkNew(t *testing.T, hosts []string, seconds int64) {
	var good []string
	for _, host := range hosts {
		if strings.Trim(host, blanks) != host || strings.ContainsAny(host, "\n\r") {
			continue
		}
		text := "version: STSv1\nmode: testing\nmx: " + host + "\nmax_age: 86400\n"
		wrong := WrongWith(host) != ""
		if wrong != Lint([]byte(text)).HasError {
			t.Errorf("%q: refused %v", host, wrong)
		}
		if !wrong {
			good = append(good, host)
		}
	}
	for _, mode := range []Mode{Enforce, Testing, None} {
		policy, err := Policy(mode, good, seconds)
		if err != nil || len(good) == 0 && mode != None {
			continue
		}
		if b := []byte(policy); Lint(b).HasError || !bytes.Equal(Served(b), b) {
			t.Errorf("%q: %v", policy, Lint(b))
		}
	}
}
