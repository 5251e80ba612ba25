// A certificate and its key, read from two files (K-152).

package server

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

const (
	// mostPEM is the size of the largest file that is read.
	mostPEM = 65536
	// mostNames is how many names are logged.
	mostNames = 10
	// notice is how long before the end of a certificate warnings begin.
	notice   = 14 * 24 * time.Hour
	leastRSA = 2048
	// A pair that does not fit is read again this often, and this much later: one file may have been written before the other.
	rereads     = 10
	rereadPause = 100 * time.Millisecond
)

var errUnfit = errors.New("it does not fit the certificate")

// Certificate is what both files hold: they are whole, and fit each other.
type Certificate struct {
	Digest content.Digest // of both files
	config *tls.Config
	leaf   *x509.Certificate
}

// LoadCertificate reads both files. An error is the line of K-152.
func LoadCertificate(cfg *config.Config) (c *Certificate, err error) {
	for attempt := 0; attempt <= rereads; attempt++ {
		if attempt > 0 {
			time.Sleep(rereadPause)
		}
		if c, err = readCertificate(cfg); !errors.Is(err, errUnfit) {
			break
		}
	}
	return c, err
}

func readCertificate(cfg *config.Config) (*Certificate, error) {
	chain, leaf, text, err := readChain(cfg)
	if err == nil && time.Now().After(leaf.NotAfter) {
		err = fmt.Errorf("it expired on %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if err != nil {
		return nil, unusable("certificate", cfg.TLSCert, err)
	}
	keyText, err := content.Small(cfg.TLSKey, mostPEM)
	var key crypto.Signer
	if err == nil {
		key, err = readKey(keyText)
	}
	if err == nil && !key.Public().(interface{ Equal(crypto.PublicKey) bool }).Equal(leaf.PublicKey) {
		err = errUnfit
	}
	if err != nil {
		return nil, unusable("key", cfg.TLSKey, err)
	}
	return &Certificate{content.Digest(sha256.Sum256(slices.Concat(text, []byte{0}, keyText))), newTLS(tls.Certificate{Certificate: chain, PrivateKey: key, Leaf: leaf}), leaf}, nil
}

// newTLS has keys of its own for tickets, which the library changes every day (K-151).
func newTLS(pair tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		DynamicRecordSizingDisabled: true, // the kernel makes packets, and each record is a call
	}
}

func unusable(what, file string, err error) error {
	return fmt.Errorf("cannot use the %s in \"%s\": %w", what, config.Escaped(file), err)
}

// FirstCertificate reads the certificate that the server shows (K-157).
func FirstCertificate(cfg *config.Config) (der []byte, err error) {
	chain, _, _, err := readChain(cfg)
	if err != nil {
		return nil, unusable("certificate", cfg.TLSCert, err)
	}
	return chain[0], nil
}

func readChain(cfg *config.Config) (chain [][]byte, leaf *x509.Certificate, text []byte, err error) {
	if text, err = content.Small(cfg.TLSCert, mostPEM); err != nil {
		return nil, nil, nil, err
	}
	blocks, whole := blocksOf(text, "CERTIFICATE")
	if whole && len(blocks) == 0 {
		return nil, nil, nil, errors.New("it has no certificate")
	}
	for _, block := range blocks {
		chain = append(chain, block.Bytes)
	}
	if whole {
		leaf, err = x509.ParseCertificate(chain[0])
	}
	if !whole || err != nil {
		return nil, nil, nil, errors.New("it is not a valid certificate")
	}
	return chain, leaf, text, nil
}

// blocksOf are the blocks of these kinds. They are whole if the library has read all that begin.
func blocksOf(text []byte, kinds ...string) (blocks []*pem.Block, whole bool) {
	begun := 0
	for _, kind := range kinds {
		begun += bytes.Count(text, []byte("-----BEGIN "+kind+"-----"))
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if slices.Contains(kinds, block.Type) {
			blocks = append(blocks, block)
		}
	}
	return blocks, len(blocks) == begun
}

func readKey(text []byte) (key crypto.Signer, err error) {
	blocks, whole := blocksOf(text, "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY")
	if whole && len(blocks) == 0 {
		return nil, errors.New("it has no private key")
	}
	if whole {
		key = parseKey(blocks[0])
	}
	if !isUsable(key) {
		return nil, errors.New("it is not a usable key")
	}
	return key, nil
}

// parseKey is nil for a key that cannot be read.
func parseKey(block *pem.Block) crypto.Signer {
	var key any
	switch block.Type {
	case "PRIVATE KEY":
		key, _ = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, _ = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, _ = x509.ParseECPrivateKey(block.Bytes)
	}
	signer, _ := key.(crypto.Signer)
	return signer
}

func isUsable(key crypto.Signer) bool {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return key != nil && key.N.BitLen() >= leastRSA
	case *ecdsa.PrivateKey:
		return key != nil && (key.Curve == elliptic.P256() || key.Curve == elliptic.P384())
	case ed25519.PrivateKey:
		return key != nil
	}
	return false
}

// Expires is in seconds since 1970.
func (c *Certificate) Expires() int64 { return c.leaf.NotAfter.Unix() }

// News says what was loaded (K-153).
func (c *Certificate) News() string {
	names := c.names()
	said := strings.Join(names[:min(len(names), mostNames)], ", ")
	switch more := len(names) - mostNames; {
	case len(names) == 0:
		said = "no name"
	case more > 0:
		said += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("TLS for %s until %s", said, c.end())
}

// names are those of subjectAltName in their order, which the library does not keep (RFC 5280 section 4.2.1.6).
func (c *Certificate) names() (names []string) {
	var all []asn1.RawValue
	for _, extension := range c.leaf.Extensions {
		if extension.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}) {
			_, _ = asn1.Unmarshal(extension.Value, &all) // the library has read it
		}
	}
	for _, name := range all {
		switch address, is := netip.AddrFromSlice(name.Bytes); {
		case name.Tag == 2:
			names = append(names, config.Escaped(string(name.Bytes)))
		case name.Tag == 7 && is:
			names = append(names, address.String())
		}
	}
	return names
}

// Warning is about an end that is near, or over; empty if it is neither (K-153).
func (c *Certificate) Warning(now time.Time) string {
	switch left := c.leaf.NotAfter.Sub(now); {
	case left < 0:
		return "the certificate expired on " + c.end()
	case left <= notice:
		return fmt.Sprintf("the certificate expires on %s: in %s", c.end(), content.Counted(int64(left/(24*time.Hour)), "day"))
	}
	return ""
}

func (c *Certificate) end() string { return c.leaf.NotAfter.UTC().Format(time.RFC3339) }
