package respond

import (
	"bytes"
	"net/http"
	"time"
)

// The forms of RFC 9110 section 5.6.7 besides the preferred one, which is http.TimeFormat. time.RFC850 would accept any
// zone.
const (
	rfc850      = "Monday, 02-Jan-06 15:04:05 GMT"
	longestDate = len("Wednesday, 06-Nov-94 08:49:37 GMT")
)

// ParseDate reads a date as Unix seconds. It chooses the form itself, since time.Parse allocates when it fails.
func ParseDate(value []byte) (unix int64, valid bool) {
	if len(value) > longestDate {
		return 0, false
	}
	layout := rfc850
	switch bytes.IndexByte(value, ',') {
	case -1:
		layout = time.ANSIC
	case len("Sun"):
		layout = http.TimeFormat
	}
	t, err := time.Parse(layout, string(value))
	return t.Unix(), err == nil
}

// AppendDate appends Unix seconds in the preferred form.
func AppendDate(b []byte, unix int64) []byte {
	return time.Unix(unix, 0).UTC().AppendFormat(b, http.TimeFormat)
}
