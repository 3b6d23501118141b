package catalog

import (
	"cmp"
	"fmt"
	"go/types"
	"reflect"
	"strings"
)

// inProcess are the parts of hooks' inputs and answers that may be no data, with
// the reason, as HOOK WHERE: "tool.run answer.Body".
var inProcess = map[string]string{
	"model.failed input.Failure.Err": "the driver clears it before it asks: kind, status and text say the same as data",
}

// notData finds what can't go to another process and back, as JSON, unchanged, of
// the inputs and answers of all hooks (contract P7).
func (m *module) notData() ([]finding, error) {
	keys, err := m.keys()
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, k := range keys {
		if k.kind != "Hook" {
			continue
		}
		for i, side := range []string{"input", "answer"} {
			w := &walk{module: m, seen: map[types.Type]bool{}}
			w.value(k.args[i], side)
			for _, b := range w.broken {
				found = append(found, finding{
					k.where, k.name + " " + b.at, b.why,
					"make it data, or leave it out: a hook may live in another process (contract P7)",
				})
			}
		}
	}
	return found, nil
}

// walk goes through all that values of a type hold.
type walk struct {
	module *module
	seen   map[types.Type]bool
	broken []broken
}

type broken struct{ at, why string }

func (w *walk) breaks(at, format string, args ...any) {
	w.broken = append(w.broken, broken{at, fmt.Sprintf(format, args...)})
}

func (w *walk) value(t types.Type, at string) {
	t = types.Unalias(t)
	if named, ok := t.(*types.Named); ok {
		if w.seen[t] || w.ownJSON(named, at) {
			return
		}
		w.seen[t] = true
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsComplex != 0 || u.Kind() == types.UnsafePointer || u.Kind() == types.Uintptr {
			w.breaks(at, "is a %s, which JSON doesn't have or means nothing elsewhere", u)
		}
	case *types.Pointer:
		w.value(u.Elem(), at)
	case *types.Slice:
		w.value(u.Elem(), at+"[]")
	case *types.Array:
		w.value(u.Elem(), at+"[]")
	case *types.Map:
		w.mapKey(u.Key(), at)
		w.value(u.Elem(), at+"[]")
	case *types.Struct:
		if w.closed(t, u) {
			w.breaks(at, "is a %s, which keeps to itself what it holds", speller{}.spell(t))
			return
		}
		w.structure(u, at)
	case *types.Chan:
		w.breaks(at, "is a channel (%s)", speller{}.spell(t))
	case *types.Signature:
		w.breaks(at, "is a function (%s)", speller{}.spell(t))
	case *types.Interface:
		w.contract(t, at)
	default:
		w.breaks(at, "is a %s", speller{}.spell(t))
	}
}

func (w *walk) contract(t types.Type, at string) {
	switch name := (speller{}).spell(t); name {
	case "context.Context":
		w.breaks(at, "is a context: it comes beside the input, never in it")
	case "error":
		w.breaks(at, "is an error: say it with a type of data, as session.Failure does")
	default:
		w.breaks(at, "is an interface (%s): JSON can't tell what is in it", name)
	}
}

// ownJSON judges a type that writes itself. What it holds is its own affair.
func (w *walk) ownJSON(t *types.Named, at string) bool {
	for _, pair := range [][2]string{{"MarshalJSON", "UnmarshalJSON"}, {"MarshalText", "UnmarshalText"}} {
		writes, lentWriter := methodNamed(t, pair[0])
		reads, lentReader := methodNamed(t, pair[1])
		switch {
		case !writes && !reads:
			continue
		case lentWriter || lentReader:
			w.breaks(at, "gets %s or %s from what it embeds, so the rest of it is lost", pair[0], pair[1])
		case writes != reads:
			w.breaks(at, "has only one of %s and %s", pair[0], pair[1])
		}
		return true
	}
	return false
}

// methodNamed says whether a pointer to t has the method, and whether by embedding.
func methodNamed(t *types.Named, name string) (has, lent bool) {
	selection := types.NewMethodSet(types.NewPointer(t)).Lookup(t.Obj().Pkg(), name)
	return selection != nil && !types.IsInterface(t), selection != nil && len(selection.Index()) > 1
}

// closed says whether a struct is another module's and not made of exported fields.
func (w *walk) closed(t types.Type, u *types.Struct) bool {
	named, ok := t.(*types.Named)
	if !ok {
		return false
	}
	if _, ours := w.module.dirOf(named.Obj().Pkg().Path()); ours {
		return false
	}
	for f := range u.Fields() {
		if !f.Exported() {
			return true
		}
	}
	return false
}

func (w *walk) mapKey(t types.Type, at string) {
	basic, ok := t.Underlying().(*types.Basic)
	if ok && basic.Info()&(types.IsString|types.IsInteger) != 0 {
		return
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		writes, _ := methodNamed(named, "MarshalText")
		reads, _ := methodNamed(named, "UnmarshalText")
		if writes && reads {
			return
		}
	}
	w.breaks(at, "has keys of %s, which can't be a JSON name", speller{}.spell(t))
}

func (w *walk) structure(t *types.Struct, at string) {
	names := map[string]string{} // the fields by their JSON names
	for i := range t.NumFields() {
		f := t.Field(i)
		here := at + "." + f.Name()
		switch {
		case leftOut(t, i):
			w.breaks(here, "is left out of the JSON (json:\"-\")")
			continue
		case !f.Exported() && (!inlined(t, i) || pointee(f.Type()) != f.Type()):
			w.breaks(here, "isn't exported, so JSON leaves it out")
			continue
		}
		for _, name := range jsonNames(t, i) {
			if other := names[name]; other != "" {
				w.breaks(here, "has the JSON name %q, as %s has, so one of them is lost", name, other)
			}
			names[name] = f.Name()
		}
		w.value(f.Type(), here)
	}
}

// inlined says whether a field's own fields are written in its place.
func inlined(t *types.Struct, i int) bool {
	_, ok := pointee(t.Field(i).Type()).Underlying().(*types.Struct)
	return ok && t.Field(i).Embedded() && jsonName(t, i) == t.Field(i).Name()
}

func jsonName(t *types.Struct, i int) string {
	name, _, _ := strings.Cut(reflect.StructTag(t.Tag(i)).Get("json"), ",")
	return cmp.Or(name, t.Field(i).Name())
}

// leftOut says whether a field has no name in JSON (package json, Marshal).
func leftOut(t *types.Struct, i int) bool { return reflect.StructTag(t.Tag(i)).Get("json") == "-" }

// jsonNames are all the names that a field takes in JSON.
func jsonNames(t *types.Struct, i int) []string {
	if !inlined(t, i) {
		return []string{jsonName(t, i)}
	}
	var names []string
	inner := pointee(t.Field(i).Type()).Underlying().(*types.Struct)
	for j := range inner.NumFields() {
		if inner.Field(j).Exported() && !leftOut(inner, j) {
			names = append(names, jsonNames(inner, j)...)
		}
	}
	return names
}
