package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/tool"
)

func TestT1EmptyArgumentsAreAnEmptyObject(t *testing.T) {
	var got string
	p := newPlace(t, tool.Make(tool.Spec{
		Name: "raw", Description: "d", Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(_ context.Context, a json.RawMessage) (tool.Answer, error) {
			got = string(a)
			return tool.Text("ok"), nil
		},
	}))
	for _, empty := range []string{"", "  \n", "{}", " {} "} {
		got = "nothing"
		expect(t, p.run(p.job("raw", empty)), chat.CodeOK)
		if got != "{}" {
			t.Errorf("%q ran as %q, want {}", empty, got)
		}
	}
}

func TestT1WrongArgumentsAreAResultThatSaysWhatIsWrong(t *testing.T) {
	p := newPlace(t, reader())
	for arguments, says := range map[string][]string{
		"":                                 {"path", "missing"},
		"{}":                               {"path", "missing"},
		`{"path":"a`:                       {"not JSON", "end in the middle", `{\"path\":\"a`},
		`{"path":a}`:                       {"not JSON", "'a'"},
		`{"path":"a"}}`:                    {"follows"},
		`{"path":"a"} {"path":"b"}`:        {"follows", "12"},
		`{"path":"a","path":"b"}`:          {"path", "twice"},
		`{"pth":"a"}`:                      {"no argument \"pth\"", `did you mean "path"?`},
		`{"path":1}`:                       {"path", "string"},
		`{"path":null}`:                    {"path", "string"},
		`{"path":"a","limit":"many"}`:      {"limit", "integer"},
		`{"path":"a","limit":1.5}`:         {"limit", "integer"},
		`{"path":"a","limit":1e30}`:        {"limit"},
		`{"path":"a","limit":1e999}`:       {"1e999"},
		`{"path":"a","near":{"line":300}}`: {"near/line", "255"},
		`{"path":"a","tags":["x",2]}`:      {"tags", "string"},
		`[]`:                               {"an array", "object"},
		`"a"`:                              {"a string", "object"},
		`null`:                             {"null", "object"},
		`true`:                             {"a boolean"},
		`1`:                                {"a number"},
		strings.Repeat(`{"path":`, 250):    {"deep"},
		strings.Repeat(`[`, 100000):        {"deep"},
		"{\"path\":\"\xff\"}":              {"UTF-8"},
		`{"path":"` + strings.Repeat("x", 5000) + `","limit":"` + strings.Repeat("y", 5000) + `"}`: {"limit"},
	} {
		got := p.run(p.job("read", arguments))
		expect(t, got, chat.CodeArguments, append(says, "read didn't run", "schema")...)
		if len(text(got)) > 1000 {
			t.Errorf("%d bytes are too many to say what is wrong", len(text(got)))
		}
	}
}

func TestT1WhatGoCantHoldIsWrongToo(t *testing.T) {
	p := newPlace(t, reader())
	expect(t, p.run(p.job("read", `{"path":"a","limit":99999999999999999999}`)), chat.CodeArguments, "limit", "99999999999999999999")
}

func TestT1ArgumentsRunAsWritten(t *testing.T) {
	const written = `{ "limit":2, "path" : "<é\u00e9>" }`
	checked, err := reader().Check(" " + written + "\n")
	if err != nil || checked != written {
		t.Errorf("got %q, %v; want %q", checked, err, written)
	}
}

func TestSchemasOfOtherDraftsAreRead(t *testing.T) {
	one := tool.Make(tool.Spec{
		Name: "mcp", Description: "d", Run: func(context.Context, json.RawMessage) (tool.Answer, error) { return tool.Text("ok"), nil },
		Schema: json.RawMessage(`{ "$schema": "http://example.org/odd", "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"] }`),
	})
	p := newPlace(t, one)
	expect(t, p.run(p.job("mcp", `{"a":1}`)), chat.CodeOK)
	expect(t, p.run(p.job("mcp", `{"a":"1"}`)), chat.CodeArguments, "a: ")
	expect(t, p.run(p.job("mcp", `{"b":1}`)), chat.CodeArguments, `"a" is missing`)
}

// Whatever a model writes, checking it answers, and what passes is an object
// that everybody reads the same way.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `{"path":"a"}`, `{"path":"a","limit":3}`, `{"path":"a","path":"b"}`, `{"PATH":"a"}`, `{"path":"\ud800"}`,
		`{"path":"a","tags":null}`, `{"path":"a","near":{}}`, `{"path":"a"} x`, `[[[[`, `{"path":"a","limit":1e3}`, "\x00", `{"path":"a",}`,
	} {
		f.Add(s)
	}
	one := reader()
	f.Fuzz(func(t *testing.T, arguments string) {
		checked, err := one.Check(arguments)
		var told *tool.ArgumentsError
		if err != nil {
			if !errors.As(err, &told) || told.Problem == "" || !utf8.ValidString(told.Problem) {
				t.Errorf("%q: got the error %#v, want one that a model can read", arguments, err)
			}
			return
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(checked), &object); err != nil {
			t.Fatalf("%q passed as %q, which is no object: %v", arguments, checked, err)
		}
		if _, is := object["path"].(string); !is {
			t.Errorf("%q passed without a path", arguments)
		}
		if again, err := one.Check(checked); err != nil || again != checked {
			t.Errorf("%q passed as %q, which becomes %q: %v", arguments, checked, again, err)
		}
		if _, err := one.Run(t.Context(), arguments); err != nil && !errors.As(err, &told) {
			t.Errorf("%q: %v", arguments, err)
		}
	})
}
