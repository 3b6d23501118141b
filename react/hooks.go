package react

import (
	"context"
	"errors"
	"fmt"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/prompt"
	"github.com/tack-agent/tack/session"
)

// consulting is the flight that maintains the history, asks the hooks about a
// batch and renders the header. The caller has the owner's role.
func (d *driver) consulting(c consultation) *flight {
	look := peek{
		key:    fmt.Sprintf("%s/%d", d.id, c.cause),
		header: d.m.Header, settings: d.m.settings(),
	}
	if !c.maintained && agent.Maintenance.Any(d.scope) {
		look.maintain = true
		look.history = d.m.talk.Transcript.Items()
	}
	if agent.Entering.Any(d.scope) || prompt.AnyFact(d.scope) {
		look.placed = d.placed()
	}
	f := &flight{name: "hooks of agent.entering"}
	f.run = func(ctx context.Context) input { return d.consult(ctx, c, look) }
	f.lost = func(panicked any) input {
		return consulted{cause: c.cause, failure: &session.Failure{Kind: "hook", Text: fmt.Sprint(panicked)}}
	}
	return f
}

// peek is what a consultation needs of the machine's state.
type peek struct {
	key      string
	header   session.Header
	settings session.Configured
	maintain bool // the history is to be looked at first
	history  []session.Item
	placed   []chat.Message
}

func (d *driver) consult(ctx context.Context, c consultation, look peek) input {
	if look.maintain {
		made, err := d.maintain(ctx, agent.MaintenanceInput{
			Key: look.key, Session: d.id, Turn: c.turn, Step: c.step, Items: entries(look.history),
		})
		if err != nil {
			return consulted{cause: c.cause, failure: broke(err)}
		}
		if made != nil {
			return maintained{cause: c.cause, fact: *made}
		}
	}
	out := consulted{cause: c.cause}
	said, err := agent.Entering.Ask(ctx, d.scope, d.entering(c, look), letIn)
	if err == nil {
		err = d.admit(ctx, &out, said)
	}
	if err == nil && out.stop == nil {
		err = d.prepare(ctx, &out, look)
	}
	if err != nil {
		out.failure = broke(err)
	}
	return out
}

// prepare adds the facts that have changed since they were shown, and renders
// the header.
func (d *driver) prepare(ctx context.Context, out *consulted, look peek) error {
	in := prompt.Input{Session: string(d.id), Model: look.settings.Model, Mode: look.settings.Mode}
	changes, err := prompt.Changes(ctx, d.scope, in, look.placed)
	if err != nil {
		return err
	}
	if changes, err = d.born(ctx, changes); err != nil {
		return err
	}
	out.before = append(changes, out.before...)
	out.header, err = d.render(ctx, in, look)
	return err
}

func (d *driver) entering(c consultation, look peek) agent.EnteringInput {
	in := agent.EnteringInput{
		Key: look.key, Session: d.id, Turn: c.turn, Step: c.step, Results: c.results, Placed: look.placed,
	}
	for _, p := range c.batch {
		in.Batch = append(in.Batch, agent.Peeked{Verb: p.Verb, Seq: p.Seq, Message: p.Message.Clone()})
	}
	return in
}

// letIn is the answer without hooks.
func letIn(_ context.Context, in agent.EnteringInput) (agent.EnteringAnswer, error) {
	var out agent.EnteringAnswer
	for _, p := range in.Batch {
		out.Rulings = append(out.Rulings, agent.Ruling{ID: p.Message.ID, Verdict: agent.Enter})
	}
	return out, nil
}

// verdicts are the hooks' words in the machine's.
var verdicts = map[agent.Verdict]verdict{agent.Enter: enter, agent.Refuse: refuse, agent.Take: take}

