package catalog

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// compiled imports the packages at the paths, and what they import, from the
// go command's cache, which makes what it lacks. It runs in dir and needs no
// network once the modules are there.
func compiled(dir string, fset *token.FileSet, paths []string) (types.Importer, error) {
	files := map[string]string{}
	list := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "--"}, paths...)
	cmd := exec.Command("go", list...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(cmd.Environ(), "GOOS="+platformOS, "GOARCH="+platformArch)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		imported, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[imported] = file
	}
	return importer.ForCompiler(fset, "gc", func(imported string) (io.ReadCloser, error) {
		file := files[imported]
		if file == "" {
			return nil, fmt.Errorf("import %s: the go command has no export data of it", imported)
		}
		return os.Open(file)
	}), nil
}
