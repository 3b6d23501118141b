package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strings"
)

// meanings tells what the names in one package's files stand for. It looks into no other
// package: of what is imported it knows the path and no more.
type meanings struct {
	tree    *tree
	uses    map[*ast.Ident]types.Object
	selects map[*ast.SelectorExpr]*types.Selection
}

// resolve finds the meanings. Files that don't compile have fewer.
func (t *tree) resolve(files []*file) meanings {
	m := meanings{t, map[*ast.Ident]types.Object{}, map[*ast.SelectorExpr]*types.Selection{}}
	var syntax []*ast.File
	for _, f := range files {
		syntax = append(syntax, f.syntax)
	}
	config := types.Config{Importer: stranger{}, Error: func(error) {}, FakeImportC: true}
	_, _ = config.Check("", t.fset, syntax, &types.Info{Uses: m.uses, Selections: m.selects}) // imports never resolve, so it always fails
	return m
}

// importedAs is the path of the package that sel selects from, if it selects from one.
func (m meanings) importedAs(sel *ast.SelectorExpr) string {
	if id, ok := sel.X.(*ast.Ident); ok {
		if name, ok := m.uses[id].(*types.PkgName); ok {
			return name.Imported().Path()
		}
	}
	return ""
}

// callee is the called function by path and name: errors.New, hash/crc32.MakeTable.
// The paths of this module's packages are their folders.
func (m meanings) callee(call *ast.CallExpr) string {
	fun := bare(call.Fun)
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		if from := m.importedAs(sel); from != "" {
			return strings.TrimPrefix(from, m.tree.module+"/") + "." + sel.Sel.Name
		}
	}
	if _, ok := fun.(*ast.FuncLit); ok {
		return "a function literal"
	}
	return types.ExprString(fun)
}

func (m meanings) isType(name *ast.Ident) bool {
	_, ok := m.uses[name].(*types.TypeName)
	return ok
}

// methodExpression reports whether sel is a method as a function: T.Method, (*T).Method.
func (m meanings) methodExpression(sel *ast.SelectorExpr) bool {
	switch x := ast.Unparen(sel.X).(type) {
	case *ast.StarExpr:
		return true
	case *ast.Ident:
		return m.isType(x)
	}
	return false
}

// declaredAt is where the package declares the called function; nowhere if it doesn't.
func (m meanings) declaredAt(call *ast.CallExpr) token.Pos {
	switch fun := bare(call.Fun).(type) {
	case *ast.Ident:
		if fn, ok := m.uses[fun].(*types.Func); ok {
			return fn.Pos()
		}
	case *ast.SelectorExpr:
		if fn := m.method(fun); fn != nil {
			return fn.Pos()
		}
	}
	return token.NoPos
}

// byPointer reports whether sel is a method of this package that could change what it is called on.
func (m meanings) byPointer(sel *ast.SelectorExpr) bool {
	method := m.method(sel)
	if method == nil {
		return false
	}
	_, pointer := method.Signature().Recv().Type().(*types.Pointer)
	return pointer
}

func (m meanings) method(sel *ast.SelectorExpr) *types.Func {
	if selection := m.selects[sel]; selection != nil {
		method, _ := selection.Obj().(*types.Func)
		return method
	}
	return nil
}

// bare takes parentheses and type arguments off what is called.
func bare(fun ast.Expr) ast.Expr {
	switch fun := fun.(type) {
	case *ast.ParenExpr:
		return bare(fun.X)
	case *ast.IndexExpr:
		return bare(fun.X)
	case *ast.IndexListExpr:
		return bare(fun.X)
	}
	return fun
}

// stranger imports packages by name only.
type stranger struct{}

func (stranger) Import(imported string) (*types.Package, error) {
	p := types.NewPackage(imported, nameOf(imported))
	p.MarkComplete()
	return p, nil
}

// nameOf guesses a package's name from its path: the last element that is no version.
func nameOf(imported string) string {
	name := path.Base(imported)
	if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
		name = path.Base(path.Dir(imported))
	}
	return strings.TrimPrefix(name, "go-")
}
