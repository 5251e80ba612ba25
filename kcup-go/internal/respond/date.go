package respond

import (
	"net/http"
	"slices"
	"time"
)

// AppendDate appends Unix seconds in the preferred form of RFC 9110 section 5.6.7.
func AppendDate(b []byte, unix int64) []byte {
	return time.Unix(unix, 0).UTC().AppendFormat(b, http.TimeFormat)
}

var (
	days     = [...]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	longDays = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	months   = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
)

// dateReader reads from the front of b; once something was not there it is bad for good.
type dateReader struct {
	b   []byte
	bad bool
}

// ParseDate reads the three forms of RFC 9110 section 5.6.7 as Unix seconds. now is for years of two digits.
// time.Parse is laxer: it takes any letter case, any zone and fractions of a second.
func ParseDate(value []byte, now int64) (int64, bool) {
	r := dateReader{b: value}
	var year, month, day, clock int
	century := true
	switch comma := commaAt(value); {
	case comma == 3: // Sun, 06 Nov 1994 08:49:37 GMT
		r.oneOf(days[:])
		r.text(", ")
		day = r.number(2)
		r.text(" ")
		month = r.oneOf(months[:]) + 1
		r.text(" ")
		year = r.number(4)
		r.text(" ")
		clock = r.clock()
		r.text(" GMT")
	case comma > 3: // Sunday, 06-Nov-94 08:49:37 GMT
		r.oneOf(longDays[:])
		r.text(", ")
		day = r.number(2)
		r.text("-")
		month = r.oneOf(months[:]) + 1
		r.text("-")
		year, century = r.number(2), false
		r.text(" ")
		clock = r.clock()
		r.text(" GMT")
	default: // Sun Nov  6 08:49:37 1994
		r.oneOf(days[:])
		r.text(" ")
		month = r.oneOf(months[:]) + 1
		r.text(" ")
		day = r.padded()
		r.text(" ")
		clock = r.clock()
		r.text(" ")
		year = r.number(4)
	}
	if r.bad || len(r.b) > 0 {
		return 0, false
	}
	if !century {
		year = fullYear(year, month, day, clock, now)
	}
	if day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	return unixOf(year, month, day, clock), true
}

func commaAt(b []byte) int {
	for i, c := range b {
		if c == ',' {
			return i
		}
	}
	return -1
}

// fullYear takes the latest year that is not more than 50 years ahead. It compares what is written, since a 29 February
// need not exist 50 years later.
func fullYear(year, month, day, clock int, now int64) int {
	today := time.Unix(now, 0).UTC()
	hour, minute, second := today.Clock()
	limit := [...]int{today.Year() + 50, int(today.Month()), today.Day(), hour*3600 + minute*60 + second}
	year += today.Year()/100*100 + 100
	for slices.Compare([]int{year, month, day, clock}, limit[:]) > 0 {
		year -= 100
	}
	return year
}

func unixOf(year, month, day, clock int) int64 {
	return time.Date(year, time.Month(month), day, 0, 0, clock, 0, time.UTC).Unix()
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func (r *dateReader) text(want string) {
	if r.bad || len(r.b) < len(want) || string(r.b[:len(want)]) != want {
		r.bad = true
		return
	}
	r.b = r.b[len(want):]
}

func (r *dateReader) oneOf(names []string) int {
	for i, name := range names {
		if len(r.b) >= len(name) && string(r.b[:len(name)]) == name {
			r.b = r.b[len(name):]
			return i
		}
	}
	r.bad = true
	return 0
}

func (r *dateReader) number(width int) (n int) {
	if r.bad || len(r.b) < width {
		r.bad = true
		return 0
	}
	for _, c := range r.b[:width] {
		r.bad = r.bad || !isDigit(c)
		n = n*10 + int(c-'0')
	}
	r.b = r.b[width:]
	return n
}

func (r *dateReader) padded() int {
	if len(r.b) > 0 && r.b[0] == ' ' {
		r.text(" ")
		return r.number(1)
	}
	return r.number(2)
}

// clock returns the second of the day; a leap second is the one after.
func (r *dateReader) clock() int {
	hour := r.number(2)
	r.text(":")
	minute := r.number(2)
	r.text(":")
	second := r.number(2)
	r.bad = r.bad || hour > 23 || minute > 59 || second > 60
	return hour*3600 + minute*60 + second
}
