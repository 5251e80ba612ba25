package mtasts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Finding is a rule that a policy breaks, and where (SPEC K-93, K-96).
type Finding struct {
	Line   int // from 1
	Column int // from 1, in bytes of the policy as it was read
	rule   rule
	meant  string // the known key that a near miss probably means
}

// Severity reports whether the policy must not be published.
func (f Finding) Severity() Severity { return table[f.rule].severity }

// String returns the finding on one line.
func (f Finding) String() string {
	row := table[f.rule]
	text := fmt.Sprintf("%d:%d: %s: %s (RFC 8461 section %s)", f.Line, f.Column, row.severity, f.message(), row.section)
	if len(row.breaks) > 0 {
		text += "; breaks: " + strings.Join(row.breaks, ", ")
	}
	return text
}

func (f Finding) message() string {
	message := table[f.rule].message
	if f.meant != "" {
		message = strings.Replace(message, `"mx"`, `"`+f.meant+`"`, 1)
	}
	return message
}

// printed is a finding as JSON has it.
type printed struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`
	Message  string   `json:"message"`
	Section  string   `json:"section"`
	Breaks   []string `json:"breaks"`
}

func (f Finding) printed(file string) printed {
	row := table[f.rule]
	return printed{file, f.Line, f.Column, row.severity, row.slug, f.message(), row.section, append([]string{}, row.breaks...)}
}

func inOrder(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.rule, b.rule))
}

// most is the number of findings that are listed; of the others only the number is given.
const most = 100

// Findings are the faults of a policy, in the order of lines, then of columns, then of rules.
type Findings struct {
	First    []Finding
	More     int  // the number of findings that are not listed
	HasError bool // whether the policy must not be published
}

// add adds a finding; they may come in any order.
func (f *Findings) add(finding Finding) {
	f.HasError = f.HasError || finding.Severity() == Error
	at, _ := slices.BinarySearchFunc(f.First, finding, inOrder)
	f.First = slices.Insert(f.First, at, finding)
	if len(f.First) > most {
		f.First = f.First[:most]
		f.More++
	}
}

// Lines returns a line for each finding that is listed, and one for the others. Each begins with the file's name.
func (f *Findings) Lines(file string) (lines []string) {
	for _, finding := range f.First {
		lines = append(lines, file+":"+finding.String())
	}
	if f.More > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", file, f.More))
	}
	return lines
}

// JSON returns all as one array, without a line end.
func (f *Findings) JSON(file string) string {
	all := []any{}
	for _, finding := range f.First {
		all = append(all, finding.printed(file))
	}
	if f.More > 0 {
		all = append(all, map[string]int{"more": f.More})
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(all); err != nil {
		panic(err) // only for what cannot be in a finding
	}
	return strings.TrimSuffix(text.String(), "\n")
}
