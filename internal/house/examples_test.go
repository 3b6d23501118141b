package house

import (
	"io/fs"
	"strings"
)

const (
	imports   = "imports follow the table of rooms"
	comments  = "every package says what it is for"
	length    = "a file tells one story"
	inits     = "nothing happens by importing"
	noState   = "packages keep no state"
	naming    = "packages are named after what they hold"
	noOptions = "no delivery options in the public names"
	decisions = "decisions are noted alike"
	shelves   = "plugin folders look like their neighbours"
	quiet     = "no file tells where it was made"
)

// example is a small module and what the rule must find in it; nothing, if it keeps the rule.
type example struct {
	name   string
	rule   string
	source source
	want   []string // prefixes of "where: wrong"
}

func (e example) tree() fs.FS { return e.source.fs() }

var examples = []example{
	{
		"rooms may import what lies below them", imports, source{
			"tack.go":                         `package tack; import (_ "example.org/m/react"; _ "example.org/m/plugins/stock"; _ "github.com/alecthomas/kong")`,
			"chat/chat.go":                    `package chat; import _ "encoding/json"`,
			"tool/tool.go":                    `package tool; import (_ "example.org/m/session"; _ "github.com/google/jsonschema-go/jsonschema")`,
			"agent/agenttest/kit.go":          `package agenttest; import (_ "testing"; _ "example.org/m/agent"; _ "example.org/m/session")`,
			"agent/agenttest/simple/s.go":     `package simple; import (_ "example.org/m/agent"; _ "example.org/m/agent/agenttest")`,
			"react/driver.go":                 `package react; import (_ "example.org/m/agent"; _ "example.org/m/model")`,
			"plugins/stores/sqlite/sqlite.go": `package sqlite; import (_ "example.org/m/session"; _ "example.org/m/plugins/stores/sqlite/page"; _ "modernc.org/sqlite"; _ "example.org/m/host")`,
			"plugins/stores/sqlite/page/p.go": `package page`,
			"plugins/models/scripted/s.go":    `package scripted; import _ "example.org/m/model/modeltest"`,
			"plugins/stock/stock.go":          `package stock; import _ "example.org/m/plugins/stores/sqlite"`,
			"cmd/tack/main.go":                `package main; import (_ "example.org/m"; _ "example.org/m/host")`,
		}, nil,
	},
	{
		"tests may import the core and the test libraries", imports, source{
			"chat/chat_test.go":          `package chat_test; import (_ "example.org/m/chat"; _ "example.org/m/react"; _ "pgregory.net/rapid")`,
			"session/log_test.go":        `package session; import _ "example.org/m/session/storetest"`,
			"plugins/a/b/b_test.go":      `package b; import (_ "example.org/m/react"; _ "example.org/m/plugins/a/b"; _ "github.com/google/go-cmp/cmp")`,
			"internal/house/one_test.go": `package house; import _ "testing"`,
		}, nil,
	},
	{
		"no arrow points up, sideways or at a test kit", imports, source{
			"chat/chat.go":         `package chat; import _ "example.org/m/plugin"`,
			"session/log.go":       "package session\n\nimport _ \"example.org/m/agent\"",
			"session/kit.go":       `package session; import _ "example.org/m/session/storetest"`,
			"agent/agent.go":       `package agent; import _ "example.org/m/model"`,
			"tool/tooltest/t.go":   `package tooltest; import _ "example.org/m/agent"`,
			"react/driver.go":      `package react; import _ "example.org/m/host"`,
			"host/host.go":         `package host; import _ "example.org/m/react"`,
			"react/store.go":       `package react; import _ "example.org/m/plugins/stores/sqlite"`,
			"plugins/a/b/b.go":     `package b; import (_ "example.org/m/plugins/a/c"; _ "example.org/m/react")`,
			"plugins/stock/s.go":   `package stock; import _ "example.org/m"`,
			"cmd/tack/main.go":     `package main; import _ "example.org/m/internal/house"`,
			"chat/chat_test.go":    `package chat; import _ "example.org/m/plugins/a/b"`,
			"internal/house/h.go":  `package house; import _ "example.org/m/plugins/stock"`,
			"prompt/prompt.go":     `package prompt; import _ "example.org/m/bench"`,
			"testdata/whatever.go": `package none; import _ "example.org/m/internal/house"`,
			"interop/go.mod":       "module example.org/m/interop",
			"interop/peer.go":      `package peer; import _ "example.org/m/internal/house"`,
		}, []string{
			"agent/agent.go:1: agent (the sockets) imports model, but may import only the standard library, the words, session: the contract",
			"chat/chat.go:1: chat (the words) imports plugin",
			"chat/chat_test.go:1: chat (the words) imports plugins/a/b",
			"cmd/tack/main.go:1: cmd (the programs) imports internal/house",
			"host/host.go:1: host (the engine) imports react",
			"internal/house/h.go:1: internal (the builders' tools) imports plugins/stock",
			"plugins/a/b/b.go:1: plugins/a/b (the plugins) imports plugins/a/c",
			"plugins/a/b/b.go:1: plugins/a/b (the plugins) imports react",
			"plugins/stock/s.go:1: plugins/stock (the stock list) imports .",
			"prompt/prompt.go:1: prompt (the sockets) imports bench",
			"react/driver.go:1: react (the engine) imports host",
			"react/store.go:1: react (the engine) imports plugins/stores/sqlite",
			"session/kit.go:1: session (the sockets) imports session/storetest",
			"session/log.go:3: session (the sockets) imports agent",
			"tool/tooltest/t.go:1: tool (the test kits) imports agent",
		},
	},
	{
		"libraries are chosen, and kept to their places", imports, source{
			"model/model.go":     `package model; import _ "github.com/google/jsonschema-go/jsonschema"`,
			"tool/tool.go":       `package tool; import _ "modernc.org/sqlite"`,
			"plugins/a/b/b.go":   `package b; import (_ "example.com/novelty"; _ "pgregory.net/rapid"; _ "modernc.org/sqlitehouse")`,
			"react/race_test.go": `package react; import _ "modernc.org/sqlite"`,
			"host/cgo.go":        `package host; import "C"`,
		}, []string{
			"host/cgo.go:1: host uses cgo",
			"model/model.go:1: model (the sockets) imports github.com/google/jsonschema-go/jsonschema, but uses the standard library only",
			"plugins/a/b/b.go:1: example.com/novelty is not among the chosen",
			"plugins/a/b/b.go:1: pgregory.net/rapid is a library for tests",
			"plugins/a/b/b.go:1: modernc.org/sqlitehouse is not among the chosen",
			"react/race_test.go:1: react (the engine) imports modernc.org/sqlite",
			"tool/tool.go:1: tool may not use modernc.org/sqlite",
		},
	},
	{
		"a new room must be put into the table", imports, source{
			"kitchen/stove.go":      `package kitchen`,
			"plugins/stores/s.go":   `package stores`,
			"chat/hungry.go":        `package chat; import _ "example.org/m/kitchen"`,
			"kitchen/_old/stove.go": `package old`,
		}, []string{
			"chat/hungry.go:1: imports kitchen, a room that is not in the table",
			"kitchen: a room that is not in the import table",
			"plugins/stores: a package between the shelves",
		},
	},

	{
		"one comment, in one file", comments, source{
			"chat/chat.go":     "// Package chat is words.\npackage chat",
			"chat/usage.go":    "// Usage is apart from the clause.\n\npackage chat",
			"chat/one_test.go": "// Package chat is tested.\npackage chat",
			"cmd/tack/main.go": "// Tack runs agents.\npackage main",
			"cmd/tack/gen.go":  "//go:build ignore\n\n// Gen is another program.\npackage main",
		}, nil,
	},
	{
		"none, two, and one that begins elsewhere", comments, source{
			"agent/agent.go":       "package agent",
			"chat/chat.go":         "// Package chat is words.\npackage chat",
			"chat/usage.go":        "// Package chat is usage.\npackage chat",
			"host/host.go":         "// The host boots.\npackage host",
			"session/only_test.go": "// Package session is only tested.\npackage session",
		}, []string{
			"agent: the package has no doc comment",
			"chat: the package is documented in several files: chat/chat.go, chat/usage.go",
			"host/host.go: the doc comment doesn't begin",
			"session: the package has no doc comment",
		},
	},

	{
		"a file that was generated may be long", length, source{
			"chat/chat.go":  "package chat\n",
			"chat/table.go": "// Code generated by hand. DO NOT EDIT.\n\npackage chat\n" + strings.Repeat("\n", tooLongFile),
		}, nil,
	},
	{
		"a file that was written may not", length,
		source{"chat/chat.go": "package chat\n" + strings.Repeat("\n", tooLongFile)},
		[]string{"chat/chat.go: 801 lines, beyond 800"},
	},

	{
		"a method may be called init, and tests may have one", inits, source{
			"chat/chat.go":      `package chat; type t struct{}; func (t) init() {}`,
			"chat/chat_test.go": `package chat; func init() {}`,
		}, nil,
	},
	{
		"init", inits,
		source{"chat/chat.go": "package chat\n\nfunc init() {}"},
		[]string{"chat/chat.go:3: init runs"},
	},

	{
		"errors, assertions, patterns, keys and tables are no state", noState, source{
			"host/keys.go": `package host
import ("embed"; "errors"; "fmt"; "regexp"; "slices"; "sync"; "time"; "example.org/m/chat"; "example.org/m/plugin")
var ErrClosed, ErrFull = errors.New("closed"), fmt.Errorf("full: %w", ErrClosed)
var _ fmt.Stringer = (*owner)(nil)
var _, _ fmt.Stringer = owner{}, &owner{}
var _ fmt.Stringer
//go:embed page.html
var page embed.FS
var word = regexp.MustCompile("[a-z]+")
var Owners = plugin.NewService[*owner]("owners")
var routes = map[string]func(*owner){"a": (*owner).open, "b": func(o *owner) { o.mu.Lock() }}
var roles = []chat.Role{chat.Role("user"), role("x"), []role{"y"}[0]}
var grace = 10 * time.Duration(len("seconds"))
var kinds = map[string]int{role.kind(""): 1, owner{}.kind(): 2, kind(): 3}
type role string
func (role) kind() string { return "role" }
func (*owner) fresh() *owner { return &owner{} }
func kind() string { return "none" }
func (owner) kind() string { return "owner" }
type owner struct { mu sync.Mutex }
func (o *owner) open() { routes := map[string]int{}; routes["a"] = 1; delete(routes, "a") }
func (o owner) String() string { roles := slices.Clone(roles); roles[0] = "z"; return string(append(roles, "")[0]) }
`,
			"chat/chat.go":      `package chat; type Role string`,
			"host/host_test.go": `package host; import "sync"; var once sync.Once`,
			"host/out_test.go":  `package host_test; var routes = map[string]int{}; func f() { routes["a"] = 1 }`,
		}, nil,
	},
	{
		"what is shared, pointed at, called for or missing", noState, source{
			"host/host.go": `package host
import ("sync"; "sync/atomic"; "net/http"; "example.org/m/chat")
var mu sync.Mutex
var count = &atomic.Int64{}
var wake = make(chan bool)
var cache registry
var client = &http.Client{}
var users = load()
var seen = make(map[string]bool)
var now = func() int { return 1 }
var _ = register()
var _ any = register()
var last string
var words = chat.Words()
var first = registry{}.fresh()
var deep = []map[string]registry{{"a": {}}}
func (registry) fresh() *registry { return &registry{} }
type registry struct { mu *sync.RWMutex }
`,
			"chat/chat.go": `package chat; func Words() []string { return nil }`,
		}, []string{
			"host/host.go:3: mu holds sync.Mutex",
			"host/host.go:4: count holds atomic.Int64",
			"host/host.go:5: wake holds a channel",
			"host/host.go:6: cache holds sync.RWMutex",
			"host/host.go:7: client points to",
			"host/host.go:8: users is made by calling load",
			"host/host.go:9: seen is made by calling make",
			"host/host.go:10: now is a function that can be exchanged",
			"host/host.go:11: a value made for nobody",
			"host/host.go:12: _ is made by calling register",
			"host/host.go:13: last has no value",
			"host/host.go:14: words is made by calling chat.Words",
			"host/host.go:15: first holds sync.RWMutex",
			"host/host.go:16: deep holds sync.RWMutex",
		},
	},
	{
		"a table that somebody changes", noState, source{
			"host/host.go": `package host
import "time"
var assigned = 1
var indexed = map[string]int{"a": 1}
var field = struct{ n int }{1}
var grown = []int{1}
var deleted = map[string]int{"a": 1}
var pointed = [2]int{1, 2}
var counted = 0
var ranged = 0
var sorted = []int{2, 1}
var method = tally{1}
var seam = time.Now
var Afar = []int{1}
type tally struct{ n int }
func (t *tally) add() { t.n++ }
`,
			"host/other.go": `package host
import "slices"
func change() {
	assigned = 2
	indexed["a"]++
	field.n = 2
	_ = append(grown, 2)
	delete(deleted, "a")
	_ = &pointed[0]
	counted++
	for ranged = range 3 {}
	slices.Sort(sorted)
	method.add()
}
`,
			"host/host_test.go": `package host; func still() { seam = nil }`,
			"cmd/tack/main.go":  `package main; import "example.org/m/host"; func main() { host.Afar[0] = 2 }`,
		}, []string{
			"host/host.go:3: assigned is changed at host/other.go:4",
			"host/host.go:4: indexed is changed at host/other.go:5",
			"host/host.go:5: field is changed at host/other.go:6",
			"host/host.go:6: grown is changed at host/other.go:7",
			"host/host.go:7: deleted is changed at host/other.go:8",
			"host/host.go:8: pointed is changed at host/other.go:9",
			"host/host.go:9: counted is changed at host/other.go:10",
			"host/host.go:10: ranged is changed at host/other.go:11",
			"host/host.go:11: sorted is changed at host/other.go:12",
			"host/host.go:12: method is changed at host/other.go:13",
			"host/host.go:13: seam is changed at host/host_test.go:1",
			"host/host.go:14: Afar is changed at cmd/tack/main.go:1",
		},
	},

	{"a package with a name of its own", naming, source{"chat/chat.go": `package chat`}, nil},
	{
		"a drawer", naming,
		source{"host/util/x.go": `package util`, "chat/types/x.go": `package types`},
		[]string{"chat/types/x.go:1: package types says nothing", "host/util/x.go:1: package util says nothing"},
	},

	{
		"longer names, parameters and what is not public are free", noOptions, source{
			"agent/agent.go":      `package agent; type Sender struct { target string; Targets []int }; func Do(Target string) { type Wakeup int }`,
			"agent/one_test.go":   `package agent; func Send() {}`,
			"internal/house/h.go": `package house; func Send() {}`,
			"cmd/tack/main.go":    `package main; func Send() {}`,
		}, nil,
	},
	{
		"a delivery with options", noOptions, source{
			"agent/agent.go": `package agent
type Recipient interface { Send(Target int) }
type SendOptions struct { Deep struct { Target string } }
const NextTurn, NextStep = 1, 2
var Wakeup = true
func SendTarget() {}
func (SendOptions) Send() {}
`,
		}, []string{
			"agent/agent.go:2: Send ", "agent/agent.go:3: SendOptions ", "agent/agent.go:3: Target ", "agent/agent.go:4: NextTurn ", "agent/agent.go:4: NextStep ",
			"agent/agent.go:5: Wakeup ", "agent/agent.go:6: SendTarget ", "agent/agent.go:7: Send ",
		},
	},

	{
		"notes of one shape, in a row", decisions, source{
			"docs/decisions/0001-agent-routing-is-private.md": "# A\n\n## Context\nx\n## Choice\ny\n## Given up\nz\n",
			"docs/decisions/0002-b.md":                        "# B\n## Context\n## Choice\n## Given up\n",
		}, nil,
	},
	{
		"notes that stray", decisions, source{
			"docs/decisions/0001-a.md":  "## Context\n## Choice\n## Given up\n" + strings.Repeat("\n", noteLines),
			"docs/decisions/0003-c.md":  "## Context\n## Given up\n## Choice\n",
			"docs/decisions/0003-d.md":  "## Context\n## Choice\n## Given up\n",
			"docs/decisions/4-e.md":     "",
			"docs/decisions/README.txt": "",
		}, []string{
			"docs/decisions/0001-a.md: 43 lines",
			"docs/decisions/0003-c.md: its number should be 0002",
			"docs/decisions/0003-c.md: its headings are ## Context, ## Given up, ## Choice",
			"docs/decisions/4-e.md: not named like",
			"docs/decisions/README.txt: not named like",
		},
	},

	{
		"a plugin with both its front doors", shelves, source{
			"plugins/stores/sqlite/sqlite.go":     "package sqlite",
			"plugins/stores/sqlite/README.md":     "",
			"plugins/stores/sqlite/page/cache.go": "package page",
			"plugins/stock/stock.go":              "package stock",
		}, nil,
	},
	{
		"a plugin without", shelves,
		source{"plugins/stores/sqlite/store.go": "package sqlite"},
		[]string{"plugins/stores/sqlite: the plugin has no sqlite.go", "plugins/stores/sqlite: the plugin has no README.md"},
	},

	{"a neutral example", quiet, source{"README.md": "in /home/ada/project, networks and homework/s"}, nil},
	{
		"a path and a host", quiet, source{
			"README.md":             "one\nin /wor" + "k/here",
			".ci/run":               "https://proxy.golang" + ".org",
			"chat/testdata/x.txt":   "registry.npmjs" + ".org",
			"cmd/tack/logo.bin":     "\x00/wor" + "k/",
			"node_modules/x/README": "/wor" + "k/",
		}, []string{
			".ci/run:1: names \"proxy.", "README.md:2: names \"/wor", "chat/testdata/x.txt:1: names \"registry",
		},
	},
}
