package agenttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// reenter makes every call that doesn't wait, from wherever ctx is; last those
// after which the agent goes on meanwhile.
func (c *trial) reenter(ctx context.Context, where string) error {
	a := c.owner().agent
	inject := where + "-" + string(session.Inject)
	if _, err := a.Inject(ctx, user(inject)); err != nil {
		return fmt.Errorf("inject: %w", err)
	}
	if f, err := a.Amend(ctx, inject, []chat.Part{chat.Text("amended")}); err != nil || f.State != agent.FatePending {
		return fmt.Errorf("amend: %+v, %w", f, err)
	}
	if f, err := a.Withdraw(ctx, inject); err != nil || f.State != agent.FateWithdrawn {
		return fmt.Errorf("withdraw: %+v, %w", f, err)
	}
	if _, err := a.Reply(ctx, session.Reply{ID: "never-asked", By: chat.User()}); !errors.Is(err, agent.ErrUnknown) {
		return fmt.Errorf("reply to no question: %w, want %w", err, agent.ErrUnknown)
	}
	if _, err := a.Record(ctx, noted("from/"+where)); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if err := a.Resume(ctx); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if _, err := a.Status(ctx); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	for _, v := range []session.Verb{session.Followup, session.Steer} {
		if _, err := agent.Deliver(ctx, a, v, user(where+"-"+string(v))); err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
	}
	return nil
}

// inside reenters, and waits for itself, which must fail at once.
func (c *trial) inside(ctx context.Context, where string) error {
	if err := c.reenter(ctx, where); err != nil {
		return err
	}
	if err := c.owner().agent.WaitIdle(ctx); !errors.Is(err, agent.ErrSelfWait) {
		return fmt.Errorf("WaitIdle: %w, want %w", err, agent.ErrSelfWait)
	}
	if err := c.owner().agent.Close(ctx); !errors.Is(err, agent.ErrSelfWait) {
		return fmt.Errorf("close: %w, want %w", err, agent.ErrSelfWait)
	}
	return nil
}

// visit is one call back into the agent.
type visit struct {
	trial *trial
	begun bool // guarded by the trial's mu
	done  chan struct{}
	err   error // once it is done
}

func (c *trial) visit() *visit { return &visit{trial: c, done: make(chan struct{})} }

// once calls back the first time.
func (v *visit) once(call func() error) {
	v.trial.mu.Lock()
	again := v.begun
	v.begun = true
	v.trial.mu.Unlock()
	if !again {
		v.err = call()
		close(v.done)
	}
}

// paid runs turns whose code calls back, and requires that it could.
func (v *visit) paid() {
	c := v.trial
	c.Helper()
	c.open()
	c.atOnce("a turn that calls its own agent", func() {
		c.followup("m0")
		c.idle()
		c.followup("m1")
		c.idle()
	})
	c.until(v.done, "the code that calls back isn't called")
	c.must("calling the agent from its own turn", v.err)
	c.fate("m0", agent.FateSeen)
}

func fromModel(c *trial) {
	v := c.visit()
	c.does(func(ctx context.Context, tell func(Piece)) (chat.Answer, error) {
		v.once(func() error { return c.inside(ctx, "model") })
		return says("a0")(ctx, tell)
	})
	v.paid()
}

func fromTool(c *trial) {
	v := c.visit()
	c.tool(Tool{Name: "call", Run: func(ctx context.Context, _ string) ([]chat.Part, chat.Code) {
		v.once(func() error { return c.inside(ctx, "tool") })
		return gives("called")(ctx, "")
	}})
	c.does(calls("call"))
	v.paid()
}

func fromEntering(c *trial) {
	v := c.visit()
	c.entering(func(ctx context.Context, _ agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		v.once(func() error { return c.inside(ctx, "entering") })
		return all, nil
	})
	v.paid()
}

func fromMaintenance(c *trial) {
	v := c.visit()
	c.maintenance(func(ctx context.Context, _ agent.MaintenanceInput) (agent.MaintenanceAnswer, error) {
		v.once(func() error { return c.inside(ctx, "maintenance") })
		return agent.MaintenanceAnswer{}, nil
	})
	v.paid()
}

func fromStopping(c *trial) {
	v := c.visit()
	c.stopping(func(ctx context.Context, _ agent.StoppingInput) (agent.StoppingAnswer, error) {
		v.once(func() error { return c.inside(ctx, "stopping") })
		return agent.StoppingAnswer{}, nil
	})
	v.paid()
}

func fromListener(c *trial) {
	var result error
	c.open()
	g := c.gate()
	c.does(g.then(says("a0")))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	a := c.now.agent
	go func() {
		defer close(done)
		for e, err := range session.Follow(ctx, c.store, theSession, 0) {
			if err != nil {
				return
			}
			if f, is := e.Fact.(session.Entered); is && f.Turn == 1 && f.Step == 1 {
				result = c.reenter(ctx, "listener")
				g.open()
				if result == nil {
					result = a.WaitIdle(ctx)
				}
			}
		}
	}()
	c.followup("m0")
	c.settle()
	c.idle()
	cancel()
	<-done
	c.must("calling the agent from a listener", result)
	c.fate("listener-followup", agent.FateSeen)
}

func toolCancels(c *trial) {
	var err error
	var stopped agent.Stopped
	c.tool(Tool{Name: "halt", Run: func(ctx context.Context, _ string) ([]chat.Part, chat.Code) {
		stopped, err = c.owner().agent.Cancel(ctx, agent.Stop{Cause: session.CauseHook, Reason: "enough"})
		return []chat.Part{chat.Text("halted")}, chat.CodeOK
	}})
	c.open()
	c.does(calls("halt"))
	c.followup("m0")
	c.idle()
	// Its own context ends by the cancel, so it may not hear what came of it.
	if err != nil && !errors.Is(err, agent.ErrUncertain) && !errors.Is(err, context.Canceled) || err == nil && stopped.Turn != 1 {
		c.broken("cancelling from a tool: %+v, %v; want turn 1 stopped", stopped, err)
	}
	c.asked(1)
	c.ends(session.EndCancelled)
}
