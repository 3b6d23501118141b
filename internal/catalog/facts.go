package catalog

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// fact is a core fact of package session.
type fact struct {
	typ     string // turn.started
	object  types.Object
	version string
	need    string // Written or Durable
	promise string
}

// facts finds the core facts: the types of package session whose method Type
// returns a constant. The codec must know each.
func (m *module) facts() ([]fact, error) {
	f := m.folders["session"]
	if f == nil {
		return nil, nil
	}
	known, promises := f.codec(), f.promises()
	var found []fact
	for _, file := range f.files {
		for _, decl := range file.Decls {
			object, typ := f.constantType(decl)
			if object == nil {
				continue
			}
			kind, ok := known[object]
			if !ok {
				return nil, fmt.Errorf("%s: the fact %s is not in the codec's table of core facts (core)", m.line(object.Pos()), object.Name())
			}
			kind.typ, kind.object, kind.promise = typ, object, promises[object]
			found = append(found, kind)
		}
	}
	slices.SortFunc(found, func(a, b fact) int { return cmp.Compare(a.typ, b.typ) })
	return found, nil
}

// constantType is the receiver of a method Type() string, and what it returns, if
// that is one constant.
func (f *folder) constantType(decl ast.Decl) (object types.Object, typ string) {
	fn, ok := decl.(*ast.FuncDecl)
	if !ok || fn.Recv == nil || fn.Name.Name != "Type" || len(fn.Body.List) != 1 {
		return nil, ""
	}
	back, ok := fn.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(back.Results) != 1 {
		return nil, ""
	}
	value := f.info.Types[back.Results[0]].Value
	named, isNamed := pointee(f.info.Defs[fn.Name].(*types.Func).Signature().Recv().Type()).(*types.Named)
	if value == nil || value.Kind() != constant.String || !isNamed || !named.Obj().Exported() {
		return nil, ""
	}
	return named.Obj(), constant.StringVal(value)
}

// codec reads the table of core facts:
//
//	var core = map[string]kind{ Accepted{}.Type(): {1, Durable, …}, … }
func (f *folder) codec() map[types.Object]fact {
	known := map[types.Object]fact{}
	for decl := range declarations(f, token.VAR) {
		for _, spec := range decl.Specs {
			spec := spec.(*ast.ValueSpec)
			if spec.Names[0].Name != "core" || len(spec.Values) != 1 {
				continue
			}
			table, _ := spec.Values[0].(*ast.CompositeLit)
			if table == nil {
				continue
			}
			for _, row := range table.Elts {
				f.codecRow(row, known)
			}
		}
	}
	return known
}

func (f *folder) codecRow(row ast.Expr, known map[types.Object]fact) {
	pair, ok := row.(*ast.KeyValueExpr)
	if !ok {
		return
	}
	kind, ok := pair.Value.(*ast.CompositeLit)
	if !ok || len(kind.Elts) < 2 {
		return
	}
	var object types.Object
	ast.Inspect(pair.Key, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && object == nil {
			object, _ = f.info.Uses[id].(*types.TypeName)
		}
		return object == nil
	})
	if object != nil {
		known[object] = fact{version: types.ExprString(kind.Elts[0]), need: types.ExprString(kind.Elts[1])}
	}
}

// promises are the first sentences of the package's types.
func (f *folder) promises() map[types.Object]string {
	found := map[types.Object]string{}
	for decl := range declarations(f, token.TYPE) {
		for _, spec := range decl.Specs {
			spec := spec.(*ast.TypeSpec)
			found[f.info.Defs[spec.Name]] = synopsis(comment(decl, spec.Doc))
		}
	}
	return found
}
