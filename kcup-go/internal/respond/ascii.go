package respond

// Trim removes the spaces and tabs around a value (RFC 9110 section 5.5: OWS).
func Trim(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// EqualFold compares without regard to the case of ASCII letters; word is in lower case. bytes.EqualFold also folds
// letters beyond ASCII, which two parsers could read differently.
func EqualFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if c != word[i] && (c < 'A' || c > 'Z' || c+32 != word[i]) {
			return false
		}
	}
	return true
}
