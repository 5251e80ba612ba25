package accesslog

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

type clientVector struct {
	Name, Peer, Want string
	Trusted          *string
	Fields           []string
}

func trusting(t testing.TB, list ...string) *config.Config {
	var args []string
	for _, list := range list {
		args = append(args, "--trusted-proxy="+list)
	}
	cfg, _, err := config.Parse(args, func(string) string { return "" }, "")
	if err != nil {
		t.Fatal(err)
	}
	return &cfg
}

func headWith(fields ...string) []byte {
	return []byte("GET / HTTP/1.1\r\n" + strings.Join(append(fields, "\r\n"), "\r\n"))
}

func TestClientsAreThoseOfTheVectors(t *testing.T) {
	for _, c := range conformance.Vectors[clientVector](t, "trusted_proxy", "case") {
		cfg := trusting(t)
		if c.Trusted != nil {
			cfg = trusting(t, *c.Trusted)
		}
		cfg.AccessLog = "json"
		lines := New(cfg, quiet()).Lines()
		peer, _ := netip.ParseAddr(c.Peer) // if it is not an address, it is a unix socket's
		lines.Add(&Entry{Peer: peer, Head: headWith(c.Fields...)}, 0, 0)
		if !bytes.Contains(lines.text, []byte(`"peer":"`+c.Want+`"`)) {
			t.Errorf("%s: %s, not %s", c.Name, lines.text, c.Want)
		}
	}
}

func TestAClientIsFoundWithoutAllocating(t *testing.T) {
	cfg := trusting(t, "10.0.0.0/8,2001:db8::/48")
	head := headWith(`Forwarded: for=x, for="[2001:db8:1::1]:4711"`, "X-Forwarded-For: x, 2001:db8:1::1, 10.0.0.2:80")
	find := func() { client(netip.MustParseAddr("10.0.0.1"), head, &cfg.TrustedProxies) }
	if allocated := testing.AllocsPerRun(100, find); allocated > 0 {
		t.Errorf("%v allocations", allocated)
	}
}

// What a client sends changes nothing of what a trusted proxy adds at the end, on the same line or on another.
func FuzzClient(f *testing.F) {
	for _, c := range conformance.Vectors[clientVector](f, "trusted_proxy", "case") {
		f.Add([]byte(strings.Join(c.Fields, "\n")))
	}
	addCorpus(f)
	f.Fuzz(func(t *testing.T, sent []byte) {
		proxy, want := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("192.0.2.1")
		cfg := trusting(t, "10.0.0.0/8")
		is := func(fields ...string) bool { return client(proxy, headWith(fields...), &cfg.TrustedProxies) == want }
		value := string(bytes.ReplaceAll(sent, []byte("\n"), []byte(" ")))
		member := `for="192.0.2.1:80";host="\", for=198.51.100.1;x=\"\\", for=10.0.0.2`
		if !is("forwarded: "+value+","+member) || !is("forwarded: "+value, "Forwarded: "+member) {
			t.Error("forwarded")
		}
		if !is("x-forwarded-for: "+value+",192.0.2.1, 10.0.0.2") || !is("x-forwarded-for: "+value, "X-Forwarded-For: 192.0.2.1") {
			t.Error("x-forwarded-for")
		}
		both := headWith("Forwarded: "+value, "X-Forwarded-For: 192.0.2.1")
		if got := client(proxy, both, &cfg.TrustedProxies); got != want && got != proxy {
			t.Error(got)
		}
	})
}
