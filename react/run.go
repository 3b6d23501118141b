package react

import (
	"context"
	"fmt"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

// traits asks the tools what may be done with the calls.
func (d *driver) traits(calls []chat.Call) []session.Trait {
	if len(calls) == 0 {
		return nil
	}
	out := make([]session.Trait, len(calls))
	for i, c := range calls {
		out[i] = tool.Traits(d.scope, c)
	}
	return out
}

// callingFor is the flight that runs a call. The caller has the owner's role.
func (d *driver) callingFor(c calling) *flight {
	f := &flight{name: "tool " + c.call.Name}
	f.run = func(ctx context.Context) input {
		return resulted{fact: tool.Execute(ctx, tool.Job{
			Scope: d.scope, Session: d.id, Answer: c.answer, Index: c.index, Call: c.call, Trait: c.trait,
			Questions: c.questions, Started: d.starting(c), Ask: d.question, Keep: d.whole,
			Limits: tool.Limits{Grace: d.grace},
		})}
	}
	f.lost = func(panicked any) input {
		if panicked != nil {
			return resulted{fact: resultFor(c, chat.CodePanicked, fmt.Sprintf("the tool broke: %v", panicked))}
		}
		return resulted{fact: resultFor(c, chat.CodeAborted, "stopped while it ran, and it did not come back: it may have had effects")}
	}
	return f
}

// starting stores that a call begins.
func (d *driver) starting(c calling) func(context.Context, string) error {
	return func(ctx context.Context, arguments string) error {
		out, err := d.ask(ctx, started{fact: session.CallStarted{Answer: c.answer, Index: c.index, Arguments: arguments}})
		if err == nil && out.stale {
			err = errStopped
		}
		return err
	}
}

// question stores a question, unless it was, and waits for the reply.
func (d *driver) question(ctx context.Context, q session.Question) (session.Reply, error) {
	replied := make(chan session.Reply, 1)
	d.mu.Lock()
	if d.replies == nil {
		d.replies = map[string]chan session.Reply{}
	}
	d.replies[q.ID] = replied
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.replies, q.ID)
		d.mu.Unlock()
	}()
	var err error
	if q.Schema, err = compact(q.Schema); err != nil {
		return session.Reply{}, fmt.Errorf("question %s: schema: %w: %w", q.ID, agent.ErrInvalid, err)
	}
	out, err := d.ask(ctx, pose{fact: q})
	switch {
	case err != nil:
		return session.Reply{}, err
	case out.stale:
		return session.Reply{}, errStopped
	case out.reply != nil:
		return *out.reply, nil
	}
	select {
	case r := <-replied:
		return r, nil
	case <-ctx.Done():
		return session.Reply{}, context.Cause(ctx)
	}
}

// replied hands a reply to the call that waits for it. The caller holds mu.
func (d *driver) replied(r session.Reply) {
	if waiting, is := d.replies[r.ID]; is {
		select {
		case waiting <- r:
		default: // the first one counts
		}
	}
}

// whole keeps an output that is shown in parts.
func (d *driver) whole(ctx context.Context, data []byte) (tool.Kept, error) {
	blob, err := d.store.Put(ctx, d.id, data)
	if err != nil {
		return tool.Kept{}, fmt.Errorf("keep the whole output: %w: %w", agent.ErrStorage, err)
	}
	return tool.Kept{Blob: blob}, nil
}
