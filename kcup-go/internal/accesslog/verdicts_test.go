package accesslog

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
)

func addCorpus(f *testing.F) {
	for _, seed := range conformance.Corpus(f, "client") {
		f.Add(seed.Bytes)
	}
}

// TestVerdicts writes the clients that the corpus names, for `make verdicts` to compare with the other program's. An
// input is the value of each field, with LF between its lines.
func TestVerdicts(t *testing.T) {
	directory := os.Getenv("VERDICTS")
	if directory == "" {
		t.Skip("VERDICTS is not set")
	}
	cfg := trusting(t, "10.0.0.0/8,2001:db8::/48")
	var out strings.Builder
	for _, seed := range conformance.Corpus(t, "client") {
		fmt.Fprint(&out, seed.Name)
		for _, name := range []string{"forwarded", "x-forwarded-for"} {
			field := name + ":" + strings.ReplaceAll(string(seed.Bytes), "\n", "\r\n"+name+":")
			e := Entry{Peer: client(netip.MustParseAddr("10.0.0.1"), headWith(field), &cfg.TrustedProxies)}
			fmt.Fprintf(&out, " %s", e.appendPeer(nil))
		}
		fmt.Fprintln(&out)
	}
	if err := os.WriteFile(filepath.Join(directory, "client"), []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
