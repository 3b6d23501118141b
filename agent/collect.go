package agent

import (
	"context"
	"fmt"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// Collected is what came of an interval: from a message's acceptance until the
// agent was idle.
type Collected struct {
	Receipt Receipt
	Fate    Fate
	// Events are those from the acceptance on.
	Events []session.Event
	// Ended is how the turn ended that the message was placed in; nil if it was
	// placed in none, or that turn is still open.
	Ended *session.TurnEnded
	// Text is the last thing said aloud in that turn.
	Text string
}

// Collect hands over a message, waits until the agent is idle, and gathers what
// happened. Whoever owns the interval calls it; others' messages in it are in
// the events too.
func Collect(ctx context.Context, a Agent, j session.Journal, v session.Verb, m chat.Message) (Collected, error) {
	receipt, err := Deliver(ctx, a, v, m)
	if err != nil {
		return Collected{}, err
	}
	c := Collected{Receipt: receipt}
	if err := a.WaitIdle(ctx); err != nil {
		return c, err
	}
	for e, err := range session.Events(ctx, j, a.ID(), receipt.Seq-1) {
		if err != nil {
			return c, fmt.Errorf("collect message %s: %w", receipt.ID, err)
		}
		c.Events = append(c.Events, e)
	}
	if c.Fate, err = FateOf(ctx, j, a.ID(), receipt.ID); err != nil {
		return c, err
	}
	c.gather()
	return c, nil
}

// gather finds the end and the last words of the message's turn.
func (c *Collected) gather() {
	if c.Fate.Turn == 0 {
		return
	}
	for _, e := range c.Events {
		switch f := e.Fact.(type) {
		case session.Answered:
			if text := f.Answer.Text(); f.Turn == c.Fate.Turn && text != "" {
				c.Text = text
			}
		case session.TurnEnded:
			if f.Turn == c.Fate.Turn {
				c.Ended = &f
			}
		}
	}
}

// Deliver calls the method of r that v names.
func Deliver(ctx context.Context, r Recipient, v session.Verb, m chat.Message) (Receipt, error) {
	switch v {
	case session.Followup:
		return r.Followup(ctx, m)
	case session.Steer:
		return r.Steer(ctx, m)
	case session.Inject:
		return r.Inject(ctx, m)
	default:
		return Receipt{}, fmt.Errorf("deliver message %q: %w: the verb %q is none of %q, %q, %q",
			m.ID, ErrInvalid, v, session.Followup, session.Steer, session.Inject)
	}
}
