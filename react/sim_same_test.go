package react

import (
	"fmt"
	"reflect"

	"github.com/tack-agent/tack/chat"
)

// aside are fields that aren't state: what undo needs, and what lists of facts
// a snapshot wants.
var aside = map[string]bool{"was": true, "then": true, "journal": true, "marked": true, "missing": true}

// equals compares values of two machines. What it found equal of the content
// of messages, which never changes, it doesn't look at again.
type equals struct {
	known  map[[2]uintptr]bool
	fields map[reflect.Type][]field // looking them up anew costs the most
}

type field struct {
	index int
	name  string
}

func newEquals() equals {
	return equals{known: map[[2]uintptr]bool{}, fields: map[reflect.Type][]field{}}
}

// difference is the path to the first field in which a and b differ, with both
// values; empty if they are equal. Nil and empty lists and maps are the same.
func (q *equals) difference(a, b any) string {
	return q.differs(reflect.ValueOf(a), reflect.ValueOf(b))
}

func (q *equals) differs(a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Pointer:
		return q.differsBehind(a, b)
	case reflect.Interface:
		if a.IsNil() || b.IsNil() || a.Elem().Type() != b.Elem().Type() {
			return unless(a.IsNil() && b.IsNil(), a, b)
		}
		return q.differs(a.Elem(), b.Elem())
	case reflect.Struct:
		for _, f := range q.fieldsOf(a.Type()) {
			if d := q.differs(a.Field(f.index), b.Field(f.index)); d != "" {
				return "." + f.name + d
			}
		}
		return ""
	case reflect.Slice:
		if a.Len() == b.Len() && a.Pointer() == b.Pointer() {
			return ""
		}
		return q.differsInList(a, b)
	case reflect.Array:
		return q.differsInList(a, b)
	case reflect.Map:
		return q.differsInMap(a, b)
	default:
		return unless(a.Equal(b), a, b)
	}
}

func (q *equals) differsBehind(a, b reflect.Value) string {
	if a.IsNil() || b.IsNil() {
		return unless(a.IsNil() == b.IsNil(), a, b)
	}
	pair := [2]uintptr{a.Pointer(), b.Pointer()}
	if pair[0] == pair[1] || q.known[pair] {
		return ""
	}
	d := q.differs(a.Elem(), b.Elem())
	switch a.Type() {
	case reflect.TypeFor[*chat.Message](), reflect.TypeFor[*chat.Answer](), reflect.TypeFor[*chat.Result]():
		q.known[pair] = d == ""
	}
	return d
}

func (q *equals) differsInList(a, b reflect.Value) string {
	if a.Len() != b.Len() {
		return fmt.Sprintf(": %d and %d long: %+v and %+v", a.Len(), b.Len(), a, b)
	}
	for i := range a.Len() {
		if d := q.differs(a.Index(i), b.Index(i)); d != "" {
			return fmt.Sprintf("[%d]%s", i, d)
		}
	}
	return ""
}

func (q *equals) differsInMap(a, b reflect.Value) string {
	if a.Len() != b.Len() {
		return fmt.Sprintf(": %d and %d long", a.Len(), b.Len())
	}
	for pairs := a.MapRange(); pairs.Next(); {
		other := b.MapIndex(pairs.Key())
		if !other.IsValid() {
			return fmt.Sprintf("[%v]: missing", pairs.Key())
		}
		if d := q.differs(pairs.Value(), other); d != "" {
			return fmt.Sprintf("[%v]%s", pairs.Key(), d)
		}
	}
	return ""
}

func unless(same bool, a, b reflect.Value) string {
	if same {
		return ""
	}
	return fmt.Sprintf(": %+v and %+v", a, b)
}

// fieldsOf lists the fields of a type that are state.
func (q *equals) fieldsOf(t reflect.Type) []field {
	list, known := q.fields[t]
	if known {
		return list
	}
	for i := range t.NumField() {
		if name := t.Field(i).Name; !aside[name] {
			list = append(list, field{i, name})
		}
	}
	q.fields[t] = list
	return list
}
