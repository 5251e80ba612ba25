package content

const (
	dayNames   = "SunMonTueWedThuFriSat"
	monthNames = "JanFebMarAprMayJunJulAugSepOctNovDec"
)

// DateLength is that of the preferred form.
const DateLength = len("Sun, 06 Nov 1994 08:49:37 GMT")

// AppendDate appends Unix seconds in the preferred form of RFC 9110 section 5.6.7.
// time.AppendFormat would do, at several times the cost, on the path of every answer.
func AppendDate(b []byte, unix int64) []byte {
	const day = 86400
	days, second := unix/day, unix%day
	if second < 0 {
		days, second = days-1, second+day
	}
	year, month, date := civil(days)
	weekday := ((days+4)%7 + 7) % 7
	b = append(b, dayNames[weekday*3:weekday*3+3]...)
	b = append(b, ", "...)
	b = append(two(b, date), ' ')
	b = append(b, monthNames[month*3-3:month*3]...)
	b = append(b, ' ')
	b = two(two(b, year/100), year%100)
	b = append(b, ' ')
	b = append(two(b, second/3600), ':')
	b = append(two(b, second/60%60), ':')
	return append(two(b, second%60), " GMT"...)
}

// civil turns days since 1970 into a date of the Gregorian calendar: a year begins in March here, so that
// its leap day is its last.
func civil(days int64) (year, month, date int64) {
	days += 719468
	era := days / 146097
	if days < 0 {
		era = (days - 146096) / 146097
	}
	ofEra := days - era*146097
	yearOfEra := (ofEra - ofEra/1460 + ofEra/36524 - ofEra/146096) / 365
	ofYear := ofEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*ofYear + 2) / 153
	date = ofYear - (153*shifted+2)/5 + 1
	month = shifted + 3
	if month > 12 {
		month -= 12
	}
	year = yearOfEra + era*400
	if month <= 2 {
		year++
	}
	return year, month, date
}

func two(b []byte, n int64) []byte { return append(b, byte('0'+n/10%10), byte('0'+n%10)) }
