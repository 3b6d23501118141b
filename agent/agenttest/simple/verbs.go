package simple

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func (a *running) Followup(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return a.deliver(ctx, session.Followup, m)
}

func (a *running) Steer(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return a.deliver(ctx, session.Steer, m)
}

func (a *running) Inject(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return a.deliver(ctx, session.Inject, m)
}

func (a *running) deliver(ctx context.Context, v session.Verb, m chat.Message) (agent.Receipt, error) {
	m, err := agent.Ready(v, m, a.world.NewID)
	if err != nil {
		return agent.Receipt{}, err
	}
	digest := m.Digest()
	var receipt agent.Receipt
	err = a.call(ctx, func(u *unit) (err error) {
		receipt, err = u.accepted(v, m, digest)
		return err
	})
	switch {
	case errors.Is(err, session.ErrExists):
		first, seq, err := agent.First(ctx, a.log.Store(), a.ID(), m.ID)
		if err != nil {
			return agent.Receipt{}, err
		}
		return agent.Replay(first, seq, v, digest)
	case errors.Is(err, agent.ErrUncertain):
		return agent.Receipt{}, &agent.UncertainError{ID: m.ID, Err: err}
	case err != nil:
		return agent.Receipt{}, err
	}
	return receipt, nil
}

// Status is what is stored.
func (a *running) Status(context.Context) (agent.Status, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status, a.useless()
}

// Cancel stops the turn before it stores anything.
func (a *running) Cancel(ctx context.Context, s agent.Stop) (agent.Stopped, error) {
	if s.Cause == "" {
		s.Cause = session.CauseHost
	}
	if !s.Cause.Valid() {
		return agent.Stopped{}, fmt.Errorf("cancel: cause: %w: %q", agent.ErrInvalid, s.Cause)
	}
	if err := ctx.Err(); err != nil {
		return agent.Stopped{}, err
	}
	said := make(chan told, 1)
	a.mu.Lock()
	if err := a.useless(); err != nil {
		a.mu.Unlock()
		return agent.Stopped{}, err
	}
	a.stops = append(a.stops, &stop{Stop: s, told: said})
	if a.endTurn != nil {
		a.endTurn()
	}
	a.mu.Unlock()
	err := a.call(ctx, func(*unit) error { return nil })
	select {
	case t := <-said:
		return t.stopped, t.err
	default:
		return agent.Stopped{}, err
	}
}

// Resume lets parked messages run.
func (a *running) Resume(ctx context.Context) error {
	return a.call(ctx, func(u *unit) error {
		if len(u.talk.Inbox.Parked()) > 0 {
			u.add(session.Released{By: session.ReleaseResume})
		}
		return nil
	})
}

// Withdraw takes a pending message back.
func (a *running) Withdraw(ctx context.Context, id string) (agent.Fate, error) {
	err := a.call(ctx, func(u *unit) error {
		if u.talk.Inbox.Get(id) != nil {
			u.add(session.Withdrawn{ID: id})
		}
		return nil
	})
	if err != nil {
		return agent.Fate{}, err
	}
	return agent.FateOf(ctx, a.log.Store(), a.ID(), id)
}

// Amend replaces the parts of a pending message.
func (a *running) Amend(ctx context.Context, id string, parts []chat.Part) (agent.Fate, error) {
	if err := chat.ValidateParts(parts); err != nil {
		return agent.Fate{}, fmt.Errorf("amend %s: %w: %w", id, agent.ErrInvalid, err)
	}
	parts = chat.CloneParts(parts)
	err := a.call(ctx, func(u *unit) error {
		p := u.talk.Inbox.Get(id)
		if p == nil {
			return nil
		}
		if err := u.fits(p.Verb, *p.Amended(parts).Message, session.Room{Count: 1, Bytes: p.Size}); err != nil {
			return err
		}
		u.add(session.Amended{ID: id, Parts: parts})
		return nil
	})
	if err != nil {
		return agent.Fate{}, err
	}
	return agent.FateOf(ctx, a.log.Store(), a.ID(), id)
}

// Reply finds no open question: nobody asks any here.
func (a *running) Reply(ctx context.Context, r session.Reply) (agent.QuestionFate, error) {
	if err := a.call(ctx, func(*unit) error { return nil }); err != nil {
		return agent.QuestionFate{}, err
	}
	return agent.QuestionFateOf(ctx, a.log.Store(), a.ID(), r.ID)
}

// Record appends a plugin's fact.
func (a *running) Record(ctx context.Context, n session.Noted) (session.Seq, error) {
	if err := n.Validate(); err != nil {
		return 0, fmt.Errorf("record: %w: %w", agent.ErrInvalid, err)
	}
	var seq session.Seq
	err := a.call(ctx, func(u *unit) error {
		u.add(n)
		seq = u.head
		return nil
	})
	return seq, err
}

// Watch tells nothing, until the agent or the context ends.
func (a *running) Watch(ctx context.Context) iter.Seq[agent.Delta] {
	return func(func(agent.Delta) bool) {
		select {
		case <-ctx.Done():
		case <-a.base.Done():
		}
	}
}
