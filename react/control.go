package react

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// Followup asks for a turn of its own.
func (d *driver) Followup(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return d.deliver(ctx, session.Followup, m)
}

// Steer asks for the nearest step.
func (d *driver) Steer(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return d.deliver(ctx, session.Steer, m)
}

// Inject hands m to the nearest step and lets the agent sleep.
func (d *driver) Inject(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return d.deliver(ctx, session.Inject, m)
}

func (d *driver) deliver(ctx context.Context, v session.Verb, m chat.Message) (agent.Receipt, error) {
	m, err := agent.Ready(v, m, d.world.NewID)
	if err != nil {
		return agent.Receipt{}, err
	}
	digest := m.Digest()
	if err := d.set(ctx, string(v)+" "+m.ID, m.Parts); err != nil {
		return agent.Receipt{}, err
	}
	out, err := d.ask(ctx, deliver{verb: v, message: m, digest: digest})
	switch {
	case errors.Is(err, agent.ErrUncertain):
		return agent.Receipt{}, &agent.UncertainError{ID: m.ID, Err: err}
	case errors.Is(err, agent.ErrFull), err == nil && out.absent:
		return d.replay(ctx, v, m.ID, digest, err)
	default:
		return out.receipt, err
	}
}

// replay answers from the log for an id that was accepted before. There may be
// no room for a message that needs none.
func (d *driver) replay(ctx context.Context, v session.Verb, id string, digest chat.Digest, full error) (agent.Receipt, error) {
	first, seq, err := agent.First(ctx, d.store, d.id, id)
	switch {
	case full != nil && errors.Is(err, agent.ErrUnknown):
		return agent.Receipt{}, full
	case err != nil:
		return agent.Receipt{}, fmt.Errorf("%s %s: %w", v, id, err)
	default:
		return agent.Replay(first, seq, v, digest)
	}
}

// Cancel stops the running turn. Before anything is stored, and whatever the
// store says, the turn's work is told to end and none begins.
func (d *driver) Cancel(ctx context.Context, s agent.Stop) (agent.Stopped, error) {
	if s.Cause == "" {
		s.Cause = session.CauseHost
	}
	if !s.Cause.Valid() {
		return agent.Stopped{}, fmt.Errorf("cancel: cause: %w: %q is unknown", agent.ErrInvalid, s.Cause)
	}
	out, err := d.ask(ctx, cancel{cause: s.Cause, reason: s.Reason, keep: s.KeepInbox})
	return out.stopped, err
}

// Resume lets parked messages run.
func (d *driver) Resume(ctx context.Context) error {
	_, err := d.ask(ctx, resume{})
	return err
}

// Withdraw takes a pending message back.
func (d *driver) Withdraw(ctx context.Context, id string) (agent.Fate, error) {
	return d.change(ctx, id, withdraw{id: id})
}

// Amend replaces the parts of a pending message.
func (d *driver) Amend(ctx context.Context, id string, parts []chat.Part) (agent.Fate, error) {
	if err := chat.ValidateParts(parts); err != nil {
		return agent.Fate{}, fmt.Errorf("amend %s: %w: %w", id, agent.ErrInvalid, err)
	}
	parts = chat.CloneParts(parts)
	if err := d.set(ctx, "amend "+id, parts); err != nil {
		return agent.Fate{}, err
	}
	return d.change(ctx, id, amend{id: id, parts: parts})
}

// change asks for a change of a pending message. If it isn't pending, its fate
// is in the log.
func (d *driver) change(ctx context.Context, id string, in input) (agent.Fate, error) {
	out, err := d.ask(ctx, in)
	switch {
	case err != nil:
		return agent.Fate{}, err
	case out.absent:
		return agent.FateOf(ctx, d.store, d.id, id)
	default:
		return out.fate, nil
	}
}

// Reply answers a question; the first reply counts.
func (d *driver) Reply(ctx context.Context, r session.Reply) (agent.QuestionFate, error) {
	if r.By == (chat.Source{}) {
		r.By = chat.User()
	}
	var err error
	if r.Data, err = compact(r.Data); err != nil {
		return agent.QuestionFate{}, fmt.Errorf("reply to %s: data: %w: %w", r.ID, agent.ErrInvalid, err)
	}
	if _, err := d.ask(ctx, reply{fact: r}); err != nil {
		return agent.QuestionFate{}, err
	}
	return agent.QuestionFateOf(ctx, d.store, d.id, r.ID)
}

// Record appends a plugin's fact.
func (d *driver) Record(ctx context.Context, n session.Noted) (session.Seq, error) {
	if err := n.Validate(); err != nil {
		return 0, fmt.Errorf("record: %w: %w", agent.ErrInvalid, err)
	}
	var err error
	if n.Data, err = compact(n.Data); err != nil {
		return 0, fmt.Errorf("record %s: %w: %w", n.Kind, agent.ErrInvalid, err)
	}
	n.Finds = slices.Clone(n.Finds)
	out, err := d.ask(ctx, note{fact: n})
	if err == nil && out.absent {
		err = fmt.Errorf("record %s: %w: its key %q is claimed", n.Kind, agent.ErrConflict, n.Key)
	}
	return out.receipt.Seq, err
}

// Configure changes the settings from the next step on.
func (d *driver) Configure(ctx context.Context, c session.Configured) error {
	c, err := settings(c)
	if err != nil {
		return err
	}
	_, err = d.ask(ctx, configure{fact: c})
	return err
}

// Replace puts messages in the place of a range of history.
func (d *driver) Replace(ctx context.Context, r session.Replaced) error {
	r, err := d.replacement(ctx, r)
	if err != nil {
		return err
	}
	_, err = d.ask(ctx, replace{fact: r})
	return err
}

// WaitIdle returns when no turn is open.
func (d *driver) WaitIdle(ctx context.Context) error {
	if inside(ctx, d.id) {
		return fmt.Errorf("wait for agent %s to be idle: %w", d.id, agent.ErrSelfWait)
	}
	d.mu.Lock()
	if err := d.closed(); err != nil || d.idle() {
		d.mu.Unlock()
		return err
	}
	idler := make(chan struct{})
	d.idlers = append(d.idlers, idler)
	d.mu.Unlock()
	select {
	case <-idler:
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.fault
	case <-d.gone:
		return agent.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// idle says that no turn is open and nothing that waits may open one. The
// caller holds mu.
func (d *driver) idle() bool {
	return !d.owned && len(d.queue)+len(d.fallen)+len(d.cancels) == 0 && d.status.State == agent.Idle
}

// settled tells who waits for the agent to be idle, or to be quiet when it is
// closing. The caller holds mu.
func (d *driver) settled() {
	if d.idle() {
		for _, c := range d.idlers {
			close(c)
		}
		d.idlers = nil
	}
	if d.quiet != nil && len(d.flights) == 0 && (d.last || len(d.strays) == 0) && len(d.queue)+len(d.fallen) == 0 {
		close(d.quiet)
		d.quiet = nil
	}
}
