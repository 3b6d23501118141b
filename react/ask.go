package react

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
	"github.com/tack-agent/tack/session"
)

// history is the transcript as requests show it. It grows with the transcript,
// so that a request costs what is new and not what is old.
type history struct {
	items []model.Item
	epoch int
}

// extend takes in what the transcript has more.
func (h *history) extend(t *session.Transcript) []model.Item {
	all := t.Items()
	if h.epoch != t.Epoch() || len(h.items) > len(all) {
		*h = history{epoch: t.Epoch()}
	}
	for _, it := range all[len(h.items):] {
		h.items = append(h.items, model.Item{Message: it.Message, Answer: it.Answer, Result: it.Result})
	}
	return h.items[:len(h.items):len(h.items)]
}

// askingFor is the flight that puts the request of a step to the model. The
// caller has the owner's role.
func (d *driver) askingFor(a asking) *flight {
	items, header := d.items.extend(&d.m.talk.Transcript), d.m.Header
	epoch := d.items.epoch
	f := &flight{name: "model " + a.settings.Model}
	made := new(model.Assembler)
	f.run = func(ctx context.Context) input { return d.put(ctx, a, made, items, epoch, header) }
	f.lost = func(panicked any) input {
		if panicked == nil {
			return stoppedAt(a, made)
		}
		return failed{cause: a.cause, failure: session.Failure{Kind: "panic", Text: fmt.Sprint(panicked)}}
	}
	return f
}

// put asks the model and says what came of it.
func (d *driver) put(ctx context.Context, a asking, made *model.Assembler, items []model.Item, epoch int, header session.Header) input {
	request, m, err := d.request(ctx, a, items, epoch, header)
	if err != nil {
		return d.noAnswer(ctx, a, err)
	}
	attempt := d.live.begin(a.turn, a.step, a.attempt)
	finish, err := m.Ask(ctx, request, func(delta model.Delta) {
		made.Tell(delta)
		d.live.tell(attempt, delta)
	})
	d.live.finish(attempt)
	if err != nil && ctx.Err() != nil {
		return d.cutOff(ctx, a, made)
	}
	answer, err := made.End(finish, err)
	if err != nil {
		return d.noAnswer(ctx, a, err)
	}
	cost, _ := m.Info().Cost(answer.Usage)
	return answered{cause: a.cause, answer: answer, traits: d.traits(answer.Calls()), cost: cost}
}

// cutOff is what was streamed when the turn was stopped. When the agent is
// being closed nothing is said: whoever opens it next asks again.
func (d *driver) cutOff(ctx context.Context, a asking, made *model.Assembler) input {
	if errors.Is(context.Cause(ctx), errClosing) {
		return nil
	}
	return stoppedAt(a, made)
}

// stoppedAt is what was streamed, and the end of listening.
func stoppedAt(a asking, made *model.Assembler) input {
	answer, streamed := made.Stop()
	if !streamed {
		return dropped{cause: a.cause}
	}
	return answered{cause: a.cause, answer: answer}
}

// noAnswer asks policy what a failure means: ask again, now or later, after a
// replacement of history where it was too long, or give up.
func (d *driver) noAnswer(ctx context.Context, a asking, err error) input {
	if ctx.Err() != nil {
		return d.cutOff(ctx, a, &model.Assembler{})
	}
	why := model.FailureOf(err)
	out := failed{cause: a.cause, failure: session.Failure{Kind: string(why.Kind), Text: err.Error()}}
	told := *why
	if told.Text == "" {
		told.Text = err.Error()
	}
	told.Err = nil // hooks get data
	verdict, err := model.Failed.Ask(ctx, d.scope, model.FailedInput{
		Key: fmt.Sprintf("%s/%d", d.id, a.cause), Session: string(d.id), Turn: a.turn, Step: a.step,
		Attempt: a.attempt, Failure: told,
	}, func(context.Context, model.FailedInput) (model.FailedAnswer, error) { return model.FailedAnswer{}, nil })
	switch {
	case err != nil:
		out.failure.Text += "; and the hooks for failures broke: " + err.Error()
		return out
	case why.Kind == model.FailureTooLong && !verdict.Again:
		return d.shorten(ctx, a, out)
	}
	out.again = verdict.Again
	if verdict.After > 0 {
		out.at = d.world.Now().Add(verdict.After)
	}
	return out
}

// shorten asks for a replacement because the request was too long.
func (d *driver) shorten(ctx context.Context, a asking, out failed) input {
	made, err := d.maintain(ctx, agent.MaintenanceInput{
		Key: fmt.Sprintf("%s/%d", d.id, a.cause), Session: d.id, Turn: a.turn, Step: a.step, Failure: &out.failure,
	})
	if err == nil && made != nil {
		out.again, out.replaced = true, made
	}
	return out
}

// request builds the request of a step from the log, and finds who is asked.
// Hooks may change the model, its parameters and the format; nothing else.
func (d *driver) request(ctx context.Context, a asking, items []model.Item, epoch int, header session.Header) (*model.Request, model.Model, error) {
	top, err := d.read(ctx, header)
	if err != nil {
		return nil, nil, err
	}
	choice := model.Asked{Model: a.settings.Model, Format: top.format}
	if choice.Parameters, err = model.ParseParameters(a.settings.Parameters); err != nil {
		return nil, nil, &model.Failure{Kind: model.FailureInvalid, Err: err}
	}
	if model.Asking.Any(d.scope) {
		in := model.AskingInput{Key: fmt.Sprintf("%s/%d", d.id, a.cause), Session: string(d.id), Turn: a.turn, Step: a.step, Attempt: a.attempt, Asked: choice}
		choice, err = model.Asking.Ask(ctx, d.scope, in, func(_ context.Context, in model.AskingInput) (model.Asked, error) { return in.Asked, nil })
		if err != nil {
			return nil, nil, err
		}
	}
	find, found := model.Source.Get(d.scope)
	if !found {
		return nil, nil, &model.Failure{Kind: model.FailureInvalid, Text: "no models are registered: provide model.Source"}
	}
	m, err := find(ctx, choice.Model)
	if err != nil {
		return nil, nil, err
	}
	return &model.Request{
		Model: cmp.Or(choice.Model, m.Name()), Parameters: choice.Parameters, Format: choice.Format,
		System: top.system, Tools: top.tools, Items: items,
		Session: string(d.id), Epoch: epoch,
		Blobs: func(ctx context.Context, b chat.Blob) ([]byte, error) { return d.store.Blob(ctx, d.id, b.Digest) },
	}, m, nil
}
