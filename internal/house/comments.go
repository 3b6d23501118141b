package house

import (
	"fmt"
	"strings"
)

// packagesAreDocumented: every package has one doc comment, in one file, and begins it with its name.
func packagesAreDocumented(t *tree) []finding {
	var found []finding
	for _, folder := range t.folders {
		var documented []*file
		for _, f := range folder.product() {
			if f.syntax.Doc.Text() != "" {
				documented = append(documented, f)
			}
		}
		found = append(found, judgeDocs(folder, documented)...)
	}
	return found
}

func judgeDocs(folder *folder, documented []*file) []finding {
	switch len(documented) {
	case 0:
		return []finding{{
			folder.dir, "the package has no doc comment",
			"say what it is for above the package clause of its main file or of doc.go, not in a _test file",
		}}
	case 1:
		return judgeOpening(documented[0])
	}
	var paths []string
	for _, f := range documented {
		paths = append(paths, f.path)
	}
	return []finding{{
		folder.dir, "the package is documented in several files: " + strings.Join(paths, ", "),
		"keep one comment; part the others from the package clause with an empty line",
	}}
}

func judgeOpening(f *file) []finding {
	name := f.syntax.Name.Name
	opening := fmt.Sprintf("Package %s ", name)
	if name == "main" || strings.HasPrefix(f.syntax.Doc.Text(), opening) {
		return nil
	}
	return []finding{{f.path, "the doc comment doesn't begin with the package's name", fmt.Sprintf("begin it with %q", opening)}}
}
