package house

import (
	"io/fs"
	"path"
)

// pluginFoldersLookAlike: each plugins/<plural>/<name> has <name>.go to enter by, and a README.md.
func pluginFoldersLookAlike(t *tree) []finding {
	var found []finding
	for _, plural := range t.foldersIn("plugins") {
		if plural == "plugins/stock" {
			continue
		}
		for _, dir := range t.foldersIn(plural) {
			for _, want := range []string{path.Base(dir) + ".go", "README.md"} {
				if !t.exists(path.Join(dir, want)) {
					found = append(found, finding{dir, "the plugin has no " + want, "add it; a neighbour's shows what belongs there"})
				}
			}
		}
	}
	return found
}

// foldersIn yields the folders below dir that may hold source; none if there is no dir.
func (t *tree) foldersIn(dir string) []string {
	entries, _ := fs.ReadDir(t.fsys, dir)
	var dirs []string
	for _, entry := range entries {
		if entry.IsDir() && !outside(entry.Name()) {
			dirs = append(dirs, path.Join(dir, entry.Name()))
		}
	}
	return dirs
}
