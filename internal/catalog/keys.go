package catalog

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/doc"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// key is a package-level key of package plugin, by which plugins join in.
type key struct {
	kind    string // Service, Event or Hook
	name    string // tool.decide
	where   string
	in      *folder
	object  types.Object
	args    []types.Type // what it is a key of; a hook's In and Out
	promise string       // the first sentence of its comment
	through []string     // of one that isn't exported: the exported functions that use it
}

// keys finds the keys of all packages, sorted by name.
func (m *module) keys() ([]key, error) {
	var found []key
	for _, f := range m.sorted() {
		for decl := range declarations(f, token.VAR) {
			for _, spec := range decl.Specs {
				keys, err := m.keysOf(f, decl, spec.(*ast.ValueSpec))
				if err != nil {
					return nil, err
				}
				found = append(found, keys...)
			}
		}
	}
	slices.SortFunc(found, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.where, b.where))
	})
	return found, nil
}

// declarations yields a package's declarations with that word: var, type.
func declarations(f *folder, word token.Token) func(yield func(*ast.GenDecl) bool) {
	return func(yield func(*ast.GenDecl) bool) {
		for _, file := range f.files {
			for _, decl := range file.Decls {
				if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == word && !yield(gen) {
					return
				}
			}
		}
	}
}

func (m *module) keysOf(f *folder, decl *ast.GenDecl, spec *ast.ValueSpec) ([]key, error) {
	var found []key
	for i, id := range spec.Names {
		object := f.info.Defs[id]
		kind, args := m.keyType(object)
		if kind == "" {
			continue
		}
		k := key{kind: kind, where: m.line(id.Pos()), in: f, object: object, args: args}
		if i < len(spec.Values) {
			k.name = f.firstString(spec.Values[i])
		}
		if k.name == "" {
			return nil, fmt.Errorf("%s: %s: make the key where it is declared, with a constant name", k.where, id.Name)
		}
		k.promise = synopsis(spec.Doc, spec.Comment)
		if !object.Exported() {
			m.reach(&k)
		}
		k.promise = cmp.Or(k.promise, synopsis(decl.Doc))
		if k.promise == "" && object.Exported() {
			return nil, fmt.Errorf("%s: %s: say in its comment what it promises", k.where, id.Name)
		}
		found = append(found, k)
	}
	return found, nil
}

// keyType tells a key by its type: Hook, and In and Out.
func (m *module) keyType(object types.Object) (kind string, args []types.Type) {
	if object == nil {
		return "", nil
	}
	named, ok := pointee(object.Type()).(*types.Named)
	if !ok || named.TypeArgs() == nil || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != m.path+"/plugin" {
		return "", nil
	}
	if kind = named.Obj().Name(); kind != "Service" && kind != "Event" && kind != "Hook" {
		return "", nil
	}
	return kind, slices.Collect(named.TypeArgs().Types())
}

// firstString is the first argument of a call; empty if it is no constant string.
func (f *folder) firstString(expr ast.Expr) string {
	call, ok := expr.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	if value := f.info.Types[call.Args[0]].Value; value != nil && value.Kind() == constant.String {
		return constant.StringVal(value)
	}
	return ""
}

// reach finds the exported functions that use a key which isn't exported. If it
// has no comment, the first of them says what it promises.
func (m *module) reach(k *key) {
	for _, file := range k.in.files {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || !k.in.mentions(fn.Body, k.object) {
				continue
			}
			k.through = append(k.through, callable(fn, k.in.pkg.Name()))
			if k.promise == "" {
				k.promise = synopsis(fn.Doc)
			}
		}
	}
}

func (f *folder) mentions(body *ast.BlockStmt, object types.Object) bool {
	if body == nil {
		return false
	}
	var found bool
	ast.Inspect(body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && f.info.Uses[id] == object
		return !found
	})
	return found
}

// callable is how a reader would say a function: tool.Guard, Scope.Close.
func callable(fn *ast.FuncDecl, pkg string) string {
	if fn.Recv == nil {
		return pkg + "." + fn.Name.Name
	}
	return strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + fn.Name.Name
}

// comment is a spec's own comment, or that of a declaration which has no other spec.
func comment(decl *ast.GenDecl, own *ast.CommentGroup) *ast.CommentGroup {
	if own == nil && !decl.Lparen.IsValid() {
		return decl.Doc
	}
	return own
}

// synopsis is the first sentence of the first comment there is.
func synopsis(comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if text := c.Text(); text != "" {
			return new(doc.Package).Synopsis(text)
		}
	}
	return ""
}
