package catalog

import (
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// ledger lists the public names of a package, a line each, sorted, so that the
// surface grows only by a visible line.
func (f *folder) ledger() []byte {
	l := &ledger{speller{f.pkg}, []string{"pkg " + f.name()}, "pkg " + f.name() + ", "}
	scope := f.pkg.Scope()
	for _, name := range scope.Names() {
		if token.IsExported(name) {
			l.object(scope.Lookup(name))
		}
	}
	slices.Sort(l.lines)
	return []byte(strings.Join(slices.Compact(l.lines), "\n") + "\n")
}

type ledger struct {
	speller
	lines  []string
	prefix string
}

func (l *ledger) add(parts ...string) {
	l.lines = append(l.lines, l.prefix+strings.Join(parts, ""))
}

func (l *ledger) object(o types.Object) {
	switch o := o.(type) {
	case *types.Const:
		l.add("const ", o.Name(), " ", l.spell(o.Type()), " = ", o.Val().ExactString())
	case *types.Var:
		l.add("var ", o.Name(), " ", l.spell(o.Type()))
	case *types.Func:
		l.add("func ", o.Name(), l.parameters(o.Signature().TypeParams()), l.signature(o.Signature()))
	case *types.TypeName:
		l.typeName(o)
	}
}

func (l *ledger) typeName(o *types.TypeName) {
	if alias, ok := o.Type().(*types.Alias); ok {
		l.add("type ", o.Name(), l.parameters(alias.TypeParams()), " = ", l.spell(alias.Rhs()))
		return
	}
	named := o.Type().(*types.Named)
	head := "type " + o.Name() + l.parameters(named.TypeParams())
	switch t := named.Underlying().(type) {
	case *types.Struct:
		l.add(head, " struct")
		l.fields(head, t)
	case *types.Interface:
		l.contract(head, t)
	default:
		l.add(head, " ", l.spell(t))
	}
	l.receiver(named)
}

// fields adds the exported fields, and those that an unexported embedded struct lends.
func (l *ledger) fields(head string, t *types.Struct) {
	for i := range t.NumFields() {
		f := t.Field(i)
		if f.Exported() {
			l.add(head, " struct, ", l.field(t, i))
		} else if lent := lender(f); lent != nil {
			l.fields(head, lent)
		}
	}
}

// lender is the struct that an unexported embedded field promotes the fields of.
func lender(f *types.Var) *types.Struct {
	if !f.Embedded() {
		return nil
	}
	lent, _ := pointee(f.Type()).Underlying().(*types.Struct)
	return lent
}

func pointee(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// contract adds an interface. Its own line names all methods: each one more is
// one that every implementation lacks.
func (l *ledger) contract(head string, t *types.Interface) {
	var names []string
	for m := range t.Methods() {
		if m.Exported() {
			names = append(names, m.Name())
		} else {
			names = append(names, "unexported methods")
		}
	}
	l.add(head, " interface { ", strings.Join(slices.Compact(names), ", "), " }")
	for e := range t.EmbeddedTypes() {
		l.add(head, " interface, embedded ", l.spell(e))
	}
	for m := range t.ExplicitMethods() {
		if m.Exported() {
			l.add(head, " interface, ", m.Name(), l.signature(m.Signature()))
		}
	}
}

// receiver adds the methods, own ones and those that an unexported embedded type lends.
func (l *ledger) receiver(named *types.Named) {
	if types.IsInterface(named) {
		return
	}
	for m := range methodsOf(named) {
		receiver := l.spell(named)
		if named.TypeParams().Len() > 0 {
			receiver += bare(named.TypeParams())
		}
		if m.needsPointer {
			receiver = "*" + receiver
		}
		l.add("method (", receiver, ") ", m.fn.Name(), l.signature(m.fn.Signature()))
	}
}

func bare(list *types.TypeParamList) string {
	var names []string
	for p := range list.TypeParams() {
		names = append(names, p.Obj().Name())
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// method is one that values of a type have, or pointers to them only.
type method struct {
	fn           *types.Func
	needsPointer bool
}

// methodsOf yields a type's exported methods except those of exported embedded
// types, which have lines of their own.
func methodsOf(named *types.Named) func(yield func(method) bool) {
	return func(yield func(method) bool) {
		values := types.NewMethodSet(named)
		all := types.NewMethodSet(types.NewPointer(named))
		for selection := range all.Methods() {
			fn := selection.Obj().(*types.Func)
			if !fn.Exported() || len(selection.Index()) > 1 && lentOpenly(named, selection.Index()) {
				continue
			}
			if !yield(method{fn, values.Lookup(fn.Pkg(), fn.Name()) == nil}) {
				return
			}
		}
	}
}

// lentOpenly says whether the way to a promoted method begins with an exported field.
func lentOpenly(named *types.Named, index []int) bool {
	t, ok := named.Underlying().(*types.Struct)
	return ok && t.Field(index[0]).Exported()
}
