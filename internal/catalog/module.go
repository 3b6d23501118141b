package catalog

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// module is the source of one module, without its tests.
type module struct {
	fsys    fs.FS
	path    string
	fset    *token.FileSet
	folders map[string]*folder // by dir; those that hold Go files
	outside types.Importer     // of what isn't the module's
}

// folder is one package.
type folder struct {
	dir     string
	files   []*ast.File
	pkg     *types.Package // nil until it is checked
	info    *types.Info
	opening bool // being checked
}

// read parses the module at the top of fsys.
func read(fsys fs.FS) (*module, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	name, found := strings.CutPrefix(first, "module ")
	if !found {
		return nil, fmt.Errorf("go.mod: want the module's path in the first line, got %q", first)
	}
	m := &module{fsys: fsys, path: strings.TrimSpace(name), fset: token.NewFileSet(), folders: map[string]*folder{}}
	platform := m.platform()
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return m.enter(name, d)
		case path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		match, err := platform.MatchFile(path.Dir(name), path.Base(name))
		if err != nil || !match {
			return err
		}
		return m.parse(name)
	})
	return m, err
}

// platform is the one that the catalog is made for, wherever it is made.
func (m *module) platform() *build.Context {
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = platformOS, platformArch, false
	context.JoinPath = path.Join
	context.OpenFile = func(name string) (io.ReadCloser, error) { return m.fsys.Open(name) }
	return &context
}

const platformOS, platformArch = "linux", "amd64"

// enter skips what is no part of the module, and the builders' own.
func (m *module) enter(dir string, d fs.DirEntry) error {
	if dir == "." {
		return nil
	}
	name := d.Name()
	private := slices.Contains([]string{"internal", "cmd", "bench", "tools"}, dir)
	if private || name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_' {
		return fs.SkipDir
	}
	if _, err := fs.Stat(m.fsys, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (m *module) parse(name string) error {
	src, err := fs.ReadFile(m.fsys, name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(m.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || syntax.Name.Name == "main" {
		return err
	}
	dir := path.Dir(name)
	if m.folders[dir] == nil {
		m.folders[dir] = &folder{dir: dir}
	}
	m.folders[dir].files = append(m.folders[dir].files, syntax)
	return nil
}

// strangers lists what the module imports from elsewhere.
func (m *module) strangers() []string {
	var paths []string
	for _, folder := range m.folders {
		for _, f := range folder.files {
			for _, imported := range f.Imports {
				name := strings.Trim(imported.Path.Value, "`\"")
				if _, ours := m.dirOf(name); !ours {
					paths = append(paths, name)
				}
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// check finds out what all packages mean.
func (m *module) check(outside types.Importer) error {
	m.outside = outside
	for _, f := range m.sorted() {
		if _, err := m.Import(path.Join(m.path, f.dir)); err != nil {
			return err
		}
	}
	return nil
}

// Import is the package at that path, checked with all that it imports.
func (m *module) Import(name string) (*types.Package, error) {
	dir, ours := m.dirOf(name)
	if !ours {
		return m.outside.Import(name)
	}
	f := m.folders[dir]
	switch {
	case f == nil:
		return nil, fmt.Errorf("import %s: no public package", name)
	case f.pkg != nil:
		return f.pkg, nil
	case f.opening:
		return nil, fmt.Errorf("import %s: it imports itself", name)
	}
	f.opening = true
	info := &types.Info{
		Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{},
	}
	config := types.Config{Importer: m, Sizes: types.SizesFor("gc", platformArch)}
	pkg, err := config.Check(name, m.fset, f.files, info)
	if err != nil {
		return nil, err
	}
	f.pkg, f.info = pkg, info
	return pkg, nil
}

func (m *module) dirOf(imported string) (dir string, ours bool) {
	if imported == m.path {
		return ".", true
	}
	return strings.CutPrefix(imported, m.path+"/")
}

// sorted lists the public packages by their folders.
func (m *module) sorted() []*folder {
	var all []*folder
	for _, f := range m.folders {
		if !slices.Contains(strings.Split(f.dir, "/"), "internal") {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *folder) int { return strings.Compare(a.dir, b.dir) })
	return all
}

// line is the place of pos as findings give it.
func (m *module) line(pos token.Pos) string {
	p := m.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// name is the package's path from the module's top; the top's own is its name.
func (f *folder) name() string {
	if f.dir == "." {
		return f.pkg.Name()
	}
	return f.dir
}
