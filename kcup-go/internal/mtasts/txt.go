package mtasts

import (
	"crypto/sha256"
	"encoding/hex"
)

// Record is the TXT record that tells sending mail servers of a policy (RFC 8461 section 3.1): `v=STSv1; id=…;`, with the
// same id for a policy whatever its line ends, and another when anything else changes.
func Record(policy []byte) string {
	digest := sha256.Sum256(Served(policy))
	// 32 characters are the most that an id may have.
	return "v=STSv1; id=" + hex.EncodeToString(digest[:16]) + ";"
}

// ZoneLine is the record as a line of a zone file, for a domain as Domain returns it.
func ZoneLine(domain, record string) string {
	return "_mta-sts." + domain + `. IN TXT "` + record + `"`
}
