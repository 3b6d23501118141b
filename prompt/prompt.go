// Package prompt makes what a model is told before and beside a conversation:
// the system text, of ordered sections, and facts that change, as messages.
//
// Sections and facts are registered in scopes. One in an agent's scope takes
// the place of one of the same name around it, for that agent alone; with no
// text it leaves it out. In which order a model is shown its tools is no matter
// of the prompt: package tool lists them, always alike.
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

// Input is whom a text is for. Asking for a text has no effects, so that it may
// be done as often as one likes.
type Input struct {
	Session string `json:"session"`
	Model   string `json:"model,omitempty"` // as configured; empty: the default
	Mode    string `json:"mode,omitempty"`  // as configured
}

// Text makes a text, or none. White space around it doesn't count.
type Text = func(context.Context, Input) (string, error)

// Section is a part of the system text.
type Section struct {
	Name  string
	Order int // the lowest comes first; of equals, by name
	// Text makes the section. It should say the same as long as nothing has
	// changed that the model must know: a provider's cache begins with it.
	Text Text
}

// Fact is something that changes while a conversation goes on: the time, the
// state of a repository. It is shown when it differs from what was shown last.
type Fact struct {
	// Name is the plugin that the message is from. Nothing else may be from
	// it: what was shown last is known by its source.
	Name  string
	Value Text
}

// Piece is what became of a section or a fact: a text, or why there is none.
type Piece struct {
	Name   string `json:"name"`
	Order  int    `json:"order,omitempty"` // of a section
	Text   string `json:"text,omitempty"`  // empty: it is left out
	Failed string `json:"failed,omitempty"`
}

// Sections and Facts ask for the pieces, the nearest first and one of each name.
// Add and AddFact are the plain way to have a say; who wraps them may change
// what is further in.
var (
	Sections = plugin.NewHook[Input, []Piece]("prompt.sections")
	Facts    = plugin.NewHook[Input, []Piece]("prompt.facts")
)

// Add registers a section until scope is closed.
func Add(scope *plugin.Scope, s Section) error {
	if s.Name == "" || s.Text == nil {
		return fmt.Errorf("add section %q: it needs a name and a text", s.Name)
	}
	return add(scope, Sections, s.Name, func(ctx context.Context, in Input) (Piece, error) {
		text, err := s.Text(ctx, in)
		return Piece{Name: s.Name, Order: s.Order, Text: text}, err
	})
}

// AddFact registers a fact until scope is closed.
func AddFact(scope *plugin.Scope, f Fact) error {
	if f.Value == nil {
		return fmt.Errorf("add fact %q: it needs a value", f.Name)
	}
	if err := message(f.Name, "a value").As("id").Validate(); err != nil {
		return fmt.Errorf("add fact %q: %w", f.Name, err)
	}
	return add(scope, Facts, f.Name, func(ctx context.Context, in Input) (p Piece, err error) {
		p.Name = f.Name
		defer func() {
			if value := recover(); value != nil {
				p.Failed = fmt.Sprint("panic: ", value)
			}
		}()
		if p.Text, err = f.Value(ctx, in); err != nil {
			p.Failed = err.Error()
		}
		return p, nil
	})
}

// add wraps a hook so that the piece joins those further in, unless one of them
// has its name.
func add(scope *plugin.Scope, hook *plugin.Hook[Input, []Piece], name string, piece func(context.Context, Input) (Piece, error)) error {
	return hook.Wrap(scope, name, func(ctx context.Context, in Input, next func(context.Context, Input) ([]Piece, error)) ([]Piece, error) {
		nearer, err := next(ctx, in)
		if err != nil || slices.ContainsFunc(nearer, func(p Piece) bool { return p.Name == name }) {
			return nearer, err
		}
		p, err := piece(ctx, in)
		if err != nil {
			return nil, err
		}
		return append(nearer, p), nil
	})
}

// none is the answer when nobody has anything to say.
func none(context.Context, Input) ([]Piece, error) { return nil, nil }

// Any says whether scope sees a section. It costs next to nothing.
func Any(scope *plugin.Scope) bool { return Sections.Any(scope) }

// AnyFact says whether scope sees a fact. It costs next to nothing.
func AnyFact(scope *plugin.Scope) bool { return Facts.Any(scope) }

// Render is the system text of an agent: the sections in their order, with an
// empty line between them. A section that fails is named in a
// *plugin.HookError: a model isn't asked with half of what it must know.
func Render(ctx context.Context, scope *plugin.Scope, in Input) (string, error) {
	pieces, err := Sections.Ask(ctx, scope, in, none)
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(pieces, func(a, b Piece) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
	})
	var texts []string
	for _, p := range pieces {
		if text := clean(p.Text); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

// Changes are the facts that differ from what was shown last, as messages from
// plugins, in the order of their names. Shown are the last messages that were
// added of each source; ids are the caller's to give. A fact that has no value
// is left out, and so is one that fails, which is logged: not to know the time
// is no reason to refuse work.
func Changes(ctx context.Context, scope *plugin.Scope, in Input, shown []chat.Message) ([]chat.Message, error) {
	pieces, err := Facts.Ask(ctx, scope, in, none)
	if err == nil {
		err = context.Cause(ctx) // which made them fail, perhaps
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(pieces, func(a, b Piece) int { return cmp.Compare(a.Name, b.Name) })
	var changes []chat.Message
	for _, p := range pieces {
		value := clean(p.Text)
		switch {
		case p.Failed != "":
			scope.Log().WarnContext(ctx, "a fact is left out", "fact", p.Name, "error", p.Failed)
		case value != "" && value != last(shown, p.Name):
			changes = append(changes, message(p.Name, value))
		}
	}
	return changes, nil
}

func message(name, value string) chat.Message {
	return chat.Message{Role: chat.RoleSystem, Source: chat.Plugin(name), Parts: []chat.Part{chat.Text(value)}}
}

// clean is a text as a model may be sent it.
func clean(text string) string {
	return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
}

// last is the text shown last by a plugin.
func last(shown []chat.Message, name string) string {
	for _, m := range slices.Backward(shown) {
		if m.Source == chat.Plugin(name) {
			return chat.PlainText(m.Parts)
		}
	}
	return ""
}
