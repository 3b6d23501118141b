package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// source is a small module: the text of each file by its path, beside common.
type source map[string]string

// common is what the promises are about, as small as it can be.
var common = source{
	"go.mod":         "module example.org/m\n",
	"chat/chat.go":   "package chat; type Message struct{ ID string }",
	"agent/agent.go": "package agent\n\nimport (\"context\"; \"example.org/m/chat\")\n\ntype Receipt struct{ Seq int }\n\ntype Recipient interface { Steer(ctx context.Context, m chat.Message) (Receipt, error) }",
	"plugin/plugin.go": `package plugin
		type Service[T any] struct{ name string }
		type Event[T any] struct{ name string }
		type Hook[In, Out any] struct{ name string }
		func NewService[T any](name string) *Service[T] { return &Service[T]{name} }
		func NewEvent[T any](name string) *Event[T] { return &Event[T]{name} }
		func NewHook[In, Out any](name string) *Hook[In, Out] { return &Hook[In, Out]{name} }`,
}

func (s source) fs() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range common {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for name, text := range s {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// begins says whether each of got begins with that of want.
func begins(t *testing.T, found []finding, want []string) {
	t.Helper()
	var got []string
	for _, f := range found {
		got = append(got, f.where+": "+f.what+" "+f.wrong)
		if f.comply == "" {
			t.Errorf("%v\nThe finding doesn't say how to comply.", f)
		}
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got findings\n\t%s\nwant findings that begin with\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestAFourthDeliveryIsCaught(t *testing.T) {
	m := must(load(source{
		"host/host.go": `package host

import ("context"; "example.org/m/agent"; "example.org/m/chat")

type Post interface { Drop(context.Context, chat.Message) (agent.Receipt, error); agent.Recipient }
type Desk struct { Hand func(context.Context, chat.Message) (agent.Receipt, error); hidden func(context.Context, chat.Message) error }
type Bag struct { Letters []chat.Message }
func (*Desk) Give(context.Context, Bag) (*agent.Receipt, error) { return nil, nil }
func (*Desk) Steer(context.Context, chat.Message) (agent.Receipt, error) { return agent.Receipt{}, nil }
func (*Desk) Inject(context.Context, chat.Message, bool) (agent.Receipt, error) { return agent.Receipt{}, nil }
func (*Desk) give(context.Context, chat.Message) (agent.Receipt, error) { return agent.Receipt{}, nil }
type Way func(context.Context, ...chat.Message) ([]agent.Receipt, error)
func Steer(context.Context, chat.Message) (agent.Receipt, error) { return agent.Receipt{}, nil }
func Quiet(context.Context, chat.Message) error { return nil }
func Say(_ context.Context, to, text string) (agent.Receipt, error) { return agent.Receipt{}, nil }
func Silent(context.Context, string, []chat.Message) {}
var Var func(context.Context, *chat.Message) (agent.Receipt, error)
type lane struct{}
func (lane) Throw(context.Context, chat.Message) error { return nil }
type Road struct { lane }
`,
		"host/fine.go": `package host

import ("context"; "example.org/m/agent"; "example.org/m/chat")

func Check(chat.Message) error { return nil }
func Last(context.Context) (agent.Receipt, error) { return agent.Receipt{}, nil }
func Ready(context.Context, chat.Message) (chat.Message, error) { return chat.Message{}, nil }
`,
		"internal/tools/tools.go": "package tools; import (\"context\"; \"example.org/m/chat\"); func Give(context.Context, chat.Message) error { return nil }",
	}.fs()))(t)
	begins(t, m.fourth(), []string{
		"host/host.go:8: host.Desk.Give has the shape of a delivery: func(context.Context, host.Bag) (*agent.Receipt, error)",
		"host/host.go:10: host.Desk.Inject has",
		"host/host.go:6: host.Desk.Hand has",
		"host/host.go:5: host.Post.Drop has",
		"host/host.go:14: host.Quiet has",
		"host/host.go:19: host.Road.Throw has",
		"host/host.go:15: host.Say has",
		"host/host.go:16: host.Silent has",
		"host/host.go:13: host.Steer has",
		"host/host.go:17: host.Var has",
		"host/host.go:12: host.Way has",
	})
}

func TestTheNamesOfOptionsAreWholeWords(t *testing.T) {
	found := optionNames(map[string]string{
		"a.txt":      "pkg a, func Sender(Targets) SendTo\npkg a, type Post interface, Send(context.Context)\npkg a, type Retarget struct, Target string `json:\"t\"`\n",
		"PLUGINS.md": "| `a.key` | the NextStep |\n",
	})
	begins(t, found, []string{"api/PLUGINS.md: NextStep is", "api/a.txt: Send is", "api/a.txt: Target is"})
}

func TestWhatIsNotDataIsCaught(t *testing.T) {
	m := must(load(source{
		"tool/tool.go": `package tool

import ("context"; "encoding/json"; "sync"; "time"; "unsafe"; "example.org/m/plugin")

// The hooks.
var Bad = plugin.NewHook[In, *Out]("tool.bad")
// Good is good.
var Good = plugin.NewHook[Fine, []Fine]("tool.good")
var event = plugin.NewEvent[func()]("tool.event")
var (
	hidden = plugin.NewHook[chan int, map[[2]int]string]("tool.hidden")
)

type In struct {
	Ctx    context.Context
	Run    func()
	Err    error
	Any    any
	Lock   *sync.Mutex
	secret int
	Gone   string ` + "`json:\"-\"`" + `
	Twice  int    ` + "`json:\"run\"`" + `
	Again  int    ` + "`json:\"run,omitempty\"`" + `
	Deep   []map[string]struct{ C <-chan bool }
	Place  unsafe.Pointer
}
type Out struct {
	When Stamped
	Number Half
	Tree *Tree
	Mean
	X    int
}
type Stamped struct { time.Time; Name string }
type Half int
func (Half) MarshalJSON() ([]byte, error) { return nil, nil }
type Tree struct { Kids []*Tree; Leaf complex128 }
type Mean struct { X int }

type Fine struct {
	Raw   json.RawMessage
	At    time.Time
	Kids  []*Fine
	Named map[Kind]int
	When  map[time.Time]bool
	Bytes []byte
	base
	Sort  Kind ` + "`json:\"-,\"`" + `
}
type base struct { Key string }
type Kind string
`,
	}.fs()))(t)
	begins(t, must(m.notData())(t), []string{
		"tool/tool.go:6: tool.bad input.Ctx is a context",
		"tool/tool.go:6: tool.bad input.Run is a function (func())",
		"tool/tool.go:6: tool.bad input.Err is an error",
		"tool/tool.go:6: tool.bad input.Any is an interface (any)",
		"tool/tool.go:6: tool.bad input.Lock is a sync.Mutex",
		"tool/tool.go:6: tool.bad input.secret isn't exported",
		"tool/tool.go:6: tool.bad input.Gone is left out",
		"tool/tool.go:6: tool.bad input.Again has the JSON name \"run\", as Twice has",
		"tool/tool.go:6: tool.bad input.Deep[][].C is a channel (<-chan bool)",
		"tool/tool.go:6: tool.bad input.Place is a unsafe.Pointer",
		"tool/tool.go:6: tool.bad answer.When gets MarshalJSON or UnmarshalJSON from what it embeds",
		"tool/tool.go:6: tool.bad answer.Number has only one of MarshalJSON and UnmarshalJSON",
		"tool/tool.go:6: tool.bad answer.Tree.Leaf is a complex128",
		"tool/tool.go:6: tool.bad answer.X has the JSON name \"X\", as Mean has",
		"tool/tool.go:11: tool.hidden input is a channel",
		"tool/tool.go:11: tool.hidden answer has keys of [2]int",
	})
}

func TestAnExceptionIsNeeded(t *testing.T) {
	found := []finding{{"a.go:1", "a.Give", "is wrong", "do right"}, {"b.go:1", "b.Give", "is wrong", "do right"}}
	begins(t, except(found, map[string]string{"a.Give": "reason", "c.Give": "reason"}), []string{
		"b.go:1: b.Give is wrong",
		"internal/catalog: c.Give is an exception that nothing needs",
	})
}

func TestTheCatalogOfASmallModule(t *testing.T) {
	m := must(load(source{
		"session/session.go": `// Package session is the log.
package session

import "time"

// Accepted says yes. And more.
type Accepted struct { ID string ` + "`json:\"id\"`" + ` }

// Noted is a plugin's.
type Noted struct { Kind string }

type need int

const Durable need = iota

type kind struct { version int; safe need }

var core = map[string]kind{ Accepted{}.Type(): {2, Durable} }

func (Accepted) Type() string { return "accepted" }
func (n Noted) Type() string { return n.Kind }

const Most, Name = 1 << 20, "x"

var Zero, hidden time.Time

type Pair[K comparable, V any] struct { lent; *Accepted; Key K; value V }
func (p *Pair[K, V]) Swap(other func(k K, rest ...V) (ok bool), _ struct{ A int }) {}
type lent struct { Lent int; own int }
func (lent) Free() {}
type ID = string
type Store interface { Get(id ID) (<-chan []byte, error); secret(); Base }
type Base interface { Close() error }
`,
		"session/other_windows.go":    "package session; func Windows() {}",
		"session/session_test.go":     "package session; func Test() {}",
		"session/testdata/testing.go": "package testing; func Broken(",
		"cmd/m/main.go":               "package main; func Broken() { return 1 }",
		"tool/tool.go": `package tool

import "example.org/m/plugin"

var (
	// Offered is a tool | a thing. And more.
	Offered = plugin.NewService[func(x int) string]("tool.offered")
	guard = plugin.NewHook[int, []string]("tool.guard")
)

// Told is told.
var Told = plugin.NewEvent[plugin.Hook[int, bool]]("tool.told")

var lonely = plugin.NewEvent[int]("tool.lonely")

// Guard guards.
func Guard() { func() { _ = guard }() }
`,
		"plugins/tools/read/read.go":               "// Package read reads files. And more.\npackage read; import _ \"example.org/m/plugins/tools/read/internal/page\"",
		"plugins/tools/read/internal/page/page.go": "package page",
	}.fs()))(t)
	files := must(m.catalog())(t)
	var names []string
	for name := range maps.Keys(files) {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"PLUGINS.md", "agent.txt", "chat.txt", "plugin.txt", "plugins.tools.read.txt", "session.txt", "tool.txt"}; !slices.Equal(names, want) {
		t.Errorf("got files %q, want %q", names, want)
	}
	const want = `pkg session
pkg session, const Durable need = 0
pkg session, const Most untyped int = 1048576
pkg session, const Name untyped string = "x"
pkg session, method (*Pair[K, V]) Swap(func(K, ...V) bool, struct { A int })
pkg session, method (Accepted) Type() string
pkg session, method (Noted) Type() string
pkg session, method (Pair[K, V]) Free()
pkg session, type Accepted struct
pkg session, type Accepted struct, ID string ` + "`json:\"id\"`" + `
pkg session, type Base interface { Close }
pkg session, type Base interface, Close() error
pkg session, type ID = string
pkg session, type Noted struct
pkg session, type Noted struct, Kind string
pkg session, type Pair[K comparable, V any] struct
pkg session, type Pair[K comparable, V any] struct, Key K
pkg session, type Pair[K comparable, V any] struct, Lent int
pkg session, type Pair[K comparable, V any] struct, embedded *Accepted
pkg session, type Store interface { Close, Get, unexported methods }
pkg session, type Store interface, Get(ID) (<-chan []byte, error)
pkg session, type Store interface, embedded Base
pkg session, var Zero time.Time
`
	if d := drift(files["session.txt"], want); d != "" {
		t.Errorf("the ledger of session (- got, + want)\n%s", d)
	}
	for _, row := range []string{
		"| `tool.offered` | `tool.Offered` | `func(int) string` | Offered is a tool \\| a thing. |\n",
		"| `tool.told` | `tool.Told` | `plugin.Hook[int, bool]` | Told is told. |\n",
		"| `tool.lonely` | the driver's own | `int` |  |\n",
		"| `tool.guard` | through `tool.Guard` | `int` | `[]string` | Guard guards. |\n",
		"| `accepted` | `session.Accepted` | 2 | durable | Accepted says yes. |\n",
		"| `plugins/tools/read` | Package read reads files. |\n",
	} {
		if !strings.Contains(files["PLUGINS.md"], row) {
			t.Errorf("PLUGINS.md lacks the row\n\t%sit is\n%s", row, files["PLUGINS.md"])
		}
	}
}

func TestWhatTheCatalogCannotTellIsAnError(t *testing.T) {
	for name, s := range map[string]source{
		"what it promises":     {"tool/tool.go": `package tool; import "example.org/m/plugin"; var K = plugin.NewEvent[int]("tool.k")`},
		"with a constant name": {"tool/tool.go": `package tool; import "example.org/m/plugin"; func name() string { return "x" }; var K = plugin.NewEvent[int](name())`},
		"not in the codec":     {"session/facts.go": `package session; type F struct{}; func (F) Type() string { return "f" }`},
	} {
		m := must(load(s.fs()))(t)
		if _, err := m.catalog(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want one with %q", err, name)
		}
	}
}

func TestDriftIsShort(t *testing.T) {
	if d := drift("a\nb\n", "a\nb\n"); d != "" {
		t.Errorf("got %q of equal files", d)
	}
	if got, want := drift("a\nold\nz\n", "a\nnew\nz\nz"), "\t- old\n\t+ new\n\t+ z\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if d := drift("b\na\n", "a\nb\n"); d == "" {
		t.Error("another order is no drift")
	}
	many := drift("", strings.Repeat("line\n", 100))
	if n := strings.Count(many, "\n"); n != mostDrift+1 || !strings.Contains(many, "88 lines more") {
		t.Errorf("got %d lines, want %d and how many were left out:\n%s", n, mostDrift+1, many)
	}
}
