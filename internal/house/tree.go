package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// tree is the source of one module, parsed. Rules read it and change nothing.
type tree struct {
	fsys    fs.FS
	module  string
	fset    *token.FileSet
	folders []*folder // those that hold Go files, sorted by dir
}

// folder is one folder's Go files, whatever platform they build on.
type folder struct {
	dir   string
	files []*file
}

// file is one Go file. Files marked "go:build ignore" belong to no package and are left out.
type file struct {
	path      string
	syntax    *ast.File
	lines     int
	test      bool
	generated bool
}

// readTree parses the module at the top of fsys. Nested modules, testdata and
// folders that the go command skips are not part of it.
func readTree(fsys fs.FS) (*tree, error) {
	module, err := readModule(fsys)
	if err != nil {
		return nil, err
	}
	t := &tree{fsys: fsys, module: module, fset: token.NewFileSet()}
	byDir := map[string]*folder{}
	err = t.walk(func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		f, err := t.parse(name)
		if err != nil || f == nil {
			return err
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &folder{dir: dir}
			t.folders = append(t.folders, byDir[dir])
		}
		byDir[dir].files = append(byDir[dir].files, f)
		return nil
	})
	slices.SortFunc(t.folders, func(a, b *folder) int { return strings.Compare(a.dir, b.dir) })
	return t, err
}

// walk visits every file of the module that is source: Go or not, outside
// testdata, nested modules and hidden folders.
func (t *tree) walk(visit func(name string) error) error {
	return fs.WalkDir(t.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return visit(name)
		case name != "." && (outside(d.Name()) || t.exists(path.Join(name, "go.mod"))):
			return fs.SkipDir
		}
		return nil
	})
}

func (t *tree) exists(name string) bool {
	_, err := fs.Stat(t.fsys, name)
	return err == nil
}

// at is the folder of that name, nil if it holds no Go files.
func (t *tree) at(dir string) *folder {
	for _, f := range t.folders {
		if f.dir == dir {
			return f
		}
	}
	return nil
}

// line is the place of pos as findings give it.
func (t *tree) line(pos token.Pos) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

func (t *tree) parse(name string) (*file, error) {
	src, err := fs.ReadFile(t.fsys, name)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ignored(syntax) {
		return nil, nil
	}
	return &file{
		path:      name,
		syntax:    syntax,
		lines:     bytes.Count(src, []byte("\n")),
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(syntax),
	}, nil
}

// product yields the files that are built into what we ship.
func (f *folder) product() []*file {
	return slices.DeleteFunc(slices.Clone(f.files), func(f *file) bool { return f.test })
}

// types yields the types that the product files declare, by name. A missing folder has none.
func (f *folder) types() map[string]*ast.TypeSpec {
	declared := map[string]*ast.TypeSpec{}
	if f == nil {
		return declared
	}
	for _, f := range f.product() {
		for _, decl := range f.syntax.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
				for _, spec := range gen.Specs {
					spec := spec.(*ast.TypeSpec)
					declared[spec.Name.Name] = spec
				}
			}
		}
	}
	return declared
}

// funcs yields the functions and methods that the product files declare, by the place of their names.
func (f *folder) funcs() map[token.Pos]*ast.FuncDecl {
	declared := map[token.Pos]*ast.FuncDecl{}
	for _, f := range f.product() {
		for _, decl := range f.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				declared[fn.Name.Pos()] = fn
			}
		}
	}
	return declared
}

func readModule(fsys fs.FS) (string, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mod)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fmt.Errorf("go.mod names no module")
}

func ignored(syntax *ast.File) bool {
	for _, group := range syntax.Comments {
		if group.Pos() > syntax.Package {
			break
		}
		for _, c := range group.List {
			expr, err := constraint.Parse(c.Text)
			if tag, ok := expr.(*constraint.TagExpr); err == nil && ok && tag.Tag == "ignore" {
				return true
			}
		}
	}
	return false
}

func outside(folder string) bool {
	return folder == "testdata" || folder == "vendor" || folder == "node_modules" || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}
