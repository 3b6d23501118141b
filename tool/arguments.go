package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// ArgumentsError says what is wrong with a call's arguments, for the model.
type ArgumentsError struct{ Problem string }

func (e *ArgumentsError) Error() string { return e.Problem }

func wrong(format string, args ...any) error {
	return &ArgumentsError{Problem: clip(fmt.Sprintf(format, args...), 600)}
}

// deepest is how many objects and arrays may lie within each other.
const deepest = 200

// check returns the arguments as they would run, if they fit.
func (s *shape) check(arguments string) (string, error) {
	arguments = strings.Trim(arguments, " \t\r\n") // JSON's white space
	if arguments == "" || arguments == "{}" {
		return "{}", s.empty
	}
	value, err := parse(arguments)
	if err != nil {
		return "", err
	}
	object, is := value.(map[string]any)
	if !is {
		return "", wrong("the arguments are %s, but have to be an object", kindOf(value))
	}
	if err := s.fit(object); err != nil {
		return "", err
	}
	return arguments, nil
}

// fit says what is wrong with the arguments, the first thing in the order of
// the schema.
func (s *shape) fit(object map[string]any) error {
	err := s.resolved.Validate(object)
	if err == nil {
		return nil
	}
	schema := s.resolved.Schema()
	if s.closed {
		for _, name := range sorted(object) {
			if !slices.Contains(s.known, name) && len(schema.PatternProperties) == 0 {
				return wrong("there is no argument %q%s", name, nearest(name, s.known))
			}
		}
	}
	for _, name := range schema.Required {
		if _, has := object[name]; !has {
			return wrong("the argument %q is missing", name)
		}
	}
	for _, name := range s.known {
		if err := s.alone(object, name); err != nil {
			return err
		}
	}
	return wrong("%s", told(err))
}

// alone says what is wrong with one argument, nothing else considered.
func (s *shape) alone(object map[string]any, name string) error {
	value, has := object[name]
	if !has {
		return nil
	}
	err := s.resolved.Validate(map[string]any{name: value})
	if err == nil || !strings.Contains(err.Error(), "/properties/"+name) {
		return nil // what is missing beside it is said elsewhere
	}
	return wrong("the argument %s", told(err))
}

// told is a validator's error without the way it took.
func told(err error) string {
	text, where := err.Error(), ""
	for strings.HasPrefix(text, "validating ") {
		step, rest, found := strings.Cut(strings.TrimPrefix(text, "validating "), ": ")
		if !found {
			break
		}
		text, where = rest, step
	}
	where = strings.TrimPrefix(strings.ReplaceAll(where, "/properties/", "/"), "/")
	if where == "" || where == "root" {
		return text
	}
	return where + ": " + text
}

// parse reads JSON strictly: one value, no name twice in an object, so that
// all who read it see the same.
func parse(text string) (any, error) {
	if !utf8.ValidString(text) {
		return nil, wrong("the arguments are not valid UTF-8")
	}
	d := json.NewDecoder(strings.NewReader(text))
	value, err := parseValue(d, 0)
	if err != nil {
		return nil, malformed(text, err)
	}
	end := d.InputOffset()
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, wrong("something follows the arguments after byte %d: send one JSON object", end)
	}
	return value, nil
}

func malformed(text string, err error) error {
	var told *ArgumentsError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &told):
		return told
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wrong("the arguments are not JSON: they end in the middle, after %q", tail(text))
	case errors.As(err, &syntax):
		at := min(int(syntax.Offset), len(text))
		return wrong("the arguments are not JSON: %v, after %q", err, tail(text[:at]))
	default:
		return wrong("the arguments are not JSON: %v", err)
	}
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > deepest {
		return nil, wrong("the arguments lie more than %d levels deep", deepest)
	}
	switch token {
	case json.Delim('{'):
		return parseObject(d, depth)
	case json.Delim('['):
		return parseArray(d, depth)
	default:
		return token, nil
	}
}

func parseObject(d *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // the decoder takes nothing else for a name
		if _, twice := object[name]; twice {
			return nil, wrong("the name %q appears twice in one object", name)
		}
		if object[name], err = parseValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token() // }
	return object, err
}

func parseArray(d *json.Decoder, depth int) (any, error) {
	array := []any{}
	for d.More() {
		value, err := parseValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := d.Token() // ]
	return array, err
}

// decode fills v with arguments that fit the schema. What Go's types can't
// hold though the schema allows it is wrong too.
func decode(arguments json.RawMessage, v any) error {
	err := json.Unmarshal(arguments, v)
	var typed *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return wrong("the argument %s: %s is no %s", typed.Field, typed.Value, typed.Type)
	default:
		return wrong("%v", err)
	}
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case float64:
		return "a number"
	default:
		return "an array"
	}
}

func sorted(object map[string]any) []string {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
