// Package mtasts owns what an MTA-STS policy is: its findings, its TXT record, a new one (RFC 8461, SPEC section 9). Pure.
// It must not know the server, the command line, or where a policy comes from.
// Its sibling is kcup-rust/src/mta_sts/mod.rs.
package mtasts

import "bytes"

// Served is the bytes to serve: a line end of LF alone becomes CRLF (RFC 8461 section 3.2 has both).
func Served(policy []byte) []byte {
	served := make([]byte, 0, len(policy)+bytes.Count(policy, []byte{'\n'}))
	for at, b := range policy {
		if b == '\n' && (at == 0 || policy[at-1] != '\r') {
			served = append(served, '\r')
		}
		served = append(served, b)
	}
	return served
}
