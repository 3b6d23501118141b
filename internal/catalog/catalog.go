package catalog

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// catalog is what the folder api should hold: its files by name.
func (m *module) catalog() (map[string]string, error) {
	files := map[string]string{}
	for _, f := range m.sorted() {
		files[strings.ReplaceAll(f.name(), "/", ".")+".txt"] = string(f.ledger())
	}
	plugins, err := m.plugins()
	if err != nil {
		return nil, err
	}
	files["PLUGINS.md"] = string(plugins)
	return files, nil
}

// present is what the folder api holds.
func present(fsys fs.FS) (map[string]string, error) {
	files := map[string]string{}
	names, err := fs.Glob(fsys, "api/*")
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		files[path.Base(name)] = string(text)
	}
	return files, err
}

const mostDrift = 12 // lines shown of a file

// drift says which lines of a file are missing (+) and which are stale (-); empty
// if it is up to date.
func drift(got, want string) string {
	if got == want {
		return ""
	}
	var lines []string
	lines = append(lines, without(got, want, "-")...)
	lines = append(lines, without(want, got, "+")...)
	switch more := len(lines) - mostDrift; {
	case len(lines) == 0:
		return "\tthe same lines in another order\n"
	case more > 0:
		lines = append(lines[:mostDrift], fmt.Sprintf("and %d lines more\n", more))
	}
	return "\t" + strings.Join(lines, "\t")
}

// without lists, marked, the lines of a text that the other lacks.
func without(text, other, mark string) []string {
	count := map[string]int{}
	for line := range strings.Lines(other) {
		count[strings.TrimSuffix(line, "\n")]++
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if count[line]--; count[line] < 0 {
			lines = append(lines, mark+" "+line+"\n")
		}
	}
	return lines
}
