package mtasts

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// The rules of SPEC section 9, applied line by line and then to the whole.

const (
	// MaxSize is in served bytes. RFC 8461 section 3.3: sending mail servers may stop reading after 64 KiB.
	MaxSize = 65536
	// One sending mail server stops reading after this.
	large = 10240
	day   = 86400
	week  = 7 * day
)

// Lint judges a policy. Of one that is too long its first MaxSize+1 bytes are enough.
func Lint(policy []byte) *Findings {
	j, size := judge{keys: map[string]bool{}, present: map[string]bool{}}, 0
	for line := range lines(policy) {
		if size += line.served(); size > MaxSize {
			j.findings.add(line.finding(sizeOver, 0))
			return &j.findings
		}
	}
	if bytes.HasPrefix(policy, byteOrderMark) {
		j.findings.add(Finding{Line: 1, Column: 1, rule: byteOrderMarked})
	}
	for line := range lines(policy) {
		j.line(line)
	}
	j.whole(policy, size)
	return &j.findings
}

// judge is the state after the lines read so far.
type judge struct {
	findings Findings
	keys     map[string]bool // keys seen so far
	present  map[string]bool // the known keys that some line has, or nearly has
	otherKey bool            // whether some line has a key other than `version`
	unread   bool            // whether some line cannot be read, and so may have a key that seems missing
	mode     Mode            // empty: not known
	legal    Finding         // the finding of the mode's line if there is no `mx`
	short    *Finding        // the finding of a `max_age` under a week if the mode is enforce
}

// forms are the rules for the form of a line, in the order of precedence, each with the place of the fault, from 0, or
// -1.
var forms = [...]struct {
	rule  rule
	place func(line []byte) int
}{
	{bareCR, func(line []byte) int { return bytes.IndexByte(line, '\r') }},
	{control, firstControl},
	{blankLine, func(line []byte) int { return placeIf(len(bytes.Trim(line, blanks)) == 0) }},
	{commented, comment},
	{nonASCII, func(line []byte) int {
		if bytes.HasPrefix(line, []byte("mx:")) {
			return -1
		}
		return notASCII(line)
	}},
	{mxNonASCII, notASCII},
	{leadingSpace, func(line []byte) int { return placeIf(strings.IndexByte(blanks, line[0]) >= 0) }},
	{noColon, func(line []byte) int { return placeIf(bytes.IndexByte(line, ':') < 0) }},
	{spaceBeforeColon, blankBeforeColon},
}

func placeIf(broken bool) int {
	if broken {
		return 0
	}
	return -1
}

func firstControl(line []byte) int {
	return slices.IndexFunc(line, func(b byte) bool { return b < ' ' && b != '\t' || b == 0x7f })
}

func notASCII(line []byte) int {
	return slices.IndexFunc(line, func(b byte) bool { return b > 0x7f })
}

func blankBeforeColon(line []byte) int {
	key := line[:bytes.IndexByte(line, ':')]
	if trimmed := bytes.TrimRight(key, blanks); len(trimmed) < len(key) {
		return len(trimmed)
	}
	return -1
}

func (j *judge) line(l line) {
	p, paired := l.pair()
	behindOtherKey := j.otherKey
	if paired {
		j.present[near(p.key)] = true
		j.otherKey = j.otherKey || p.key != "version"
	}
	for _, form := range forms {
		if at := form.place(l.bytes); at >= 0 {
			j.unread = j.unread || form.rule == bareCR || form.rule == noColon
			j.findings.add(l.finding(form.rule, at))
			return
		}
	}
	if finding := j.pair(l, p, behindOtherKey); finding != nil {
		j.findings.add(*finding)
	}
}

func (l line) finding(broken rule, at int) Finding {
	return Finding{Line: l.number, Column: l.start + at, rule: broken}
}

func (j *judge) pair(l line, p pair, behindOtherKey bool) *Finding {
	at := func(broken rule, place int) *Finding {
		finding := l.finding(broken, place)
		return &finding
	}
	switch known := near(p.key); {
	case known != "" && known != p.key:
		finding := at(nearMiss, 0)
		finding.meant = known
		return finding
	case known == "" && !isExtensionName(p.key):
		return at(badKey, 0)
	}
	stoodBefore := j.keys[p.key]
	j.keys[p.key] = true
	switch {
	case stoodBefore && p.key == "mode":
		return at(modeDuplicate, 0)
	case stoodBefore && p.key != "mx":
		return at(duplicate, 0)
	case len(p.value) == 0:
		return at(noValue, p.colon)
	case p.key == "version" && string(p.value) == "STSv1" && behindOtherKey:
		return at(versionNotFirst, 0)
	}
	broken, found := j.value(l, p)
	switch {
	case !found:
		return nil
	case broken == unknownKey:
		return at(unknownKey, 0)
	}
	return at(broken, p.valueAt)
}

// value applies the rules for a value, which depend on its key.
func (j *judge) value(l line, p pair) (broken rule, found bool) {
	switch p.key {
	case "version":
		return versionValue, string(p.value) != "STSv1"
	case "mode":
		mode, known := modeOf(p.value)
		if known {
			j.mode, j.legal = mode, l.finding(noneWithoutMX, p.valueAt)
		}
		return modeValue, !known
	case "max_age":
		seconds, broken, found := maxAge(string(p.value))
		if !found && seconds < week {
			finding := l.finding(maxAgeWeek, p.valueAt)
			j.short = &finding
		}
		return broken, found
	case "mx":
		return hostFault(p.value)
	}
	return unknownKey, true
}

// whole applies the rules that need the whole policy.
func (j *judge) whole(policy []byte, size int) {
	if j.mode == Enforce && j.short != nil {
		j.findings.add(*j.short)
	}
	atEnd := func(broken rule, applies bool) {
		if applies {
			line, column := end(policy)
			j.findings.add(Finding{Line: line, Column: column, rule: broken})
		}
	}
	missing := func(key string) bool { return !j.unread && !j.present[key] }
	atEnd(versionMissing, missing("version"))
	atEnd(modeMissing, missing("mode"))
	atEnd(maxAgeMissing, missing("max_age"))
	atEnd(mxMissing, missing("mx") && j.mode != None)
	if missing("mx") && j.mode == None {
		j.findings.add(j.legal)
	}
	atEnd(sizeLarge, size > large)
}

// isExtensionName checks the syntax of RFC 8461 section 3.2: sts-policy-ext-name.
func isExtensionName(key string) bool {
	for _, b := range []byte(key) {
		if !isAlphanumeric(b) && strings.IndexByte("_-.", b) < 0 {
			return false
		}
	}
	return len(key) >= 1 && len(key) <= 32 && isAlphanumeric(key[0])
}

// maxAge reads a number as RFC 8461 section 3.2 has it: 1 to 10 digits, and no more than a year and a day.
func maxAge(value string) (seconds int64, broken rule, found bool) {
	if len(value) > 10 || strings.Trim(value, "0123456789") != "" {
		return 0, maxAgeValue, true
	}
	seconds, _ = strconv.ParseInt(value, 10, 64) // ten digits fit
	switch {
	case seconds > MaxMaxAge:
		return seconds, maxAgeOver, true
	case seconds < day:
		return seconds, maxAgeDay, true
	}
	return seconds, 0, false
}
