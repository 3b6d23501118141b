package house

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// importsFollowTable: no package imports a room that its row of the table does not allow,
// nor a library that was not chosen.
func importsFollowTable(t *tree) []finding {
	var found []finding
	for _, folder := range t.folders {
		from, ok := placeOf(folder.dir)
		if !ok {
			found = append(found, unknownRoom(folder.dir))
			continue
		}
		for _, f := range folder.files {
			for _, spec := range f.syntax.Imports {
				wrong, comply := t.judge(from, f.test, importPath(spec))
				if wrong != "" {
					found = append(found, finding{t.line(spec.Pos()), wrong, comply})
				}
			}
		}
	}
	return found
}

// judge says what is wrong with an import, and what to do; nothing if it is allowed.
func (t *tree) judge(from place, test bool, imported string) (wrong, comply string) {
	if dir, ours := t.dirOf(imported); ours {
		return judgeRoom(from, test, dir)
	}
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case imported == "C":
		return from.room + " uses cgo, but the binary is static", "use a library in Go, or run a program"
	case !strings.Contains(first, "."):
		return "", ""
	}
	return judgeLibrary(from, test, imported)
}

func judgeRoom(from place, test bool, dir string) (wrong, comply string) {
	to, ok := placeOf(dir)
	switch {
	case !ok:
		return "imports " + dir + ", a room that is not in the table", unknownRoom(dir).comply
	case from.allows(to) || test && (to.room == from.room || slices.Contains(core, to.floor)):
		return "", ""
	}
	return fmt.Sprintf("%s (%s) imports %s, but may import only %s: %s", from.room, from.floor, dir, from.may(), from.row.because),
		detours[to.floor]
}

func judgeLibrary(from place, test bool, imported string) (wrong, comply string) {
	switch {
	case listed(from.row.library, imported), test && listed(forTests, imported):
		return "", ""
	case listed(forTests, imported):
		return imported + " is a library for tests, imported by product code", "move the code to a _test file"
	case len(from.row.library) == 0:
		return fmt.Sprintf("%s (%s) imports %s, but uses the standard library only: %s", from.room, from.floor, imported, from.row.because),
			"write the few lines you need, or put the library behind a socket, in a plugin"
	case listed(chosen, imported):
		return fmt.Sprintf("%s may not use %s: %s", from.room, imported, from.row.because), "use it in a plugin, behind a socket"
	}
	return imported + " is not among the chosen libraries",
		"do without it, or add it to chosen in internal/house/libraries.go with a note in docs/decisions"
}

// core is what any _test file may import: all that stands without plugins.
var core = []floor{words, sockets, kits, engine}

// dirOf is the folder of an imported package of this module.
func (t *tree) dirOf(imported string) (dir string, ours bool) {
	if imported == t.module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.module+"/")
}

func unknownRoom(dir string) finding {
	if within(dir, "plugins") {
		return finding{dir, "a package between the shelves", "move it to plugins/<plural>/<name>; a shelf holds plugins only"}
	}
	return finding{
		dir, "a room that is not in the import table",
		"move it to a room that exists, or add the room to table in internal/house/rooms.go with what it may import and why",
	}
}

func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
	return p
}