// admit takes over what the entering hooks said, which comes from outside and
// is checked.
func (d *driver) admit(ctx context.Context, out *consulted, said agent.EnteringAnswer) error {
	for _, r := range said.Rulings {
		what, known := verdicts[r.Verdict]
		if !known {
			return fmt.Errorf("the ruling on message %s is %q, which is none of enter, refuse, take", r.ID, r.Verdict)
		}
		if r.Parts != nil {
			r.Parts = chat.CloneParts(r.Parts)
			err := chat.ValidateParts(r.Parts)
			if err == nil {
				err = d.set(ctx, "the ruling on message "+r.ID, r.Parts)
			}
			if err != nil {
				return fmt.Errorf("the ruling on message %s: %w", r.ID, err)
			}
		}
		out.rulings = append(out.rulings, ruling{id: r.ID, what: what, parts: r.Parts, hook: r.Hook, reason: r.Reason})
	}
	var err error
	if out.before, err = d.born(ctx, said.Before); err != nil {
		return err
	}
	if out.after, err = d.born(ctx, said.After); err != nil {
		return err
	}
	if said.Stop != nil {
		out.stop = &stop{hook: said.Stop.Hook, reason: said.Stop.Reason}
	}
	return nil
}

// born makes messages that hooks add: they have ids of the host's and are from
// plugins.
func (d *driver) born(ctx context.Context, added []chat.Message) ([]chat.Message, error) {
	var out []chat.Message
	for i, m := range added {
		if m.Source.Kind != chat.SourcePlugin {
			return nil, fmt.Errorf("added message %d is from a %q: what hooks add is from a plugin", i, m.Source.Kind)
		}
		m.ID = ""
		m, err := agent.Ready("add", m, d.world.NewID)
		if err == nil {
			err = d.set(ctx, "add", m.Parts)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// maintain asks the maintenance hooks; nil means that nothing is replaced.
func (d *driver) maintain(ctx context.Context, in agent.MaintenanceInput) (*session.Replaced, error) {
	said, err := agent.Maintenance.Ask(ctx, d.scope, in,
		func(context.Context, agent.MaintenanceInput) (agent.MaintenanceAnswer, error) {
			return agent.MaintenanceAnswer{}, nil
		})
	if err != nil || said.Replaced == nil {
		return nil, err
	}
	made, err := d.replacement(ctx, *said.Replaced)
	return &made, err
}

func entries(items []session.Item) []agent.MaintenanceEntry {
	out := make([]agent.MaintenanceEntry, 0, len(items))
	for _, it := range items {
		out = append(out, agent.MaintenanceEntry{From: it.From, To: it.To, Message: it.Message, Answer: it.Answer, Result: it.Result})
	}
	return out
}

// broke says which hook failed.
func broke(err error) *session.Failure {
	f := &session.Failure{Kind: "hook", Text: err.Error()}
	var hook *plugin.HookError
	if errors.As(err, &hook) {
		f.Hook = hook.Hook
	}
	return f
}

// placed lists the last message that hooks added of each source, in the order
// of their sources' first appearance.
func (d *driver) placed() []chat.Message {
	var out []chat.Message
	at := map[chat.Source]int{}
	for _, it := range d.m.talk.Transcript.Items() {
		if it.Kind != session.ItemAdded {
			continue
		}
		if i, known := at[it.Message.Source]; known {
			out[i] = *it.Message
			continue
		}
		at[it.Message.Source] = len(out)
		out = append(out, *it.Message)
	}
	return out
}

// endingOf is the flight that asks the stopping hooks. The caller has the
// owner's role.
func (d *driver) endingOf(e ending) *flight {
	in := agent.StoppingInput{
		Key: fmt.Sprintf("%s/%d", d.id, e.cause), Session: d.id, Turn: e.turn, Steps: d.m.Turn.Step,
	}
	if a := d.m.talk.Transcript.LastAnswer(); a != nil {
		in.Answer = *a
	}
	f := &flight{name: "hooks of agent.stopping"}
	f.run = func(ctx context.Context) input {
		said, err := agent.Stopping.Ask(ctx, d.scope, in,
			func(context.Context, agent.StoppingInput) (agent.StoppingAnswer, error) {
				return agent.StoppingAnswer{}, nil
			})
		if err != nil {
			d.scope.Log().Warn("a stopping hook broke; the turn ends", "turn", e.turn, "error", err)
			return ended{cause: e.cause}
		}
		return ended{cause: e.cause, objections: d.objections(said)}
	}
	f.lost = func(any) input { return ended{cause: e.cause} }
	return f
}

func (d *driver) objections(said agent.StoppingAnswer) []chat.Message {
	var out []chat.Message
	for _, o := range said.Objections {
		m := chat.Say(o.Text).From(chat.Plugin(o.Hook)).As(d.world.NewID())
		if m.Validate() == nil {
			out = append(out, m)
		}
	}
	return out
}
