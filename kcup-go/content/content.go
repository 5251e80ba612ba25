// Package content owns what is served: the bytes, their type, tags and variants, immutable and complete when built.
// It must not know HTTP requests.
// Its sibling is kcup-rust/src/content/mod.rs.
package content

import (
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"time"

	"kcup/config"
)

// Coding is a content coding, in the order of preference among equals (K-46).
type Coding uint8

// The codings, br first.
const (
	Brotli Coding = iota
	Gzip
	Identity
	Codings
)

var codingNames = [Codings]string{"br", "gzip", "identity"}

// String is the coding's name in fields.
func (c Coding) String() string { return codingNames[c] }

// Digest is the SHA-256 of some bytes.
type Digest [sha256.Size]byte

// Content is what is served. Nobody writes to it once it is built.
type Content struct {
	*Shared             // where the identity bytes lie; nil where that is the heap
	Bytes        []byte // identity
	ETag         string // of the identity bytes, strong
	LastModified int64  // Unix seconds
	Loaded       int64  // likewise, when it was
	Read         Digest // of the bytes that it was made of
	Once         bool   // it was not read from a regular file, and cannot be read again
	Variants     [Codings]Variant

	// The parts of a 206 before, between and after its numbers, and of a 416 likewise.
	Partial     Block
	PartialHead string
	Unsatisfied string
}

// Variant is one encoding of the content; without a Body it does not exist.
type Variant struct {
	Body        []byte
	ETag        string
	OK          Block // the head of a 200
	NotModified Block // the head of a 304
}

// Block is a rendered piece of a response head. Everything that does not change from one answer to the
// next is in it, so that per request only the date and the connection field are left to write.
type Block struct {
	Bytes        []byte
	LastModified int // where its value stands, for a clock that was set back (K-42)
}

// Size is how many bytes are held in memory.
func (c *Content) Size() (size int64) {
	for i := range c.Variants {
		size += int64(len(c.Variants[i].Body))
	}
	return size
}

// Source is what Build needs to know of bytes that were read.
type Source struct {
	Bytes    []byte
	Shared   *Shared   // where they lie; nil where that is the heap
	Name     string    // of the file; empty for standard input
	Modified time.Time // of a regular file; else zero
	Once     bool      // as in Content
}

// Digest is that of the bytes as they were read.
func (s Source) Digest() Digest {
	defer runtime.KeepAlive(s.Shared)
	return sha256.Sum256(s.Bytes)
}

// Build makes the content of a source.
func Build(source Source, cfg *config.Config, now time.Time) *Content {
	defer runtime.KeepAlive(source.Shared)
	sum := source.Digest()
	digits := hex.EncodeToString(sum[:16])
	kind, textual := mediaType(source.Name, cfg.ContentType, source.Bytes)

	modified := source.Modified
	if modified.IsZero() || modified.After(now) {
		modified = now
	}
	c := &Content{Shared: source.Shared, Bytes: source.Bytes, ETag: `"` + digits + `"`, LastModified: modified.Unix(), Loaded: now.Unix(), Read: sum, Once: source.Once}
	c.Variants[Identity] = Variant{Body: source.Bytes, ETag: c.ETag}
	if cfg.Compression && textual && len(source.Bytes) >= minCompressed && len(source.Bytes) <= maxCompressed {
		c.Variants[Brotli] = Variant{Body: brotli(source.Bytes), ETag: `W/"` + digits + `-br"`}
		c.Variants[Gzip] = Variant{Body: gzipped(source.Bytes), ETag: `W/"` + digits + `-gzip"`}
	}
	c.render(kind, cfg.Fields)
	return c
}
