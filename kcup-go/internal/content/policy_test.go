package content

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

func TestRecordsAreThoseOfTheVectors(t *testing.T) {
	type txtCase struct {
		Name, Policy     string
		Args, Findings   []string
		Printed, Refused string
	}
	path := filepath.Join(t.TempDir(), "p")
	for _, c := range conformance.Vectors[txtCase](t, "mta_sts", "txt") {
		if err := os.WriteFile(path, []byte(c.Policy), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := config.Parse(append([]string{"mta-sts", "txt", path}, c.Args...), func(string) string { return "" }, "")
		if c.Refused != "" {
			if err == nil || err.Error() != c.Refused {
				t.Errorf("%s: %v", c.Name, err)
			}
			continue
		}
		text, status, err := Answer(&cfg)
		var findings []string
		if err != nil {
			findings = strings.Split(strings.ReplaceAll(err.Error(), path+":", ""), "\n")[1:]
		}
		if text != c.Printed || status != 0 || !slices.Equal(findings, c.Findings) {
			t.Errorf("%s: %q %v", c.Name, text, err)
		}
	}
}
