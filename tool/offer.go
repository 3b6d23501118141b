package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

var offered = plugin.NewService[*Tool]("tool.offered")

// Add offers t to whoever sees what is registered in the scope, until the scope
// is closed. Where several tools have a name the nearest is seen, an agent's
// own before the host's; of those in one place the last. The error says what is
// wrong with the tool.
func Add(scope *plugin.Scope, t *Tool) error {
	if t.err != nil {
		return t.err
	}
	if err := offered.Provide(scope, t); err != nil {
		return fmt.Errorf("offer tool %s: %w", t.name, err)
	}
	return nil
}

// List is what is offered in the scope, by name. It is always in the same
// order, so that requests extend each other.
func List(scope *plugin.Scope) []*Tool {
	all := offered.All(scope)
	slices.Reverse(all) // the nearest first
	slices.SortStableFunc(all, func(a, b *Tool) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(all, func(a, b *Tool) bool { return a.name == b.name })
}

// Find is the tool of that name.
func Find(scope *plugin.Scope, name string) (t *Tool, found bool) {
	for _, t := range slices.Backward(offered.All(scope)) {
		if t.name == name {
			return t, true
		}
	}
	return nil, false
}

// Same says whether two lists offer the same, so that what was made of one
// serves for the other. It is cheap: a driver asks before every request.
func Same(a, b []*Tool) bool { return slices.Equal(a, b) }

// Traits says what may be done with a call. A call that no tool, or no sound
// arguments are there for has none: by the time it runs they may be.
func Traits(scope *plugin.Scope, c chat.Call) session.Trait {
	t, found := Find(scope, c.Name)
	if !found {
		return session.Trait{}
	}
	return t.Traits(c.Arguments)
}
