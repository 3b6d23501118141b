package catalog

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

const (
	top     = "../.." // of the repository, from here
	command = "go test ./internal/catalog -update"
)

var update = flag.Bool("update", false, "write the folder api")

// repository is this module, checked; read once for all tests.
var repository = sync.OnceValues(func() (*module, error) { return load(os.DirFS(top)) })

func load(fsys fs.FS) (*module, error) {
	m, err := read(fsys)
	if err != nil {
		return nil, err
	}
	outside, err := compiled(top, m.fset, m.strangers())
	if err != nil {
		return nil, err
	}
	err = m.check(outside)
	return m, err
}

func TestTheCatalogIsUpToDate(t *testing.T) {
	m := must(repository())(t)
	want := must(m.catalog())(t)
	if *update {
		write(t, want)
	}
	got := must(present(os.DirFS(top)))(t)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, wanted := want[name]; !wanted {
			t.Errorf("api/%s is of no public package\nTo comply: %s", name, command)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if d := drift(got[name], want[name]); d != "" {
			t.Errorf("api/%s is not up to date (- is stale, + is missing)\n%sTo comply: %s", name, d, command)
		}
	}
}

// write makes the folder api hold these files and no other.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	api := filepath.Join(top, "api")
	if err := os.MkdirAll(api, 0o755); err != nil {
		t.Fatal(err)
	}
	for name := range must(present(os.DirFS(top)))(t) {
		if _, wanted := files[name]; !wanted {
			if err := os.Remove(filepath.Join(api, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(api, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// must is a value whose error ends the test.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
