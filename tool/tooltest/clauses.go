package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

func (t *trial) sound() {
	if strings.TrimSpace(t.tool.Description()) == "" {
		t.broken("the description of %s is empty", t.tool.Name())
	}
}

func (t *trial) schema() {
	text := t.tool.Schema()
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil || !bytes.Equal(compact.Bytes(), text) {
		t.broken("the schema is not compact JSON (%v): %s", err, text)
	}
	if !bytes.Equal(text, t.tool.Schema()) {
		t.broken("the schema was %s, then %s", text, t.tool.Schema())
	}
	var s struct {
		Type       string
		Properties map[string]struct{ Description string }
		Required   []string
	}
	if err := json.Unmarshal(text, &s); err != nil || s.Type != "object" {
		t.broken("the schema is not that of an object (%v): %s", err, text)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if s.Properties[name].Description == "" {
			t.broken("the argument %q has no description", name)
		}
	}
	for _, name := range s.Required {
		if _, known := s.Properties[name]; !known {
			t.broken("the argument %q is required but not described", name)
		}
	}
}

func (t *trial) examples() {
	for _, c := range t.cases {
		_, err := t.tool.Check(c.Arguments)
		if misfit := c.Code == chat.CodeArguments; err != nil && !misfit {
			t.broken("%s: %s: %v", c.Name, c.Arguments, err)
		}
	}
}

func (t *trial) results() {
	for _, c := range t.ending() {
		r := t.run(c)
		got := r.result.Result
		if got.Code != c.Code {
			t.broken("%s: got code %q, want %q: %s", c.Name, got.Code, c.Code, chat.PlainText(got.Parts))
			continue
		}
		if r.raw.Code != chat.CodeOK && strings.TrimSpace(chat.PlainText(r.raw.Parts)) == "" {
			t.broken("%s: a failure without a word of what to do about it", c.Name)
		}
		if c.Check == nil {
			continue
		}
		if err := c.Check(got); err != nil {
			t.broken("%s: %v", c.Name, err)
		}
	}
}

// nonsense is what no object of arguments can be.
func nonsense() []string {
	return []string{
		`{`, `}`, `[]`, `null`, `"text"`, `1`, `{"a":}`, `{"a":1}{`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", "\x00",
		strings.Repeat(`{"a":`, 2000), strings.Repeat("[", 100000),
	}
}

// glance is how long a call with spoilt arguments is let run: some hang then.
const glance = 100 * time.Millisecond

func (t *trial) malformed() {
	for _, text := range nonsense() {
		r, _ := t.within(Case{Arguments: text}, glance)
		if code := r.result.Result.Code; code != chat.CodeArguments {
			t.broken("the arguments %.40q came to code %q, want %q", text, code, chat.CodeArguments)
		}
	}
	for _, c := range t.ending() {
		for _, text := range t.spoilt(c.Arguments) {
			// What still fits the schema may run, fail or hang, as the tool likes.
			r, _ := t.within(Case{Arguments: text, Prepare: c.Prepare, Reply: c.Reply}, glance)
			if got := r.result.Result; got.Code == chat.CodePanicked {
				t.broken("%s, with the arguments %s: %s", c.Name, text, chat.PlainText(got.Parts))
			}
		}
	}
}

