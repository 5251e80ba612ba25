// The classes of bytes.

package guard

// Classes of bytes, one bit each.
const (
	token      = 1 << iota // RFC 9110 section 5.6.2
	targetByte             // K-61
	valueByte              // K-64
	hostByte               // K-66: unreserved, % and sub-delims
	literal                // K-66: inside the brackets of an address
	digit
)

var classes = makeClasses()

func makeClasses() (table [256]uint8) {
	set := func(bytes string, class uint8) {
		for i := range len(bytes) {
			table[bytes[i]] |= class
		}
	}
	for c := '!'; c <= '~'; c++ {
		table[c] |= targetByte | valueByte
	}
	for _, c := range []byte("\"#<>`") {
		table[c] &^= targetByte
	}
	for c := 0x80; c <= 0xff; c++ {
		table[c] |= valueByte
	}
	set(" \t", valueByte)
	set("0123456789", token|hostByte|literal|digit)
	for c := 'a'; c <= 'z'; c++ {
		set(string([]byte{byte(c), byte(c) - 32}), token|hostByte)
	}
	set("!#$%&'*+-.^_`|~", token)
	set("-._~%!$&'()*+,;=", hostByte)
	set("abcdefABCDEF:.", literal)
	return table
}
