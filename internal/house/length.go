package house

import "fmt"

const (
	longFile    = 400 // worth a look
	tooLongFile = 800
)

// filesAreShort: no file is longer than a reader can hold.
func filesAreShort(t *tree) []finding { return filesBeyond(t, tooLongFile) }

// filesBeyond finds the files written by hand that have more lines than that.
func filesBeyond(t *tree, lines int) []finding {
	var found []finding
	for _, folder := range t.folders {
		for _, f := range folder.files {
			if f.lines > lines && !f.generated {
				found = append(found, finding{f.path, fmt.Sprintf("%d lines, beyond %d", f.lines, lines), "part it in files that tell one story each"})
			}
		}
	}
	return found
}
