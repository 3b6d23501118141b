package react

import (
	"fmt"
	"reflect"
)

// aside are fields that aren't state: what undo needs, and what lists of facts
// a snapshot wants.
var aside = map[string]bool{"was": true, "then": true, "journal": true, "marked": true, "missing": true}

// difference is the path to the first field in which a and b differ, with both
// values; empty if they are equal. Nil and empty lists and maps are the same.
func difference(a, b any) string {
	return differs(reflect.ValueOf(a), reflect.ValueOf(b), "")
}

func differs(a, b reflect.Value, path string) string {
	switch a.Kind() {
	case reflect.Pointer:
		return differsBehind(a, b, path)
	case reflect.Interface:
		if a.IsNil() || b.IsNil() || a.Elem().Type() != b.Elem().Type() {
			return unless(a.IsNil() == b.IsNil() && a.IsNil(), a, b, path)
		}
		return differs(a.Elem(), b.Elem(), path)
	case reflect.Struct:
		for i := range a.NumField() {
			name := a.Type().Field(i).Name
			if aside[name] {
				continue
			}
			if d := differs(a.Field(i), b.Field(i), path+"."+name); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice:
		if a.Len() == b.Len() && a.Pointer() == b.Pointer() {
			return ""
		}
		return differsInList(a, b, path)
	case reflect.Array:
		return differsInList(a, b, path)
	case reflect.Map:
		return differsInMap(a, b, path)
	default:
		return unless(a.Equal(b), a, b, path)
	}
}

func differsBehind(a, b reflect.Value, path string) string {
	switch {
	case a.IsNil() || b.IsNil():
		return unless(a.IsNil() == b.IsNil(), a, b, path)
	case a.Pointer() == b.Pointer():
		return ""
	default:
		return differs(a.Elem(), b.Elem(), path)
	}
}

func differsInList(a, b reflect.Value, path string) string {
	if a.Len() != b.Len() {
		return fmt.Sprintf("%s: %d and %d long: %+v and %+v", path, a.Len(), b.Len(), a, b)
	}
	for i := range a.Len() {
		if d := differs(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i)); d != "" {
			return d
		}
	}
	return ""
}

func differsInMap(a, b reflect.Value, path string) string {
	if a.Len() != b.Len() {
		return fmt.Sprintf("%s: %d and %d long", path, a.Len(), b.Len())
	}
	for _, key := range a.MapKeys() {
		in := fmt.Sprintf("%s[%v]", path, key)
		if !b.MapIndex(key).IsValid() {
			return in + ": missing"
		}
		if d := differs(a.MapIndex(key), b.MapIndex(key), in); d != "" {
			return d
		}
	}
	return ""
}

func unless(same bool, a, b reflect.Value, path string) string {
	if same {
		return ""
	}
	return fmt.Sprintf("%s: %+v and %+v", path, a, b)
}
