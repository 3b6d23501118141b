package chat

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FieldError says which field of a value is wrong, and how.
type FieldError struct {
	Field   string // as in JSON: parts[2].media
	Problem string // what is wrong and what would be right
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

func fieldError(field, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// within puts the error's field below the i-th element of list.
func (e *FieldError) within(list string, i int) *FieldError {
	return &FieldError{Field: fmt.Sprintf("%s[%d].%s", list, i, e.Field), Problem: e.Problem}
}

// asError keeps a nil *FieldError from becoming an error.
func asError(err *FieldError) error {
	if err == nil {
		return nil
	}
	return err
}

func validateName(field, name string) *FieldError {
	switch {
	case len(name) > MaxName:
		return fieldError(field, "%d bytes: at most %d", len(name), MaxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fieldError(field, "%q: use valid UTF-8 without control characters", clip(name))
	}
	return nil
}

// clip keeps a value quoted in an error readable.
func clip[S ~string](s S) S {
	most := 80
	if len(s) <= most {
		return s
	}
	for !utf8.RuneStart(s[most]) && most > 80-utf8.UTFMax {
		most--
	}
	return s[:most] + "…"
}
