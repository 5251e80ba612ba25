package content

import (
	"io"
	"math/bits"
	"runtime/debug"

	"github.com/klauspost/compress/gzip"
	brrr "github.com/molecule-man/go-brrr"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// Content of these lengths has variants. The rule does not depend on the compressor, so that both programs agree
// (K-45).
const (
	minCompressed = 1024
	maxCompressed = 1048576
)

// Levels that together should take less than 200 ms for 1 MiB of text on one core.
const (
	brotliLevel = 5
	gzipLevel   = 6
)

// The binary logarithm of brotli's window: one of 64 KiB makes 1 MiB of text 1.7 percent longer than one of 4 MiB, and
// takes 4 MB of memory instead of 17.
const (
	leastWindow = 10
	mostWindow  = 16
)

func mayHaveVariants(size int64, cfg *config.Config) bool {
	return cfg.Compression && size >= minCompressed && size <= maxCompressed
}

// compress makes the variants, in a file outside of the heap, as the content is. It fails if there is no memory.
func (c *Content) compress() (done bool) {
	into, err := newFilling()
	if err != nil {
		return false
	}
	var end [Identity]int64
	for coding, write := range [Identity]func(io.Writer, []byte) error{Brotli: brotli, Gzip: gzipped} {
		if err := write(into, c.Bytes); err != nil {
			into.abandon()
			return false
		}
		debug.FreeOSMemory() // the compressor's
		end[coding] = into.length
	}
	if c.variants, err = into.seal(); err != nil {
		return false
	}
	c.Variants[Brotli].Body = c.variants.bytes[:end[Brotli]:end[Brotli]]
	c.Variants[Gzip].Body = c.variants.bytes[end[Brotli]:]
	return true
}

func brotli(into io.Writer, b []byte) error {
	window := min(max(bits.Len(uint(len(b)+15)), leastWindow), mostWindow)
	w, err := brrr.NewWriterOptions(into, brotliLevel, brrr.WriterOptions{LGWin: window, SizeHint: uint(len(b))})
	if err != nil {
		panic(err) // only for options that do not exist
	}
	return compressed(w, b)
}

func gzipped(into io.Writer, b []byte) error {
	w, err := gzip.NewWriterLevel(into, gzipLevel)
	if err != nil {
		panic(err) // only for a level that does not exist
	}
	return compressed(w, b)
}

func compressed(w io.WriteCloser, b []byte) error {
	if _, err := w.Write(b); err != nil {
		return err
	}
	return w.Close()
}
