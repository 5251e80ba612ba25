package content

import (
	"bytes"

	"github.com/klauspost/compress/gzip"
	brrr "github.com/molecule-man/go-brrr"
)

// A rule that does not depend on the compressor, so that both programs agree on what has variants (K-45).
const (
	minCompressed = 1024
	maxCompressed = 1048576
)

// Levels that together are meant to stay below 200 ms for 1 MiB of text on one core.
const (
	brotliLevel = 5
	gzipLevel   = 6
)

func brotli(b []byte) []byte {
	out, err := brrr.Compress(b, brotliLevel)
	if err != nil {
		panic(err) // only a level that does not exist
	}
	return bytes.Clone(out)
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzipLevel)
	if err != nil {
		panic(err) // only a level that does not exist
	}
	_, _ = w.Write(b) // a buffer takes everything
	_ = w.Close()
	return bytes.Clone(out.Bytes())
}
