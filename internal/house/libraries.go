package house

import "strings"

// schemas is the one library of package tool.
const schemas = "github.com/google/jsonschema-go"

// chosen are the libraries that shelves and programs may use, and what each is for.
var chosen = map[string]string{
	schemas:                                  "tool schemas, both ways",
	"modernc.org/sqlite":                     "the durable store",
	"github.com/alecthomas/kong":             "flags",
	"github.com/goccy/go-yaml":               "config",
	"github.com/google/uuid":                 "ids that sort by time",
	"mvdan.cc/sh/v3":                         "reading shell commands for permission rules",
	"github.com/creack/pty":                  "terminals for commands",
	"github.com/bmatcuk/doublestar/v4":       "path patterns",
	"github.com/aymanbagabas/go-udiff":       "diffs",
	"github.com/fsnotify/fsnotify":           "noticing changed files",
	"github.com/landlock-lsm/go-landlock":    "sandbox: files",
	"github.com/elastic/go-seccomp-bpf":      "sandbox: system calls",
	"github.com/modelcontextprotocol/go-sdk": "MCP",
	"charm.land/bubbletea/v2":                "terminal UI",
	"charm.land/lipgloss/v2":                 "terminal UI: styles",
	"charm.land/bubbles/v2":                  "terminal UI: widgets",
	"go.opentelemetry.io/otel":               "traces and metrics",
	"github.com/nats-io/nats-server/v2":      "several nodes",
	"github.com/nats-io/nats.go":             "several nodes",
}

// forTests are the libraries that any _test file may use.
var forTests = map[string]string{
	"pgregory.net/rapid":                "random histories",
	"github.com/anishathalye/porcupine": "linearizability",
	"go.uber.org/goleak":                "goroutines that outlive their scope",
	"github.com/rogpeppe/go-internal":   "testscript and txtar",
	"github.com/google/go-cmp":          "differences worth reading",
}

// listed reports whether the package belongs to a library of the list.
func listed(list map[string]string, imported string) bool {
	for library := range list {
		if within(imported, library) {
			return true
		}
	}
	return false
}

// within reports whether p is top or lies below it.
func within(p, top string) bool {
	return p == top || strings.HasPrefix(p, top+"/")
}
