package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// New makes a tool of a Go function. A is a struct, or a map, of the arguments;
// its schema comes from the fields: the json tag names one and, with omitempty
// or omitzero, makes it optional; the jsonschema tag describes it.
//
// What the function returns becomes the answer: a string or bytes one text, a
// [chat.Part] or several themselves, an [Answer] itself, a struct{} nothing,
// and all else JSON as text. An error is told to the model as it is, so it says
// what to do about it.
func New[A, R any](name, description string, f func(context.Context, A) (R, error), options ...Option) *Tool {
	t := &Tool{name: name, description: description}
	if f != nil {
		t.body = bodyOf(f)
	}
	var set settings
	for _, o := range options {
		o(&set)
	}
	t.trait, t.concludes, t.timeout = set.trait, set.concludes, set.timeout
	if t.err = t.sound(); t.err == nil {
		t.err = infer[A, R](t, set)
	}
	return t
}

// infer finds what the types say.
func infer[A, R any](t *Tool, set settings) error {
	text, err := inferred[A](set.refine)
	if err == nil {
		t.schema, t.shape, err = compile(text)
	}
	if err != nil {
		return fmt.Errorf("tool %s: schema: %w", t.name, err)
	}
	if answersJSON[R]() {
		// Types that JSON can hold and a schema can't are answered without one.
		t.returns, _ = inferred[R](nil)
	}
	t.traits, err = traitsOf[A](set.when)
	if err != nil {
		return fmt.Errorf("tool %s: %w", t.name, err)
	}
	return nil
}

// Option says something about a tool made by New.
type Option func(*settings)

type settings struct {
	trait     session.Trait
	when      []when
	concludes bool
	timeout   time.Duration
	refine    []func(*jsonschema.Schema)
}

// when asks a func(A) bool about the arguments.
type when struct {
	ask   any
	trait session.Trait // if the answer is yes
}

// Repeatable says that a call may run again after a crash: doing it twice is
// like doing it once.
func Repeatable() Option { return func(s *settings) { s.trait.Repeatable = true } }

// RepeatableIf says it of some arguments. A is the function's own.
func RepeatableIf[A any](ask func(A) bool) Option {
	return func(s *settings) { s.when = append(s.when, when{ask, session.Trait{Repeatable: true}}) }
}

// Beside says that calls may run beside others, also of the same tool.
func Beside() Option { return func(s *settings) { s.trait.Beside = true } }

// BesideIf says it of some arguments. A is the function's own.
func BesideIf[A any](ask func(A) bool) Option {
	return func(s *settings) { s.when = append(s.when, when{ask, session.Trait{Beside: true}}) }
}

// Concludes says that nothing is left to say after a successful call: the turn
// ends unless somebody steers.
func Concludes() Option { return func(s *settings) { s.concludes = true } }

// Timeout is the longest a call may take, if that is less than what the driver
// lets it.
func Timeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

// Refine changes the schema that was made of the arguments' type: to list what
// a string may be, for one.
func Refine(f func(*jsonschema.Schema)) Option {
	return func(s *settings) { s.refine = append(s.refine, f) }
}

// traitsOf makes one function of many; nil of none.
func traitsOf[A any](all []when) (func(json.RawMessage) session.Trait, error) {
	for _, w := range all {
		if _, fits := w.ask.(func(A) bool); !fits {
			return nil, fmt.Errorf("an option asks with a %T, but the arguments are %T", w.ask, *new(A))
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return func(arguments json.RawMessage) session.Trait {
		var a A
		var trait session.Trait
		if decode(arguments, &a) != nil {
			return trait
		}
		for _, w := range all {
			if w.ask.(func(A) bool)(a) {
				trait.Beside = trait.Beside || w.trait.Beside
				trait.Repeatable = trait.Repeatable || w.trait.Repeatable
			}
		}
		return trait
	}, nil
}

func bodyOf[A, R any](f func(context.Context, A) (R, error)) Body {
	_, reads := any(new(A)).(json.Unmarshaler)
	zero := !reads && reflect.TypeFor[A]().Kind() == reflect.Struct // {} is the zero A
	return func(ctx context.Context, arguments json.RawMessage) (Answer, error) {
		var a A
		if zero && string(arguments) == "{}" {
			return answer(f(ctx, a))
		}
		if err := decode(arguments, &a); err != nil {
			return Answer{}, err
		}
		return answer(f(ctx, a))
	}
}

// answersJSON says whether answer makes JSON of an R.
func answersJSON[R any]() bool {
	switch any(*new(R)).(type) {
	case string, []byte, chat.Part, []chat.Part, Answer, struct{}:
		return false
	default:
		return true
	}
}

// answer makes one of what a function returned. What it returned beside an
// error is shown if it is something to read.
func answer(r any, err error) (Answer, error) {
	switch r := r.(type) {
	case string:
		return Text(r), err
	case []byte:
		return Text(string(r)), err
	case chat.Part:
		return Answer{Parts: []chat.Part{r}}, err
	case []chat.Part:
		return Answer{Parts: r}, err
	case Answer:
		return r, err
	case struct{}:
		return Answer{}, err
	}
	if err != nil {
		return Answer{}, err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return Answer{}, fmt.Errorf("it ran, but what it returned can't be written as JSON: %w", err)
	}
	return Text(string(bytes.TrimSpace(text.Bytes()))), nil
}
