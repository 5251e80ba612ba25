package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
)

// TestVerdicts writes the guard's verdicts on the corpus, for `make verdicts` to compare with the other program's.
func TestVerdicts(t *testing.T) {
	directory := os.Getenv("VERDICTS")
	if directory == "" {
		t.Skip("VERDICTS is not set")
	}
	var out strings.Builder
	for _, seed := range conformance.Corpus(t, "guard") {
		var g Guard
		text := "partial"
		switch g.Scan(seed.Bytes) {
		case Refused:
			text = fmt.Sprint("refused ", g.Status)
		case Complete:
			text = fmt.Sprint("complete ", g.Length, g.Skip, g.Body, g.Persists())
		}
		fmt.Fprintln(&out, seed.Name, text)
	}
	if err := os.WriteFile(filepath.Join(directory, "guard"), []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
