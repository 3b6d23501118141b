package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// variable names a package-level variable.
type variable struct {
	dir  string // of its package
	name string
}

// changers are functions that change their first argument, as makers writes them.
var changers = map[string]bool{
	"append": true, "clear": true, "copy": true, "delete": true,
	"maps.Copy": true, "maps.DeleteFunc": true, "maps.Insert": true,
	"slices.Compact": true, "slices.Delete": true, "slices.DeleteFunc": true, "slices.Insert": true, "slices.Replace": true,
	"slices.Reverse": true, "slices.Sort": true, "slices.SortFunc": true, "slices.SortStableFunc": true,
	"sort.Ints": true, "sort.Slice": true, "sort.SliceStable": true, "sort.Sort": true, "sort.Stable": true, "sort.Strings": true,
}

// changes finds where package-level variables are assigned to, written into, appended to,
// sorted or have their address taken, by any file of the module, tests too.
func (t *tree) changes() map[variable]string {
	at := map[variable]string{}
	for _, folder := range t.folders {
		for name, files := range packagesOf(folder) {
			c := changeFinder{t.resolve(files), folder.dir, strings.HasSuffix(name, "_test"), at}
			for _, f := range files {
				ast.Inspect(f.syntax, c.look)
			}
		}
	}
	return at
}

// packagesOf parts a folder into its package, with its tests, and the _test package beside it.
func packagesOf(folder *folder) map[string][]*file {
	packages := map[string][]*file{}
	for _, f := range folder.files {
		packages[f.syntax.Name.Name] = append(packages[f.syntax.Name.Name], f)
	}
	return packages
}

type changeFinder struct {
	meanings
	dir     string
	outside bool                // a _test package, whose own variables are no matter
	at      map[variable]string // the first place each is changed
}

func (c *changeFinder) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			c.changed(n.Lhs...)
		}
	case *ast.IncDecStmt:
		c.changed(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			c.changed(n.Key, n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			c.changed(n.X)
		}
	case *ast.CallExpr:
		c.called(n)
	}
	return true
}

// called notes a call that changes its first argument or, by a pointer, its receiver.
func (c *changeFinder) called(call *ast.CallExpr) {
	if len(call.Args) > 0 && changers[c.callee(call)] {
		c.changed(call.Args[0])
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if ok && c.byPointer(sel) {
		c.changed(sel.X)
	}
}

// changed notes the package-level variables at the root of expressions: t in t[k].f.
func (c *changeFinder) changed(exprs ...ast.Expr) {
	for _, expr := range exprs {
		if v, ok := c.root(expr); ok && c.at[v] == "" {
			c.at[v] = c.tree.line(expr.Pos())
		}
	}
}

func (c *changeFinder) root(expr ast.Expr) (variable, bool) {
	switch expr := expr.(type) {
	case *ast.Ident:
		v, ok := c.uses[expr].(*types.Var)
		return variable{c.dir, expr.Name}, ok && !c.outside && v.Parent() == v.Pkg().Scope()
	case *ast.SelectorExpr:
		if from := c.importedAs(expr); from != "" {
			dir, ours := c.tree.dirOf(from)
			return variable{dir, expr.Sel.Name}, ours
		}
		return c.root(expr.X)
	case *ast.IndexExpr:
		return c.root(expr.X)
	case *ast.SliceExpr:
		return c.root(expr.X)
	case *ast.StarExpr:
		return c.root(expr.X)
	case *ast.ParenExpr:
		return c.root(expr.X)
	}
	return variable{}, false
}
