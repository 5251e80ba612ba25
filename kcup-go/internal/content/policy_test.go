package content

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

func TestRecordsAreThoseOfTheVectors(t *testing.T) {
	var file struct {
		Txt []struct {
			Name, Policy     string
			Args, Findings   []string
			Printed, Refused string
		}
	}
	if _, err := toml.DecodeFile("../../../conformance/vectors/mta_sts.toml", &file); err != nil || len(file.Txt) == 0 {
		t.Fatal(len(file.Txt), err)
	}
	path := filepath.Join(t.TempDir(), "p")
	for _, c := range file.Txt {
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
			findings = strings.Split(strings.ReplaceAll(err.Error(), `cannot publish the policy from "`+path+`": `, ""), "\n")
		}
		if text != c.Printed || status != 0 || !slices.Equal(findings, c.Findings) {
			t.Errorf("%s: %q %v", c.Name, text, err)
		}
	}
}
