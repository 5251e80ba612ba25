// Package content owns the content: its bytes, type, tags and variants, immutable once built.
// It must not know HTTP requests, or what a response looks like.
package content

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// String returns the coding's name in fields.
func (c Coding) String() string { return codingNames[c] }

// Content is one version of the content. It is not changed once it is built.
type Content struct {
	*Shared              // has the identity bytes; nil if they are in the heap
	variants     *Shared // has the bytes of the others
	holders      atomic.Int64
	Bytes        []byte // identity
	MediaType    string
	ETag         string // of the identity bytes, strong
	LastModified int64  // Unix seconds
	Loaded       int64  // Unix seconds
	SourceDigest Digest // of the bytes that it was built from
	OneShot      bool   // it was not read from a regular file, and cannot be read again
	Plain        bool   // it has no variants because there was no memory for them
	Variants     [Codings]Variant
	Warnings     []string // for the person who publishes it
}

// Variant is one encoding of the content; without a Body it does not exist.
type Variant struct {
	Body []byte
	ETag string
}

// HasVariants reports whether there are encodings besides the identity.
func (c *Content) HasVariants() bool { return c.Variants[Gzip].Body != nil }

// Offset returns the place of part in one of the files, if it is a slice of their bytes.
func (c *Content) Offset(part []byte) (fd int, at int64, ok bool) {
	if fd, at, ok = c.Shared.Offset(part); !ok {
		fd, at, ok = c.variants.Offset(part)
	}
	return fd, at, ok
}

// News returns the events to log once it is served: at the start, or after a reload of what was served before.
func (c *Content) News(cfg *config.Config, before *Content) (news []string) {
	what := fmt.Sprintf("%s, %s", Counted(int64(len(c.Bytes)), "byte"), c.MediaType)
	switch {
	case before == nil && cfg.Path != "":
		news = append(news, fmt.Sprintf("serving %s at %s: %s", name(cfg), cfg.Path, what))
	case before == nil:
		news = append(news, fmt.Sprintf("serving %s: %s", name(cfg), what))
	case before.SourceDigest == c.SourceDigest:
		news = append(news, fmt.Sprintf("reloaded %s: unchanged, %s", name(cfg), what))
	default:
		news = append(news, fmt.Sprintf("reloaded %s: changed, %s", name(cfg), what))
	}
	if cfg.Preset == config.MTASTS && (before == nil || before.ETag != c.ETag) {
		news = append(news, advice(c.Bytes))
	}
	return news
}

// Size returns the number of bytes held in memory.
func (c *Content) Size() (size int64) {
	for i := range c.Variants {
		size += int64(len(c.Variants[i].Body))
	}
	if c.Shared != nil {
		size += c.padding
	}
	return size
}

// Acquire adds a holder to content that somebody holds.
func (c *Content) Acquire() {
	if !c.TryAcquire() {
		panic("content that nobody holds any more is acquired")
	}
}

// TryAcquire adds a holder, unless the content has none any more.
func (c *Content) TryAcquire() bool {
	for n := c.holders.Load(); n > 0; n = c.holders.Load() {
		if c.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// Release is called once by each holder. The bytes are outside of the collector's heap: after the last holder they are
// gone.
func (c *Content) Release() {
	switch left := c.holders.Add(-1); {
	case left < 0:
		panic("content is released more often than it was acquired")
	case left == 0:
		c.Shared.release()
		c.variants.release()
	}
}

// Alive reports whether the content has a holder.
func (c *Content) Alive() bool { return c.holders.Load() > 0 }

// Digest is the SHA-256 of some bytes.
type Digest [sha256.Size]byte

// Source is content as it was read.
type Source struct {
	Bytes    []byte
	Shared   *Shared   // has them; nil if they are in the heap
	Name     string    // of the file; empty for standard input
	Modified time.Time // of a regular file; otherwise zero
	OneShot  bool      // as in Content
	Plain    bool      // there is no memory for variants
}

// Digest returns the SHA-256 of the bytes as they were read.
func (s Source) Digest() Digest { return sha256.Sum256(s.Bytes) }

// Release frees a source that no content was built from.
func (s Source) Release() { s.Shared.release() }

// Build builds the content of a source. The caller holds it.
func Build(source Source, cfg *config.Config, now time.Time) *Content {
	sum := source.Digest()
	digits := hex.EncodeToString(sum[:16])
	kind, textual := mediaType(source.Name, cfg.ContentType, source.Bytes)
	modified := source.Modified
	if modified.IsZero() || modified.After(now) {
		modified = now
	}
	c := &Content{
		Shared: source.Shared, Bytes: source.Bytes, MediaType: kind, ETag: `"` + digits + `"`,
		LastModified: max(modified.Unix(), 0), Loaded: now.Unix(), SourceDigest: sum, OneShot: source.OneShot,
	}
	c.holders.Store(1)
	c.Variants[Identity] = Variant{c.Bytes, c.ETag}
	if textual && mayHaveVariants(int64(len(c.Bytes)), cfg) {
		if c.Plain = source.Plain || !c.compress(); !c.Plain {
			c.Variants[Brotli].ETag, c.Variants[Gzip].ETag = `W/"`+digits+`-br"`, `W/"`+digits+`-gzip"`
		}
	}
	return c
}
