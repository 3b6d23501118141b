package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// shape is a schema ready to judge arguments.
type shape struct {
	resolved *jsonschema.Resolved
	empty    error    // what is wrong with {}
	known    []string // the names of the arguments, in the schema's order
	closed   bool     // no other names are allowed
}

// inferred is the schema of a Go type, as compact JSON.
func inferred[T any](refine []func(*jsonschema.Schema)) (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	if s.Type == "object" && s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{} // some providers insist on it
	}
	for _, f := range refine {
		f(s)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(unescape.Replace(string(text))), nil
}

// unescape undoes what encoding/json does for the sake of HTML. Escaped
// backslashes are passed over, so that they hide nothing.
var unescape = strings.NewReplacer(`\\`, `\\`, `\u003c`, `<`, `\u003e`, `>`, `\u0026`, `&`)

// compile reads a schema of arguments.
func compile(text json.RawMessage) (json.RawMessage, *shape, error) {
	text, err := compact(text)
	if err != nil {
		return nil, nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, nil, err
	}
	if s.Type != "object" {
		return nil, nil, errors.New(`arguments are an object: the schema must have "type": "object" at its top; in Go, they are a struct or a map`)
	}
	if !slices.Contains(drafts, s.Schema) {
		s.Schema = "" // others are read as the newest
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, nil, err
	}
	sh := &shape{resolved: resolved, known: order(text, &s), closed: s.AdditionalProperties != nil && forbids(s.AdditionalProperties)}
	sh.empty = sh.fit(map[string]any{})
	return text, sh, nil
}

// drafts are the versions of JSON Schema that can be told apart.
var drafts = []string{
	"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2020-12/schema",
}

// forbids says whether s is false, which no value fits.
func forbids(s *jsonschema.Schema) bool {
	text, err := json.Marshal(s)
	return err == nil && string(text) == "false"
}

// order lists the names of the properties as the schema's text does.
func order(text json.RawMessage, s *jsonschema.Schema) []string {
	var top struct {
		Properties json.RawMessage `json:"properties"`
	}
	names := make([]string, 0, len(s.Properties))
	if json.Unmarshal(text, &top) == nil {
		d := json.NewDecoder(bytes.NewReader(top.Properties))
		_, err := d.Token() // {
		for err == nil && d.More() {
			var name json.Token
			if name, err = d.Token(); err != nil {
				break
			}
			names = append(names, name.(string))
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
	}
	return names
}

func compact(text json.RawMessage) (json.RawMessage, error) {
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return out.Bytes(), nil
}
