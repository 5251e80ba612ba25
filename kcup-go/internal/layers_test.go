package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each imports only what stands before it.
var layers = []string{"mtasts", "config", "content", "respond", "accesslog", "server", "ops"}

func TestLayers(t *testing.T) {
	const module = "gitlab.com/kcup/kcup/kcup-go/internal/"
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Dir(path) == "." || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		layer, _, _ := strings.Cut(path, "/")
		seen[layer] = true
		for _, imported := range file.Imports {
			name, err := strconv.Unquote(imported.Path.Value)
			if err != nil {
				return err
			}
			below, ours := strings.CutPrefix(name, module)
			below, _, _ = strings.Cut(below, "/")
			if ours && below != layer && slices.Index(layers, below) >= slices.Index(layers, layer) {
				t.Errorf("%s imports %s, which does not stand below it", path, below)
			}
		}
		return nil
	})
	if err != nil || len(seen) != len(layers) {
		t.Fatal("not all layers were seen:", seen, err)
	}
}
