package chat_test

import (
	"fmt"
	"reflect"
	"testing"
)

// filled is a value of T with nothing left zero: two of every list and map,
// pointers followed. Two calls make equal values that share nothing. A field
// added to a type is filled without anyone thinking of it.
func filled[T any]() T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), 1)
	return v
}

func fill(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("s%d", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint8:
		v.SetUint(uint64('0' + n)) // a list of them is a number in JSON
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, n+i)
			fill(value, n+i)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n+i)
		}
	default:
		panic("fill: teach me about " + v.Type().String())
	}
}

// leaf is a field that holds a value of its own, and where it is.
type leaf struct {
	path  string
	value reflect.Value
}

// leaves lists what can be set in v, through pointers, lists and maps. Bytes
// are one leaf if whole is set, else one each.
func leaves(v reflect.Value, path string, whole bool) []leaf {
	var out []leaf
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out = leaves(v.Elem(), path, whole)
		}
	case reflect.Slice:
		if whole && v.Type().Elem().Kind() == reflect.Uint8 {
			return []leaf{{path, v}}
		}
		for i := range v.Len() {
			out = append(out, leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), whole)...)
		}
	case reflect.Map:
		out = append(out, leaf{path, v})
	case reflect.Struct:
		for i := range v.NumField() {
			out = append(out, leaves(v.Field(i), path+"."+v.Type().Field(i).Name, whole)...)
		}
	default:
		out = append(out, leaf{path, v})
	}
	return out
}

// scramble changes every leaf in its place.
func scramble(v reflect.Value) {
	for _, l := range leaves(v, "", false) {
		switch v := l.value; v.Kind() {
		case reflect.Map:
			v.Clear()
		default:
			v.SetZero()
		}
	}
}

// sharesNothing: scrambling the copy leaves the original as it was.
func sharesNothing[T any](t *testing.T, copyOf func(T) T) {
	t.Helper()
	original := filled[T]()
	clone := copyOf(original)
	if !reflect.DeepEqual(clone, original) {
		t.Errorf("got the clone %+v, want %+v: a clone is equal", clone, original)
	}
	scramble(reflect.ValueOf(&clone).Elem())
	if want := filled[T](); !reflect.DeepEqual(original, want) {
		t.Errorf("got %+v after its clone was changed, want %+v: a clone shares nothing", original, want)
	}
	var zero T
	if got := copyOf(zero); !reflect.DeepEqual(got, zero) {
		t.Errorf("got %#v of the zero value, want %#v: a clone invents nothing", got, zero)
	}
}
