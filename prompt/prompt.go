// Package prompt makes what a model is told before and beside a conversation:
// the system text, of ordered sections, and facts that change, as messages.
//
// Sections and facts are registered in scopes. One in an agent's scope takes
// the place of one of the same name around it, for that agent alone; with no
// text it leaves it out.
package prompt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
)

// Input is whom a text is for.
type Input struct {
	Session string `json:"session"`
	Model   string `json:"model,omitempty"` // as configured; empty: the default
	Mode    string `json:"mode,omitempty"`  // as configured
}

// Section is a part of the system text.
type Section struct {
	Name  string
	Order int // the lowest comes first; of equals, by name
	// Text makes the section. It should say the same as long as nothing has
	// changed that the model must know: a provider's cache begins with it.
	Text func(context.Context, Input) (string, error)
}

// Fact is something that changes while a conversation goes on: the time, the
// state of a repository. It is shown when it differs from what was shown last.
type Fact struct {
	Name  string // the plugin that the message is from
	Value func(context.Context, Input) (string, error)
}

var (
	sections = plugin.NewService[Section]("prompt.section")
	facts    = plugin.NewService[Fact]("prompt.fact")
)

// Add registers a section until scope is closed.
func Add(scope *plugin.Scope, s Section) error {
	if s.Name == "" || s.Text == nil {
		return fmt.Errorf("add section %q: it needs a name and a text", s.Name)
	}
	return sections.Provide(scope, s)
}

// AddFact registers a fact until scope is closed.
func AddFact(scope *plugin.Scope, f Fact) error {
	if f.Name == "" || f.Value == nil {
		return fmt.Errorf("add fact %q: it needs a name and a value", f.Name)
	}
	return facts.Provide(scope, f)
}

// Any says whether scope sees a section. It costs next to nothing.
func Any(scope *plugin.Scope) bool { return sections.Provided(scope) }

// AnyFact says whether scope sees a fact. It costs next to nothing.
func AnyFact(scope *plugin.Scope) bool { return facts.Provided(scope) }

// Render is the system text of an agent: the sections in their order, with an
// empty line between them. A section that fails is named in the error.
func Render(ctx context.Context, scope *plugin.Scope, in Input) (string, error) {
	list := nearest(sections.All(scope), func(s Section) string { return s.Name })
	slices.SortFunc(list, func(a, b Section) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
	})
	var texts []string
	for _, s := range list {
		text, err := s.Text(ctx, in)
		if err != nil {
			return "", fmt.Errorf("render section %s: %w", s.Name, err)
		}
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

// Changes are the facts that differ from what was shown last, as messages from
// plugins, in the order of their names. Shown are the last messages that were
// added of each source. A fact without a value is left out.
func Changes(ctx context.Context, scope *plugin.Scope, in Input, shown []chat.Message) ([]chat.Message, error) {
	list := nearest(facts.All(scope), func(f Fact) string { return f.Name })
	slices.SortFunc(list, func(a, b Fact) int { return cmp.Compare(a.Name, b.Name) })
	var out []chat.Message
	for _, f := range list {
		value, err := f.Value(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("fact %s: %w", f.Name, err)
		}
		if value == "" || value == last(shown, f.Name) {
			continue
		}
		out = append(out, chat.Message{
			Role: chat.RoleSystem, Source: chat.Plugin(f.Name), Parts: []chat.Part{chat.Text(value)},
		})
	}
	return out, nil
}

// last is the text shown last by a plugin.
func last(shown []chat.Message, name string) string {
	for i := len(shown) - 1; i >= 0; i-- {
		if shown[i].Source == chat.Plugin(name) {
			return chat.PlainText(shown[i].Parts)
		}
	}
	return ""
}

// nearest keeps of each name the one registered nearest, or last.
func nearest[T any](all []T, name func(T) string) []T {
	at := map[string]int{}
	var out []T
	for _, v := range all {
		if i, known := at[name(v)]; known {
			out[i] = v
			continue
		}
		at[name(v)] = len(out)
		out = append(out, v)
	}
	return out
}
