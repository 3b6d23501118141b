package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// Reach is Open, or where another process owns the session, its agent by the
// Link for its address. Without such a link the *session.NotOwnerError is the
// answer.
func (h *Host) Reach(ctx context.Context, id session.ID, mode session.OpenMode) (agent.Agent, error) {
	a, err := h.Open(ctx, id, mode)
	if err == nil {
		return a, nil
	}
	var other *session.NotOwnerError
	if !errors.As(err, &other) {
		return nil, err
	}
	link := linkFor(h.scope, other.Owner.Address)
	if link == nil {
		return nil, err
	}
	there, failed := link.Dial(ctx, other.Owner.Address, id)
	if failed != nil {
		return nil, fmt.Errorf("reach session %s at %s: %w", id, other.Owner.Address, failed)
	}
	return there, nil
}

// Agent is a handle on a session's agent for as long as the host is. Each call
// reaches the agent as Reach does, to go on with its work, and so brings back
// one that was rested or closed, or whose handle is of no use any more. A call
// that wasn't done for such a reason is made again.
func (h *Host) Agent(id session.ID) agent.Agent { return &reaching{h, id} }

type reaching struct {
	host *Host
	id   session.ID
}

// tries bounds how often a call is made that is not done: enough for an agent
// that is rested, closed and faulted in turn, not for a store that is gone.
const tries = 10

// reached makes a call on whoever is the agent now.
func reached[T any](ctx context.Context, r *reaching, call func(agent.Agent) (T, error)) (out T, err error) {
	for range tries {
		var a agent.Agent
		if a, err = r.host.Reach(ctx, r.id, session.OpenContinue); err != nil {
			return out, err
		}
		out, err = call(a)
		if !useless(err) || errors.Is(err, agent.ErrUncertain) {
			return out, err
		}
	}
	return out, err
}

func (r *reaching) ID() session.ID { return r.id }

func (r *reaching) Followup(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return reached(ctx, r, func(a agent.Agent) (agent.Receipt, error) { return a.Followup(ctx, m) })
}

func (r *reaching) Steer(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return reached(ctx, r, func(a agent.Agent) (agent.Receipt, error) { return a.Steer(ctx, m) })
}

func (r *reaching) Inject(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return reached(ctx, r, func(a agent.Agent) (agent.Receipt, error) { return a.Inject(ctx, m) })
}

func (r *reaching) Status(ctx context.Context) (agent.Status, error) {
	return reached(ctx, r, func(a agent.Agent) (agent.Status, error) { return a.Status(ctx) })
}

func (r *reaching) Cancel(ctx context.Context, s agent.Stop) (agent.Stopped, error) {
	return reached(ctx, r, func(a agent.Agent) (agent.Stopped, error) { return a.Cancel(ctx, s) })
}

func (r *reaching) Resume(ctx context.Context) error {
	_, err := reached(ctx, r, func(a agent.Agent) (struct{}, error) { return struct{}{}, a.Resume(ctx) })
	return err
}

func (r *reaching) Withdraw(ctx context.Context, id string) (agent.Fate, error) {
	return reached(ctx, r, func(a agent.Agent) (agent.Fate, error) { return a.Withdraw(ctx, id) })
}

func (r *reaching) Amend(ctx context.Context, id string, parts []chat.Part) (agent.Fate, error) {
	return reached(ctx, r, func(a agent.Agent) (agent.Fate, error) { return a.Amend(ctx, id, parts) })
}

func (r *reaching) Reply(ctx context.Context, q session.Reply) (agent.QuestionFate, error) {
	return reached(ctx, r, func(a agent.Agent) (agent.QuestionFate, error) { return a.Reply(ctx, q) })
}

func (r *reaching) WaitIdle(ctx context.Context) error {
	_, err := reached(ctx, r, func(a agent.Agent) (struct{}, error) { return struct{}{}, a.WaitIdle(ctx) })
	return err
}
