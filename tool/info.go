package tool

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

var (
	errNobody = errors.New("nobody can be asked here")
	errOver   = errors.New("the call is over") // for bodies that are no longer heard
)

type infoKey struct{}

// Info is what a body may need beside its arguments. It serves as long as the
// body runs.
type Info struct{ call *call }

// From finds it in a body's context. It is never nil; outside of a call it
// knows nothing and can ask nobody.
func From(ctx context.Context) *Info {
	if i, is := ctx.Value(infoKey{}).(*Info); is {
		return i
	}
	return &Info{}
}

// Scope is the agent's: through it a body finds the services it needs.
func (i *Info) Scope() *plugin.Scope {
	if i.call == nil {
		return nil
	}
	return i.call.Scope
}

// Session is the agent's.
func (i *Info) Session() session.ID {
	if i.call == nil {
		return ""
	}
	return i.call.Session
}

// Call is the provider's id of the call.
func (i *Info) Call() string {
	if i.call == nil {
		return ""
	}
	return i.call.Call.ID
}

// Key is unique to the call, for ever, and the same if the call is repeated
// after a crash.
func (i *Info) Key() string {
	if i.call == nil {
		return ""
	}
	return string(i.call.Session) + "/" + i.call.id()
}

// Query is something a body wants to know from a person.
type Query struct {
	Kind    session.QuestionKind // empty: session.QuestionText
	Text    string
	Options []string
	Schema  json.RawMessage // of an elicitation's values
}

// Ask asks a person and waits for the reply; the call's time stands still. In a
// call repeated after a crash, a query that was asked before has the reply it
// got, or waits for it.
func (i *Info) Ask(ctx context.Context, q Query) (session.Reply, error) {
	c := i.call
	switch {
	case c == nil:
		return session.Reply{}, errNobody
	case c.over.Load():
		return session.Reply{}, errOver
	}
	if q.Kind == "" {
		q.Kind = session.QuestionText
	}
	defer c.clock.pause()()
	return c.ask(ctx, session.Question{
		ID: c.number(q), Kind: q.Kind, Text: q.Text, Options: q.Options, Schema: q.Schema,
		Answer: c.Answer, Index: c.Index,
	})
}

// number finds the id of the body's next question: that under which the same
// was asked before, or one that is free.
func (c *call) number(q Query) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		c.posed++
		id := c.questionID(c.posed)
		if stored := c.stored(id); stored == nil || q.same(&stored.Question) {
			return id
		}
	}
}

func (q Query) same(s *session.Question) bool {
	return q.Kind == s.Kind && q.Text == s.Text && slices.Equal(q.Options, s.Options) && string(q.Schema) == string(s.Schema)
}
