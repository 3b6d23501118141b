package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

// place is a scope with what a test puts in it.
type place struct {
	t     testing.TB
	scope *plugin.Scope
	log   *logged
}

func newPlace(t testing.TB, tools ...*tool.Tool) *place {
	t.Helper()
	log := &logged{}
	p := &place{t, plugin.NewScope("test", slog.New(slog.NewTextHandler(log, nil))), log}
	t.Cleanup(func() {
		if err := p.scope.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p.add(tools...)
	return p
}

func (p *place) add(tools ...*tool.Tool) {
	p.t.Helper()
	for _, one := range tools {
		p.must(tool.Add(p.scope, one))
	}
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// job is a call of the tool name.
func (p *place) job(name, arguments string) tool.Job {
	return tool.Job{
		Scope: p.scope, Session: "s", Answer: 7, Index: 1,
		Call: chat.Call{ID: "c1", Name: name, Arguments: arguments},
	}
}

// run executes a call and checks what is true of every result.
func (p *place) run(j tool.Job) session.Resulted {
	p.t.Helper()
	out := tool.Execute(p.t.Context(), j)
	if out.Answer != j.Answer || out.Index != j.Index || out.Result.Call != j.Call.ID || out.Result.Name != j.Call.Name {
		p.t.Errorf("the result is another call's: %+v", out)
	}
	if err := chat.ValidateParts(out.Result.Parts); err != nil {
		p.t.Errorf("the result can't be shown: %v", err)
	}
	return out
}

// logged is what was logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func text(r session.Resulted) string { return chat.PlainText(r.Result.Parts) }

// expect checks the code and that the text has all the words.
func expect(t testing.TB, got session.Resulted, code chat.Code, words ...string) {
	t.Helper()
	if got.Result.Code != code {
		t.Errorf("got code %q, want %q: %s", got.Result.Code, code, text(got))
	}
	for _, w := range words {
		if !strings.Contains(text(got), w) {
			t.Errorf("got the text %q, want it to say %q", text(got), w)
		}
	}
}

type reading struct {
	Path  string   `json:"path" jsonschema:"the file <name> & path"`
	Limit int      `json:"limit,omitempty" jsonschema:"lines, at most"`
	Tags  []string `json:"tags,omitempty"`
	Near  struct {
		Line uint8 `json:"line,omitempty"`
	} `json:"near,omitzero"`
}

// reader is a tool that says what it was asked for.
func reader(options ...tool.Option) *tool.Tool {
	return tool.New("read", "reads a file", func(_ context.Context, r reading) (reading, error) { return r, nil }, options...)
}

func saying(name string, f func(context.Context) (tool.Answer, error), options ...tool.Option) *tool.Tool {
	return tool.New(name, "answers", func(ctx context.Context, _ struct{}) (tool.Answer, error) { return f(ctx) }, options...)
}

func TestASchemaIsCompactOrderedAndStable(t *testing.T) {
	want := `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"the file <name> & path"},` +
		`"limit":{"type":"integer","description":"lines, at most"},` +
		`"tags":{"type":["null","array"],"items":{"type":"string"}},` +
		`"near":{"type":"object","properties":{"line":{"type":"integer","minimum":0,"maximum":255}},"additionalProperties":false}},` +
		`"required":["path"],"additionalProperties":false}`
	for range 3 {
		if got := string(reader().Schema()); !sameFields(t, got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if a, b := string(reader().Schema()), string(reader().Schema()); a != b {
			t.Errorf("got %s, then %s", a, b)
		}
	}
	if i, j := strings.Index(string(reader().Schema()), `"path"`), strings.Index(string(reader().Schema()), `"limit"`); i > j {
		t.Error("the arguments aren't in the order of the fields")
	}
	if strings.Contains(string(reader().Schema()), `\u003c`) {
		t.Error("the schema is escaped for HTML")
	}
}

func sameFields(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	xs, _ := json.Marshal(x)
	ys, _ := json.Marshal(y)
	return string(xs) == string(ys) && len(a) == len(b)
}

func TestNoArgumentsAreAnObjectOfNone(t *testing.T) {
	got := saying("now", nil).Schema()
	if want := `{"type":"object","properties":{},"additionalProperties":false}`; !sameFields(t, string(got), want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestARefinedSchemaIsChecked(t *testing.T) {
	one := reader(tool.Refine(func(s *jsonschema.Schema) { s.Properties["path"].Enum = []any{"a", "b"} }))
	expect(t, newPlace(t, one).run(newPlace(t, one).job("read", `{"path":"c"}`)), chat.CodeArguments, "path", "c")
}

func TestAToolThatCantBeUsedIsNotOffered(t *testing.T) {
	object := json.RawMessage(`{"type":"object"}`)
	body := func(context.Context, json.RawMessage) (tool.Answer, error) { return tool.Answer{}, nil }
	for why, one := range map[string]*tool.Tool{
		"name":           tool.Make(tool.Spec{Name: "a b", Description: "d", Schema: object, Run: body}),
		"64":             tool.Make(tool.Spec{Name: strings.Repeat("a", 65), Description: "d", Schema: object, Run: body}),
		"description":    tool.Make(tool.Spec{Name: "a", Schema: object, Run: body}),
		"nothing to run": tool.Make(tool.Spec{Name: "a", Description: "d", Schema: object}),
		"timeout":        tool.Make(tool.Spec{Name: "a", Description: "d", Schema: object, Run: body, Timeout: -1}),
		"not JSON":       tool.Make(tool.Spec{Name: "a", Description: "d", Schema: json.RawMessage(`{`), Run: body}),
		`"object"`:       tool.Make(tool.Spec{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"array"}`), Run: body}),
		"schema":         tool.Make(tool.Spec{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object","$ref":"#/nowhere"}`), Run: body}),
		"returns":        tool.Make(tool.Spec{Name: "a", Description: "d", Schema: object, Returns: json.RawMessage(`{`), Run: body}),
		"struct":         tool.New("a", "d", func(context.Context, string) (string, error) { return "", nil }),
		"func":           tool.New("a", "d", func(context.Context, struct{ F func() }) (string, error) { return "", nil }),
		"asks with":      reader(tool.BesideIf(func(int) bool { return true })),
	} {
		err := tool.Add(newPlace(t).scope, one)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v, want an error that says %q", err, why)
		}
		if _, err := one.Check("{}"); err == nil {
			t.Errorf("%s: its arguments can be checked", why)
		}
	}
}

func TestATextOrPartsOrAnythingIsAnAnswer(t *testing.T) {
	picture := chat.Image("image/png", []byte{1, 2})
	none := func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }
	for name, c := range map[string]struct {
		tool *tool.Tool
		want []chat.Part
	}{
		"text":    {tool.New("a", "d", func(context.Context, struct{}) (string, error) { return "hi", nil }), []chat.Part{chat.Text("hi")}},
		"bytes":   {tool.New("a", "d", func(context.Context, struct{}) ([]byte, error) { return []byte("hi"), nil }), []chat.Part{chat.Text("hi")}},
		"part":    {tool.New("a", "d", func(context.Context, struct{}) (chat.Part, error) { return picture, nil }), []chat.Part{picture}},
		"parts":   {tool.New("a", "d", func(context.Context, struct{}) ([]chat.Part, error) { return []chat.Part{picture}, nil }), []chat.Part{picture}},
		"answer":  {tool.New("a", "d", func(context.Context, struct{}) (tool.Answer, error) { return tool.Text("hi"), nil }), []chat.Part{chat.Text("hi")}},
		"JSON":    {tool.New("a", "d", func(context.Context, struct{}) (reading, error) { return reading{Path: "<a>"}, nil }), []chat.Part{chat.Text(`{"path":"<a>"}`)}},
		"nothing": {tool.New("a", "d", none), []chat.Part{chat.Text("(no output)")}},
	} {
		p := newPlace(t, c.tool)
		got := p.run(p.job("a", ""))
		a, _ := json.Marshal(got.Result.Parts)
		b, _ := json.Marshal(c.want)
		if got.Result.Code != chat.CodeOK || string(a) != string(b) {
			t.Errorf("%s: got %q %s, want %s", name, got.Result.Code, a, b)
		}
		if (c.tool.Returns() != nil) != (name == "JSON") {
			t.Errorf("%s: it returns %s", name, c.tool.Returns())
		}
	}
}

func TestTraitsDependOnArguments(t *testing.T) {
	one := reader(tool.Repeatable(), tool.BesideIf(func(r reading) bool { return r.Limit > 5 }))
	for arguments, want := range map[string]session.Trait{
		`{"path":"a","limit":9}`: {Repeatable: true, Beside: true},
		`{"path":"a","limit":1}`: {Repeatable: true},
		`{"path":`:               {},
	} {
		if got := one.Traits(arguments); got != want {
			t.Errorf("%s: got %+v, want %+v", arguments, got, want)
		}
	}
	broken := reader(tool.RepeatableIf(func(reading) bool { panic("broken") }))
	if got := broken.Traits(`{"path":"a"}`); got != (session.Trait{}) {
		t.Errorf("got %+v of a broken function, want none", got)
	}
	p := newPlace(t, one)
	if got := tool.Traits(p.scope, chat.Call{Name: "nowhere"}); got != (session.Trait{}) {
		t.Errorf("an unknown tool has the traits %+v: the call must not be taken for repeatable later", got)
	}
	if got := tool.Traits(p.scope, chat.Call{Name: "read", Arguments: `{"path":"a"}`}); got != (session.Trait{Repeatable: true}) {
		t.Errorf("got %+v", got)
	}
}
