package catalog

import (
	"fmt"
	"go/types"
	"strings"
)

// speller writes types as the ledger has them: without the names of parameters.
type speller struct {
	home *types.Package // whose names stand alone; nil: nobody's do
}

func (s speller) qualify(p *types.Package) string {
	if p == s.home {
		return ""
	}
	return p.Name()
}

func (s speller) spell(t types.Type) string {
	switch t := t.(type) {
	case *types.Alias:
		return s.named(t.Obj(), t.TypeArgs())
	case *types.Named:
		return s.named(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		return "*" + s.spell(t.Elem())
	case *types.Slice:
		return "[]" + s.spell(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), s.spell(t.Elem()))
	case *types.Map:
		return "map[" + s.spell(t.Key()) + "]" + s.spell(t.Elem())
	case *types.Chan:
		return map[types.ChanDir]string{types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan "}[t.Dir()] + s.spell(t.Elem())
	case *types.Signature:
		return "func" + s.signature(t)
	case *types.Struct:
		return s.structure(t)
	case *types.Interface:
		return s.methods(t)
	default:
		return types.TypeString(t, s.qualify)
	}
}

func (s speller) named(name *types.TypeName, args *types.TypeList) string {
	text := name.Name()
	if name.Pkg() != nil && s.qualify(name.Pkg()) != "" {
		text = s.qualify(name.Pkg()) + "." + text
	}
	if args.Len() == 0 {
		return text
	}
	var list []string
	for arg := range args.Types() {
		list = append(list, s.spell(arg))
	}
	return text + "[" + strings.Join(list, ", ") + "]"
}

// signature is what stands behind the name: (context.Context, ...string) error.
func (s speller) signature(sig *types.Signature) string {
	in := s.list(sig.Params())
	if sig.Variadic() {
		last := len(in) - 1
		in[last] = "..." + strings.TrimPrefix(in[last], "[]")
	}
	text := "(" + strings.Join(in, ", ") + ")"
	switch out := s.list(sig.Results()); len(out) {
	case 0:
		return text
	case 1:
		return text + " " + out[0]
	default:
		return text + " (" + strings.Join(out, ", ") + ")"
	}
}

func (s speller) list(vars *types.Tuple) []string {
	var list []string
	for v := range vars.Variables() {
		list = append(list, s.spell(v.Type()))
	}
	return list
}

func (s speller) structure(t *types.Struct) string {
	var list []string
	for i := range t.NumFields() {
		list = append(list, s.field(t, i))
	}
	return braces("struct", list)
}

// field is a field as the ledger has it, with its tag, which is how it is stored.
func (s speller) field(t *types.Struct, i int) string {
	text := t.Field(i).Name() + " " + s.spell(t.Field(i).Type())
	if t.Field(i).Embedded() {
		text = "embedded " + s.spell(t.Field(i).Type())
	}
	if tag := t.Tag(i); tag != "" {
		text += " `" + tag + "`"
	}
	return text
}

func (s speller) methods(t *types.Interface) string {
	if t.Empty() {
		return "any"
	}
	var list []string
	for e := range t.EmbeddedTypes() {
		list = append(list, s.spell(e))
	}
	for m := range t.ExplicitMethods() {
		list = append(list, m.Name()+s.signature(m.Signature()))
	}
	return braces("interface", list)
}

func braces(kind string, list []string) string {
	if len(list) == 0 {
		return kind + "{}"
	}
	return kind + " { " + strings.Join(list, "; ") + " }"
}

// parameters are the type parameters of a declaration: [In, Out any].
func (s speller) parameters(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var texts []string
	for p := range list.TypeParams() {
		texts = append(texts, p.Obj().Name()+" "+s.spell(p.Constraint()))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
