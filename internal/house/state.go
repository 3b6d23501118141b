package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// makers are the calls that may make a package-level value, because what they make
// never changes. Those of package plugin make keys: a name and a type.
var makers = []string{
	"errors.New", "fmt.Errorf",
	"regexp.MustCompile", "strings.NewReplacer", "hash/crc32.MakeTable",
	"reflect.TypeFor", "reflect.TypeOf",
	"encoding/json.RawMessage", "time.Duration", // conversions, which look like calls
	"plugin.NewService", "plugin.NewEvent", "plugin.NewHook",
}

// nothingHappensOnImport: product code has no init function.
func nothingHappensOnImport(t *tree) []finding {
	var found []finding
	for _, folder := range t.folders {
		for _, f := range folder.product() {
			for _, decl := range f.syntax.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
					found = append(found, finding{
						t.line(fn.Pos()), "init runs because someone imports",
						"make it a function that takes a Scope, and let the caller call it",
					})
				}
			}
		}
	}
	return found
}

// packagesKeepNoState: a package-level variable of product code is a sentinel error, an
// assertion, an embedded file, a compiled pattern, a key, or a table that nobody changes.
func packagesKeepNoState(t *tree) []finding {
	changes := t.changes()
	var found []finding
	for _, folder := range t.folders {
		s := state{t.resolve(folder.product()), folder.types(), folder.funcs()}
		for _, f := range folder.product() {
			for _, v := range packageVars(f.syntax) {
				wrong, comply := s.judge(v)
				if at := changes[variable{folder.dir, v.name.Name}]; wrong == "" && at != "" {
					wrong = v.name.Name + " is changed at " + at
					comply = "keep what changes in a struct that someone owns, and hand it on; clone a table before changing it"
				}
				if wrong != "" {
					found = append(found, finding{t.line(v.name.Pos()), wrong, comply})
				}
			}
		}
	}
	return found
}

// packageVar is one name of a package-level var declaration.
type packageVar struct {
	name     *ast.Ident
	typ      ast.Expr // nil if left to the value
	value    ast.Expr // nil if there is none
	embedded bool
}

func packageVars(syntax *ast.File) []packageVar {
	var vars []packageVar
	for _, decl := range syntax.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			spec := spec.(*ast.ValueSpec)
			for i, name := range spec.Names {
				v := packageVar{name: name, typ: spec.Type, embedded: embeds(gen.Doc) || embeds(spec.Doc)}
				if len(spec.Values) > 0 {
					v.value = spec.Values[min(i, len(spec.Values)-1)]
				}
				vars = append(vars, v)
			}
		}
	}
	return vars
}

func embeds(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// state judges the variables of one package by how they are declared.
type state struct {
	meanings
	types map[string]*ast.TypeSpec    // the package's own
	funcs map[token.Pos]*ast.FuncDecl // the same, by the place of the name
}

func (s state) judge(v packageVar) (wrong, comply string) {
	name := v.name.Name
	switch {
	case v.embedded:
		return "", ""
	case name == "_" && v.typ == nil:
		return "a value made for nobody", "name the interface it is to satisfy (var _ I = T{}), or delete it"
	case name == "_":
		return s.judgeMaking(v)
	}
	if what := s.shared(v); what != "" {
		return name + " holds " + what, "put it in a struct that someone owns; a package has no owner"
	}
	switch value := ast.Unparen(v.value).(type) {
	case nil:
		return name + " has no value, so it waits to be given one", "make it a field, or a constant"
	case *ast.FuncLit:
		return name + " is a function that can be exchanged", "declare it with func, or take it as an argument"
	case *ast.UnaryExpr:
		if value.Op == token.AND {
			return name + " points to something that can change", "declare the value itself"
		}
	}
	return s.judgeMaking(v)
}

func (s state) judgeMaking(v packageVar) (wrong, comply string) {
	if v.value == nil {
		return "", ""
	}
	call := s.maker(v.value)
	if call == "" {
		return "", ""
	}
	return v.name.Name + " is made by calling " + call,
		"write the value as a literal, or make it where it is used; if what is made never changes, add the call to makers in internal/house/state.go"
}

// maker finds a call that runs when the package is imported and is not known to be harmless.
func (s state) maker(value ast.Expr) string {
	var bad string
	ast.Inspect(value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // it runs later
		case *ast.CallExpr:
			if name := s.callee(n); bad == "" && !s.harmless(n) {
				bad = name
			}
		}
		return true
	})
	return bad
}

// harmless reports whether a call is inert, a conversion or a question to the compiler.
func (s state) harmless(call *ast.CallExpr) bool {
	if s.inert(call) {
		return true
	}
	switch fun := bare(call.Fun).(type) {
	case *ast.ArrayType, *ast.MapType, *ast.FuncType, *ast.InterfaceType, *ast.StarExpr:
		return true
	case *ast.Ident:
		if _, builtin := s.uses[fun].(*types.Builtin); builtin {
			return fun.Name != "make" && fun.Name != "new"
		}
		return s.isType(fun)
	case *ast.SelectorExpr:
		dir, ours := s.tree.dirOf(s.importedAs(fun))
		return ours && s.tree.at(dir).types()[fun.Sel.Name] != nil
	}
	return false
}

// inert reports whether what a call makes can't change, nor what it is called with: one of
// makers, or the package's own way to spell a literal.
func (s state) inert(call *ast.CallExpr) bool {
	return slices.Contains(makers, s.callee(call)) || literal(s.funcs[s.declaredAt(call)])
}

// shared finds a channel, or something from sync, that a variable holds, also inside
// the package's own types.
func (s state) shared(v packageVar) string {
	var what string
	seen := map[string]bool{}
	var look func(ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.FuncType:
			return false // it only speaks of them
		case *ast.CallExpr:
			return !s.inert(n)
		case *ast.ChanType:
			what = "a channel"
		case *ast.SelectorExpr:
			if s.methodExpression(n) {
				return false // a function too
			}
			if from := s.importedAs(n); within(from, "sync") {
				what = nameOf(from) + "." + n.Sel.Name
			}
		case *ast.Ident:
			if own := s.types[n.Name]; own != nil && s.isType(n) && !seen[n.Name] {
				seen[n.Name] = true
				ast.Inspect(own.Type, look)
			}
		}
		return what == ""
	}
	for _, expr := range []ast.Expr{v.typ, v.value} {
		if expr != nil {
			ast.Inspect(expr, look)
		}
	}
	return what
}

// literal reports whether a function does nothing but return one: func (T) Name() string { return "t" }.
func literal(fn *ast.FuncDecl) bool {
	if fn == nil || fn.Body == nil || len(fn.Body.List) != 1 {
		return false
	}
	answer, ok := fn.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(answer.Results) != 1 {
		return false
	}
	_, ok = answer.Results[0].(*ast.BasicLit)
	return ok
}
