package catalog

import (
	"fmt"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// finding is one broken promise.
type finding struct {
	where  string
	what   string // as the table of exceptions has it
	wrong  string
	comply string
}

func (f finding) String() string {
	return fmt.Sprintf("%s: %s %s\n\tTo comply: %s", f.where, f.what, f.wrong, f.comply)
}

// verbs are the three ways to hand an agent a message.
var verbs = []string{"Followup", "Steer", "Inject"}

// deliveries are the other public names that may have the shape of a delivery.
var deliveries = map[string]string{
	"agent.Verbs":   "a Recipient made of one function, for fakes and adapters; it is told the verb",
	"agent.Deliver": "calls the verb that it is given on a Recipient, and is none of its methods",
	"agent.Replay":  "says again what the receipt was of a message that the log has, and delivers none",

	"agenttest.Subject.Replace": "has the driver replace history as a maintenance hook would; nothing enters the inbox",
	"agent.Collect":             "calls the verb that it is given, and waits for what comes of it",
}

// fourth finds what delivers to an agent and is none of the verbs: exported
// functions, methods, function types and fields that
//   - are given something and answer with an agent.Receipt, or
//   - are given a context and a chat.Message and answer with an error at most.
//
// A receipt or message inside of something else counts.
func (m *module) fourth() []finding {
	var found []finding
	for _, f := range m.sorted() {
		for _, s := range f.signatures() {
			if !m.delivers(s.sig) || s.method && slices.Contains(verbs, s.last()) && m.verbShaped(s.sig) {
				continue
			}
			found = append(found, finding{
				m.line(s.object.Pos()), s.name, "has the shape of a delivery: " + speller{}.spell(s.sig),
				"use a verb (Followup, Steer, Inject), or take an agent.Recipient and leave the delivery to it; see docs/decisions/0001",
			})
		}
	}
	return found
}

// signature is a public name that can be called.
type signature struct {
	name   string // agent.Recipient.Steer
	object types.Object
	sig    *types.Signature
	method bool
}

func (s signature) last() string { return s.name[strings.LastIndex(s.name, ".")+1:] }

// signatures are what can be called of a package.
func (f *folder) signatures() []signature {
	var all []signature
	scope := f.pkg.Scope()
	for _, name := range scope.Names() {
		object := scope.Lookup(name)
		if !object.Exported() {
			continue
		}
		full := f.pkg.Name() + "." + name
		if sig, ok := object.Type().Underlying().(*types.Signature); ok {
			all = append(all, signature{full, object, sig, false})
		}
		if _, ok := object.(*types.TypeName); ok {
			all = append(all, members(full, object.Type())...)
		}
	}
	return all
}

// members are the methods of a type and its fields that are functions.
func members(full string, t types.Type) []signature {
	var all []signature
	if named, ok := types.Unalias(t).(*types.Named); ok && !types.IsInterface(t) {
		for m := range methodsOf(named) {
			all = append(all, signature{full + "." + m.fn.Name(), m.fn, m.fn.Signature(), true})
		}
	}
	switch t := t.Underlying().(type) {
	case *types.Interface:
		for fn := range t.ExplicitMethods() {
			if fn.Exported() {
				all = append(all, signature{full + "." + fn.Name(), fn, fn.Signature(), true})
			}
		}
	case *types.Struct:
		for v := range t.Fields() {
			if sig, ok := v.Type().Underlying().(*types.Signature); ok && v.Exported() && !v.Embedded() {
				all = append(all, signature{full + "." + v.Name(), v, sig, false})
			}
		}
	}
	return all
}

// verbShaped says whether a signature is that of the verbs, exactly.
func (m *module) verbShaped(sig *types.Signature) bool {
	return speller{}.signature(sig) == "(context.Context, chat.Message) (agent.Receipt, error)"
}

func (m *module) delivers(sig *types.Signature) bool {
	in, out := speller{}.list(sig.Params()), speller{}.list(sig.Results())
	given := slices.DeleteFunc(slices.Clone(in), func(t string) bool { return t == "context.Context" })
	if m.anyHolds(sig.Results(), m.path+"/agent", "Receipt") {
		return len(given) > 0
	}
	waits, quiet := len(given) < len(in), len(out) == 0 || len(out) == 1 && out[0] == "error"
	return waits && quiet && m.anyHolds(sig.Params(), m.path+"/chat", "Message")
}

func (m *module) anyHolds(vars *types.Tuple, pkg, name string) bool {
	for v := range vars.Variables() {
		if m.holds(v.Type(), pkg, name, map[types.Type]bool{}) {
			return true
		}
	}
	return false
}

// holds says whether values of a type have one of that name in them.
func (m *module) holds(t types.Type, pkg, name string, seen map[types.Type]bool) bool {
	t = types.Unalias(t)
	if seen[t] {
		return false
	}
	seen[t] = true
	inside := func(t types.Type) bool { return m.holds(t, pkg, name, seen) }
	switch t := t.(type) {
	case *types.Named:
		if t.Obj().Name() == name && t.Obj().Pkg() != nil && t.Obj().Pkg().Path() == pkg {
			return true
		}
		return slices.ContainsFunc(slices.Collect(t.TypeArgs().Types()), inside) || !types.IsInterface(t) && inside(t.Underlying())
	case *types.Pointer:
		return inside(t.Elem())
	case *types.Slice:
		return inside(t.Elem())
	case *types.Array:
		return inside(t.Elem())
	case *types.Map:
		return inside(t.Key()) || inside(t.Elem())
	case *types.Chan:
		return inside(t.Elem())
	case *types.Struct:
		for v := range t.Fields() {
			if v.Exported() && inside(v.Type()) {
				return true
			}
		}
	}
	return false
}

// options are the names of a delivery with options, as whole words (contract I6).
var options = []string{"Send", "SendTarget", "SendOptions", "Target", "Wakeup", "NextTurn", "NextStep"}

var word = regexp.MustCompile(`[\pL_][\pL_\d]*`)

// optionNames finds them in the catalog.
func optionNames(files map[string]string) []finding {
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for line := range strings.Lines(files[name]) {
			for _, w := range word.FindAllString(line, -1) {
				if slices.Contains(options, w) {
					found = append(found, finding{
						"api/" + name, w, "is the name of a delivery with options: " + strings.TrimSpace(line),
						"use a verb (Followup, Steer, Inject), or another name if this delivers nothing",
					})
				}
			}
		}
	}
	return found
}

// except leaves out what a table of exceptions has, and adds the exceptions that
// nothing needs.
func except(found []finding, exceptions map[string]string) []finding {
	used := map[string]bool{}
	var left []finding
	for _, f := range found {
		if exceptions[f.what] == "" {
			left = append(left, f)
		}
		used[f.what] = true
	}
	for _, what := range slices.Sorted(maps.Keys(exceptions)) {
		if !used[what] {
			left = append(left, finding{"internal/catalog", what, "is an exception that nothing needs", "delete it from the table"})
		}
	}
	return left
}