// spoilt are the arguments with one of them missing, of another type, empty,
// or one too many.
func (t *trial) spoilt(arguments string) []string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &object) != nil {
		object = map[string]json.RawMessage{}
	}
	var out []string
	with := func(name, value string) {
		changed := maps.Clone(object)
		if changed[name] = json.RawMessage(value); value == "" {
			delete(changed, name)
		}
		if text, err := json.Marshal(changed); err == nil {
			out = append(out, string(text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		for _, value := range []string{"", `null`, `""`, `"\u0000"`, `0`, `-1`, `1e18`, `true`, `[]`, `{}`, `[null]`} {
			with(name, value)
		}
	}
	with("argument nobody knows", `1`)
	return out
}

func (t *trial) traits() {
	texts := nonsense()
	for _, c := range t.cases {
		texts = append(append(texts, c.Arguments), t.spoilt(c.Arguments)...)
	}
	for _, text := range texts {
		if a, b := t.tool.Traits(text), t.tool.Traits(text); a != b {
			t.broken("the arguments %.80q had the traits %+v, then %+v", text, a, b)
		}
	}
}

func (t *trial) text() {
	for _, c := range t.ending() {
		r := t.run(c)
		for i, p := range r.raw.Parts {
			if p.Kind == chat.PartText && p.Text == "" {
				continue // is left out
			}
			if err := chat.ValidateParts([]chat.Part{p}); err != nil {
				t.broken("%s: part %d of the answer: %v", c.Name, i, err)
			}
		}
	}
}

func (t *trial) data() {
	for _, c := range t.ending() {
		r := t.run(c)
		if err := same(r.raw); err != nil {
			t.broken("%s: %v", c.Name, err)
		}
		if err := same(r.result); err != nil {
			t.broken("%s: %v", c.Name, err)
		}
	}
}

// same says how a value differs after JSON there and back. Nothing and a list
// of nothing are the same.
func same[V tool.Answer | session.Resulted](v V) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("it can't be written as JSON: %w", err)
	}
	var back V
	if err := json.Unmarshal(text, &back); err != nil {
		return fmt.Errorf("it can't be read back: %w", err)
	}
	again, err := json.Marshal(back)
	if err != nil || !bytes.Equal(text, again) {
		return errors.Join(fmt.Errorf("%s came back as %s", text, again), err)
	}
	if a, isAnswer := any(v).(tool.Answer); isAnswer && len(a.Parts) > 0 && !reflect.DeepEqual(v, back) {
		return fmt.Errorf("%+v came back as %+v", v, back)
	}
	return nil
}

func (t *trial) cancel() {
	for _, c := range t.cases {
		if c.Prepare != nil {
			c.Prepare()
		}
		t.stopped(c)
		if c.Hangs {
			t.interrupted(c)
		}
	}
}

// stopped runs the body under a context that has ended: it must not go on for
// long, whatever it makes of it.
func (t *trial) stopped(c Case) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		_, _ = t.tool.Run(ctx, c.Arguments)
	}()
	select {
	case panicked := <-ended:
		if panicked != nil {
			t.broken("%s: it panicked when it was stopped before: %v", c.Name, panicked)
		}
	case <-time.After(c.Patience):
		t.broken("%s: stopped before, it still runs after %s", c.Name, c.Patience)
	}
}

// interrupted stops a call that hangs.
func (t *trial) interrupted(c Case) {
	if c.Prepare != nil {
		c.Prepare()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := t.start(ctx, c)
	inside := c.Inside
	if inside == nil {
		inside = r.begins
	}
	patience := time.NewTimer(c.Patience)
	defer patience.Stop()
	select {
	case <-inside:
	case <-r.ends:
		t.broken("%s: it should hang, but it ended: %s", c.Name, chat.PlainText(r.result.Result.Parts))
		return
	case <-patience.C:
		t.broken("%s: it isn't where it hangs after %s", c.Name, c.Patience)
		return
	}
	cancel()
	patience.Reset(c.Patience)
	select {
	case <-r.ends:
	case <-patience.C:
		t.broken("%s: stopped, it still runs after %s", c.Name, c.Patience)
		return
	}
	if code := r.result.Result.Code; code != chat.CodeAborted {
		t.broken("%s: stopped, it came to code %q, want %q: return the context's error", c.Name, code, chat.CodeAborted)
	}
}

func (t *trial) repeatable() {
	for _, c := range t.ending() {
		if !t.tool.Traits(c.Arguments).Repeatable || c.Effect == nil {
			continue
		}
		once := t.run(c).result.Result
		first := c.Effect()
		c.Prepare = nil
		twice := t.run(c).result.Result
		if then := c.Effect(); then != first {
			t.broken("%s: after one run: %s\n\tafter two: %s", c.Name, first, then)
		}
		if once.Code != twice.Code {
			t.broken("%s: it came to code %q, then %q: %s", c.Name, once.Code, twice.Code, chat.PlainText(twice.Parts))
		}
	}
}

func (t *trial) beside() {
	const many = 8
	for _, c := range t.ending() {
		if !t.tool.Traits(c.Arguments).Beside {
			continue
		}
		if c.Prepare != nil {
			c.Prepare()
			c.Prepare = nil // not between them
		}
		var all sync.WaitGroup
		results := make([]chat.Result, many)
		for i := range many {
			all.Go(func() { results[i] = t.run(c).result.Result })
		}
		all.Wait()
		for _, got := range results {
			if got.Code != c.Code {
				t.broken("%s: one of %d came to code %q, want %q: %s", c.Name, many, got.Code, c.Code, chat.PlainText(got.Parts))
			} else if c.Check != nil && c.Check(got) != nil {
				t.broken("%s: one of %d: %v", c.Name, many, c.Check(got))
			}
		}
	}
}
