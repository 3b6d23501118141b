package house

import (
	"bytes"
	"fmt"
	"io/fs"
)

const biggestText = 1 << 20 // bytes; what is bigger was not written by hand

// traces are what only the machine that made a file would know, spelt so that this
// file has none.
var traces = []string{
	"/wor" + "k/",
	"proxy.golang" + ".org", "sum.golang" + ".org", "index.golang" + ".org", "goproxy" + ".",
	"registry.npmjs" + ".org", "registry.yarnpkg" + ".com", "pypi" + ".org", "files.pythonhosted" + ".org",
}

// filesKeepQuiet: no file names a package registry, or a path of the machine it was made on.
func filesKeepQuiet(t *tree) []finding {
	var found []finding
	err := eachText(t.fsys, func(name string, text []byte) {
		for _, trace := range traces {
			if at := bytes.Index(text, []byte(trace)); at >= 0 {
				found = append(found, finding{
					fmt.Sprintf("%s:%d", name, 1+bytes.Count(text[:at], []byte("\n"))), fmt.Sprintf("names %q", trace),
					"leave it out, or write a neutral example (example.org, /home/ada/project)",
				})
			}
		}
	})
	if err != nil {
		found = append(found, finding{".", err.Error(), "make it readable"})
	}
	return found
}

// eachText shows every text file of the repository, hidden ones too, to visit.
func eachText(fsys fs.FS, visit func(name string, text []byte)) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" || d.Name() == "node_modules":
			return skip(d)
		case !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > biggestText {
			return err
		}
		text, err := fs.ReadFile(fsys, name)
		if err == nil && bytes.IndexByte(text, 0) < 0 {
			visit(name, text)
		}
		return err
	})
}

// skip leaves out a folder, or a file (a worktree's .git is one).
func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}
