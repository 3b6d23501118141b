package house

import (
	"path"
	"slices"
	"strings"
)

// A floor is what a group of rooms has in common. Imports point down.
type floor string

const (
	words    floor = "the words"
	sockets  floor = "the sockets"
	kits     floor = "the test kits"
	engine   floor = "the engine"
	shelf    floor = "the plugins"
	stock    floor = "the stock list"
	door     floor = "the door"
	programs floor = "the programs"
	builders floor = "the builders' tools"
	measures floor = "the benchmarks"
)

// row is one line of the import table. The standard library and the room itself
// are always allowed, and _test files see the whole core.
type row struct {
	floor   floor
	floors  []floor  // may import any room of these
	rooms   []string // and these
	library map[string]string
	because string // why nothing else
}

// table says which room may import which. A room is a folder at the top, with
// all that lies below it; on the shelf each plugin is a room.
var table = map[string]row{
	"chat":   {floor: words, because: "every room speaks these words, so what they import, all import"},
	"plugin": {floor: words, because: "scopes, services and hooks serve every room and know none"},

	"session": {floor: sockets, floors: []floor{words}, because: "the log is what others read; it leans on no reader"},
	"model":   {floor: sockets, floors: []floor{words}, because: "asking a model needs nothing of the asker"},
	"prompt":  {floor: sockets, floors: []floor{words}, because: "a prompt is text; who sends it is no matter here"},
	"tool": {
		floor: sockets, floors: []floor{words}, rooms: []string{"session"},
		library: map[string]string{schemas: chosen[schemas]},
		because: "a tool is run by any driver: it knows the log and its schema, not the agent",
	},
	"agent": {
		floor: sockets, floors: []floor{words}, rooms: []string{"session"},
		because: "the contract of an agent must not depend on how one is made",
	},

	"react": {floor: engine, floors: []floor{words, sockets}, because: "a driver knows contracts; who fulfils them is the stock list's choice"},
	"host":  {floor: engine, floors: []floor{words, sockets}, because: "the host boots whatever it is given and knows no driver and no plugin"},

	"plugins": {
		floor: shelf, floors: []floor{words, sockets, kits}, rooms: []string{"host"}, library: chosen,
		because: "a plugin can be deleted and its neighbours never notice",
	},
	"plugins/stock": {
		floor: stock, floors: []floor{words, sockets, kits, engine, shelf}, library: chosen,
		because: "the list names what the stock binary contains and nothing above it",
	},
	".": {
		floor: door, floors: []floor{words, sockets, kits, engine, shelf, stock}, library: chosen,
		because: "an embedder comes in by the door; tools and programs are not behind it",
	},
	"cmd": {
		floor: programs, floors: []floor{words, sockets, kits, engine, shelf, stock, door}, library: chosen,
		because: "what users run holds no builders' tools",
	},

	"internal": {floor: builders, floors: []floor{words, sockets, kits, engine}, because: "the builders' tools judge the core and ship with nothing"},
	"bench": {
		floor: measures, floors: []floor{words, sockets, kits, engine, shelf, stock, door}, library: chosen,
		because: "a benchmark measures what ships",
	},
}

// detours say what to do instead of importing a room of that floor.
var detours = map[floor]string{
	words:    "keep it out, or move the code to a room that may",
	sockets:  "take a small interface of your own, or move the code up to a room that may import both",
	kits:     "import a kit from a _test file; product code carries no proof with it",
	engine:   "take the agent or the service you need as an interface, or say it with a fact, an Event or a Hook",
	shelf:    "put what both sides need into a socket, as an interface, a Service, an Event or a Hook, and let plugins/stock choose",
	stock:    "take what you need as an argument; only the door and the programs choose the stock list",
	door:     "import the room that has it; the door is for embedders",
	programs: "move the code to a room",
	builders: "move the code to a room; builders' tools are no product code",
	measures: "move the code to a room; nothing depends on a benchmark",
}

// place is where a package stands.
type place struct {
	room  string // as a reader would say it: "agent", "plugins/stores/sqlite"
	floor floor
	row   row
}

// placeOf finds a package by its folder; it is false for a room the table does not have.
func placeOf(dir string) (place, bool) {
	parts := strings.Split(dir, "/")
	room := parts[0]
	if room == "plugins" {
		return placeOnShelf(parts)
	}
	r, ok := table[room]
	if ok && slices.Contains(core, r.floor) && kit(parts[1:]) {
		return place{room, kits, kitRow(room, r)}, true
	}
	return place{room, r.floor, r}, ok
}

// placeOnShelf knows plugins/stock and plugins/<plural>/<name>, and nothing between them.
func placeOnShelf(parts []string) (place, bool) {
	switch {
	case len(parts) > 1 && parts[1] == "stock":
		return place{"plugins/stock", stock, table["plugins/stock"]}, true
	case len(parts) > 2:
		return place{path.Join(parts[:3]...), shelf, table["plugins"]}, true
	}
	return place{}, false
}

// kit reports whether a folder below a room is a test kit: agenttest, agenttest/simple.
func kit(below []string) bool {
	return slices.ContainsFunc(below, func(part string) bool { return strings.HasSuffix(part, "test") })
}

// kitRow is what the kit of a room may import: that room and what lies below it.
func kitRow(room string, r row) row {
	return row{
		floor:   kits,
		floors:  r.floors,
		rooms:   append([]string{room}, r.rooms...),
		because: "a kit proves its socket and must run wherever the socket does",
	}
}

// allows is the table's answer for product code at p that imports a package at to.
func (p place) allows(to place) bool {
	if p.room == to.room && (to.floor == p.floor || p.floor == kits) {
		return true
	}
	if to.floor == kits {
		return slices.Contains(p.row.floors, kits)
	}
	return slices.Contains(p.row.floors, to.floor) || slices.Contains(p.row.rooms, to.room)
}

// may is the row of p in words, for failures.
func (p place) may() string {
	allowed := []string{"the standard library"}
	for _, f := range p.row.floors {
		allowed = append(allowed, string(f))
	}
	allowed = append(allowed, p.row.rooms...)
	return strings.Join(allowed, ", ")
}
