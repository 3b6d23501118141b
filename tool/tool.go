// Package tool is what a model may have done: what a tool is, how it is offered
// to an agent, and the guarded way of a call from the model's wish to its one
// final result.
//
// [New] makes a tool of a Go function, [Make] of a schema and a function over
// JSON. [Add] offers it in a scope. A driver lists what is offered ([List]),
// asks for a call's traits ([Traits]), schedules, and has the call run with
// [Execute]. On the way stand the hooks: Decide, the guards, Running, After.
//
// A tool's failure is a result that the model reads, not an error: it has a
// code for programs and a text that says what to do about it.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// Tool is something a model may have done. It doesn't change once it is made;
// two are the same if their pointers are. What was wrong with its making, Err
// and Add say.
type Tool struct {
	name        string
	description string
	schema      json.RawMessage
	returns     json.RawMessage
	shape       *shape
	trait       session.Trait
	traits      func(arguments json.RawMessage) session.Trait // besides trait; nil: no more
	concludes   bool
	timeout     time.Duration
	body        Body
	err         error
}

// Body does what a call asks for. Its arguments fit the schema. The context
// ends when the call is stopped or out of time; From has what else it needs.
// With an error, what the answer holds is shown to the model before it.
type Body func(ctx context.Context, arguments json.RawMessage) (Answer, error)

// Answer is what a tool says.
type Answer struct {
	Parts []chat.Part `json:"parts,omitempty"`
	// Code is set by tools that report a failure beside what they have to show.
	Code chat.Code `json:"code,omitempty"`
	// Concludes says that nothing is left to say after it. It counts for
	// successful answers only.
	Concludes bool `json:"concludes,omitempty"`
	// Spent is what the call's own agents used.
	Spent session.Spent `json:"spent,omitzero"`
}

// Text is an answer of one text.
func Text(s string) Answer { return Answer{Parts: []chat.Part{chat.Text(s)}} }

// Spec is a tool in its parts, for tools whose arguments are no Go type.
type Spec struct {
	Name        string // 1 to 64 of a-z, A-Z, 0-9, _ and -
	Description string // for the model
	// Schema is that of the arguments: JSON Schema 2020-12 or draft 7, with
	// "type": "object" at the top.
	Schema json.RawMessage
	// Returns is the schema of the JSON text the tool answers with; nil: it
	// answers with other things.
	Returns json.RawMessage
	// Traits says what may be done with a call, given arguments that fit the
	// schema. Nil: run it alone, and never again.
	Traits func(arguments json.RawMessage) session.Trait
	// Timeout is the longest a call may take, if that is less than what the
	// driver lets it.
	Timeout time.Duration
	Run     Body
}

// Make makes a tool of its parts.
func Make(s Spec) *Tool {
	t := &Tool{
		name: s.Name, description: s.Description, traits: s.Traits, timeout: s.Timeout, body: s.Run,
	}
	t.err = t.make(s)
	return t
}

func (t *Tool) make(s Spec) error {
	if err := t.sound(); err != nil {
		return err
	}
	var err error
	if t.schema, t.shape, err = compile(s.Schema); err != nil {
		return fmt.Errorf("tool %s: schema: %w", t.name, err)
	}
	if s.Returns == nil {
		return nil
	}
	if t.returns, err = compact(s.Returns); err != nil {
		return fmt.Errorf("tool %s: schema of what it returns: %w", t.name, err)
	}
	return nil
}

// names are what every provider takes for a tool's name.
var names = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (t *Tool) sound() error {
	switch {
	case !names.MatchString(t.name):
		return fmt.Errorf("tool %q: its name must be 1 to 64 of a-z, A-Z, 0-9, _ and -", t.name)
	case t.description == "":
		return fmt.Errorf("tool %s: no description: the model chooses by it", t.name)
	case t.body == nil:
		return fmt.Errorf("tool %s: nothing to run", t.name)
	case t.timeout < 0:
		return fmt.Errorf("tool %s: a timeout of %s", t.name, t.timeout)
	}
	return nil
}

// Name is what the model calls it.
func (t *Tool) Name() string { return t.name }

// Description tells the model what it is for.
func (t *Tool) Description() string { return t.description }

// Schema is the JSON Schema of the arguments, compact, the same bytes each
// time. They are not to be changed.
func (t *Tool) Schema() json.RawMessage { return t.schema }

// Returns is the schema of the JSON text it answers with; nil if it answers
// with other things.
func (t *Tool) Returns() json.RawMessage { return t.returns }

// Err says why it can't be used; nil if it can.
func (t *Tool) Err() error { return t.err }

// Check returns the arguments as they would run, if they fit the schema: a JSON
// object, {} for nothing at all. The error, of type *ArgumentsError, tells the
// model what is wrong.
func (t *Tool) Check(arguments string) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	return t.shape.check(arguments)
}

// Traits says what may be done with a call of these arguments. Arguments that
// don't fit, and a tool that breaks on them, have none.
func (t *Tool) Traits(arguments string) (trait session.Trait) {
	if t.traits == nil {
		return t.trait
	}
	checked, err := t.Check(arguments)
	if err != nil {
		return session.Trait{}
	}
	return t.traitsOf(checked)
}

// traitsOf is Traits for arguments that fit.
func (t *Tool) traitsOf(checked string) (trait session.Trait) {
	if t.traits == nil {
		return t.trait
	}
	defer func() {
		if recover() != nil {
			trait = session.Trait{}
		}
	}()
	more := t.traits(json.RawMessage(checked))
	return session.Trait{
		Beside:     t.trait.Beside || more.Beside,
		Repeatable: t.trait.Repeatable || more.Repeatable,
	}
}

// Run runs the body, without the pipeline: nothing is decided, guarded, timed
// or cut, and a panic is the caller's. Arguments that don't fit are an error.
func (t *Tool) Run(ctx context.Context, arguments string) (Answer, error) {
	checked, err := t.Check(arguments)
	if err != nil {
		return Answer{}, err
	}
	return t.run(ctx, checked)
}

func (t *Tool) run(ctx context.Context, checked string) (Answer, error) {
	a, err := t.body(ctx, json.RawMessage(checked))
	a.Concludes = a.Concludes || t.concludes
	return a, err
}
