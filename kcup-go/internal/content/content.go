// Package content owns what is served: the bytes, their type, tags and variants, immutable and complete when built.
// It must not know HTTP requests.
// Its sibling is kcup-rust/src/content/mod.rs.
package content

import (
	"crypto/sha256"
	"encoding/hex"
	"sync/atomic"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
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

// Release is for what may be read as a Source is: nothing is held.
func (Digest) Release() {}

// Content is what is served. Nobody writes to it once it is built.
type Content struct {
	*Shared              // where the identity bytes lie; nil where that is the heap
	variants     *Shared // where those of the others lie
	holders      atomic.Int64
	Bytes        []byte // identity
	ETag         string // of the identity bytes, strong
	LastModified int64  // Unix seconds
	Loaded       int64  // likewise, when it was
	Read         Digest // of the bytes that it was made of
	Once         bool   // it was not read from a regular file, and cannot be read again
	Plain        bool   // it has no variants for want of memory
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

// Offset is where part begins in one of the files, if it is a slice of their bytes.
func (c *Content) Offset(part []byte) (fd int, at int64, ok bool) {
	if fd, at, ok = c.Shared.Offset(part); !ok {
		fd, at, ok = c.variants.Offset(part)
	}
	return fd, at, ok
}

// Size is how many bytes are held in memory.
func (c *Content) Size() (size int64) {
	for i := range c.Variants {
		size += int64(len(c.Variants[i].Body))
	}
	if c.Shared != nil {
		size += c.padding
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
	Plain    bool      // there is no room to make variants
}

// Digest is that of the bytes as they were read.
func (s Source) Digest() Digest { return sha256.Sum256(s.Bytes) }

// Release gives back what no content was made of.
func (s Source) Release() { s.Shared.release() }

// Build makes the content of a source. The caller holds it.
func Build(source Source, cfg *config.Config, now time.Time) *Content {
	sum := source.Digest()
	digits := hex.EncodeToString(sum[:16])
	kind, textual := mediaType(source.Name, cfg.ContentType, source.Bytes)

	modified := source.Modified
	if modified.IsZero() || modified.After(now) {
		modified = now
	}
	c := &Content{Shared: source.Shared, Bytes: source.Bytes, ETag: `"` + digits + `"`, LastModified: modified.Unix(), Loaded: now.Unix(), Read: sum, Once: source.Once}
	c.holders.Store(1)
	c.Variants[Identity] = Variant{Body: source.Bytes, ETag: c.ETag}
	if textual && mayHaveVariants(int64(len(source.Bytes)), cfg) {
		if c.Plain = source.Plain || !c.compress(); !c.Plain {
			c.Variants[Brotli].ETag, c.Variants[Gzip].ETag = `W/"`+digits+`-br"`, `W/"`+digits+`-gzip"`
		}
	}
	c.render(kind, cfg.Fields)
	return c
}
