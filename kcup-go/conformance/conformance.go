// Package conformance reads the data in ../conformance, for the unit tests of all packages.
package conformance

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// Vectors returns the rows of one table of vectors/NAME.toml, of which there is at least one.
func Vectors[T any](t testing.TB, name, table string) (rows []T) {
	var file map[string]toml.Primitive
	path := filepath.Join(home(t), "vectors", name+".toml")
	meta, err := toml.DecodeFile(path, &file)
	if err == nil {
		err = meta.PrimitiveDecode(file[table], &rows)
	}
	if err != nil || len(rows) == 0 {
		t.Fatal(path, table, len(rows), err)
	}
	return rows
}

// Seed is an input found by a fuzzer.
type Seed struct {
	Name  string
	Bytes []byte
}

// Corpus returns the inputs that the fuzzers of both programs found for a target, in the order of their names.
func Corpus(t testing.TB, target string) (seeds []Seed) {
	paths, err := filepath.Glob(filepath.Join(home(t), "corpus", target, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, path := range paths {
		bytes, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, Seed{filepath.Base(path), bytes})
	}
	return seeds
}

// Parts are bytes as they are written in vectors: text, { hex = "00" }, or { repeat = "x", times = 2 }.
type Parts []any

// Bytes joins the parts.
func (p Parts) Bytes(t testing.TB) (b []byte) {
	for _, part := range p {
		switch part := part.(type) {
		case string:
			b = append(b, part...)
		case map[string]any:
			if digits, ok := part["hex"].(string); ok {
				raw, err := hex.DecodeString(digits)
				if err != nil {
					t.Fatal(err)
				}
				b = append(b, raw...)
				continue
			}
			b = append(b, strings.Repeat(part["repeat"].(string), int(part["times"].(int64)))...)
		}
	}
	return b
}

// home is ../conformance, found from the directory of the package under test, or of a copy of it.
func home(t testing.TB) string {
	for up := ".."; len(up) < 100; up += "/.." {
		if home := up + "/conformance"; isDirectory(home + "/vectors") {
			return home
		}
	}
	t.Fatal("there is no conformance/vectors above")
	return ""
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
