package agenttest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func boundClauses() []clause {
	return []clause{
		{"D15", "each accepted id ends as one message in the transcript or one terminal fate", []situation{
			when("the request is retried", onceThoughRetried, Retries),
			when("the agent is reopened while the model is asked", onceThoughReopened),
			when("the turn is stopped and resumed", onceThoughResumed),
		}},
		{"D16", "what waits is bounded, and never dropped: beyond the limit is ErrFull", []situation{
			when("the number of injects", func(c *trial) { fullOf(c, session.Inject) }),
			when("the number of followups", func(c *trial) { fullOf(c, session.Followup) }),
			when("the size of one message", tooBig),
			when("the size of all", fullOfBytes),
			when("amended beyond it", amendedTooBig),
		}},
		{"D17", "every call is legal from everywhere; what would wait for itself is ErrSelfWait", []situation{
			when("from the model", func(c *trial) { fromModel(c) }),
			when("from a tool", fromTool, Tools),
			when("from an entering hook", fromEntering, Entering),
			when("from a maintenance hook", fromMaintenance, Maintenance),
			when("from a stopping hook", fromStopping, Stopping),
			when("from a listener", fromListener),
			when("a tool cancels its own turn", toolCancels, Tools),
		}},
		{"D18", "messages are validated and copied at the call", []situation{
			when("invalid ones", invalidMessages),
			when("changed by the caller afterwards", changedAfterwards),
		}},
	}
}

func onceThoughRetried(c *trial) {
	c.open()
	c.does(breaks(Failure{Text: "come again", Passing: true}), streams(breaks(Failure{Text: "again", Passing: true}), said("half")))
	c.inject("i0")
	c.followup("m0")
	c.idle()
	c.asked(3)
	for n := range 3 {
		c.sees(n+1, "user: i0", "user: m0")
	}
	c.ends(session.EndCompleted)
}

func onceThoughReopened(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("unheard")))
	c.inject("i0")
	c.followup("m0")
	c.reaches(g, "the model")
	c.reopen()
	c.idle()
	c.sees(2, "user: i0", "user: m0")
	c.asked(2)
	c.ends(session.EndCompleted)
}

func onceThoughResumed(c *trial) {
	c.open()
	c.parks(func() { c.followup("m1") })
	c.resume()
	c.idle()
	c.sees(2, "user: parking", "user: m1")
	c.asked(2)
}

// fullOf fills the room of a verb's messages while the model is held.
func fullOf(c *trial, v session.Verb) {
	const most = 1024
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	for i := range most - most/4 {
		c.deliver(v, tick(fmt.Sprintf("m-%d", i)))
	}
	c.unchanged("a plugin's message beyond three quarters", func() {
		_, err := c.tries(v, tick("too-many"))
		c.fails("a plugin's message beyond three quarters", err, agent.ErrFull)
	})
	for i := range most / 4 {
		c.deliver(v, user(fmt.Sprintf("u-%d", i)))
	}
	c.unchanged("a message beyond the limit", func() {
		_, err := c.tries(v, user("too-many"))
		c.fails("a message beyond the limit", err, agent.ErrFull)
	})
	if v == session.Followup {
		_, err := c.tries(session.Steer, user("too-many"))
		c.fails("a steer where the followups are too many", err, agent.ErrFull)
		c.inject("other")
		if s := c.cancel(agent.Stop{}); len(s.Cleared) != most+1 {
			c.broken("the cancel cleared %d messages, want %d", len(s.Cleared), most+1)
		}
		leave()
		c.idle()
		return
	}
	c.steer("other")
	leave()
	c.idle()
	if n := len(c.request(2)); n != 1+1+most+1 {
		c.broken("the next request shows %d items, want all %d injects and 3 others", n, most)
	}
}

const mebibyte = 1 << 20

// bulky is a message of n bytes.
func bulky(id string, n int) chat.Message {
	m := user(id)
	m.Parts = []chat.Part{chat.Text(strings.Repeat("x", n))}
	return m
}

func tooBig(c *trial) {
	c.open()
	for _, v := range verbs() {
		c.unchanged("a message that is too big", func() {
			_, err := c.tries(v, bulky("big", 8*mebibyte+1))
			c.fails("a "+string(v)+" of more than 8 MiB", err, agent.ErrFull)
		})
	}
	c.deliver(session.Inject, bulky("fits", 8*mebibyte))
}

func fullOfBytes(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	c.deliver(session.Inject, bulky("plugin-1", 8*mebibyte).From(clock))
	_, err := c.tries(session.Inject, bulky("plugin-2", 8*mebibyte).From(clock))
	c.fails("a plugin's injects beyond three quarters of 16 MiB", err, agent.ErrFull)
	c.deliver(session.Inject, bulky("person-1", 8*mebibyte))
	_, err = c.tries(session.Inject, user("person-2"))
	c.fails("injects beyond 16 MiB", err, agent.ErrFull)
	c.steer("s1")
	leave()
	c.idle()
	if n := len(c.request(2)); n != 5 {
		c.broken("the next request shows %d items, want 5", n)
	}
	c.inject("room-again")
}

func amendedTooBig(c *trial) {
	c.open()
	c.inject("small")
	c.unchanged("an amendment that is too big", func() {
		_, err := c.now.agent.Amend(context.Background(), "small", bulky("", 8*mebibyte+1).Parts)
		c.fails("amending a message to more than 8 MiB", err, agent.ErrFull)
	})
}

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

func invalidMessages(c *trial) {
	c.open()
	for _, bad := range []struct {
		field string
		m     chat.Message
	}{
		{"id", user("a b")},
		{"role", chat.Message{Role: "boss", Parts: []chat.Part{chat.Text("x")}}},
		{"source.kind", user("x").From(chat.Source{Kind: "nobody"})},
		{"source.name", user("x").From(chat.Source{Kind: chat.SourcePlugin})},
		{"parts", chat.Message{ID: "x"}},
		{"parts[1].text", chat.Message{ID: "x", Parts: []chat.Part{chat.Text("fine"), chat.Text("")}}},
		{"parts[0].media", chat.Message{ID: "x", Parts: []chat.Part{chat.Image("picture", []byte{1})}}},
		{"meta", chat.Message{ID: "x", Parts: []chat.Part{chat.Text("x")}, Meta: map[string]string{"": "x"}}},
	} {
		for _, v := range verbs() {
			c.unchanged("an invalid message", func() {
				_, err := c.tries(v, bad.m)
				c.fails("a "+string(v)+" with a wrong "+bad.field, err, agent.ErrInvalid)
				if !strings.Contains(err.Error(), bad.field) {
					c.broken("the error %q doesn't name %s", err, bad.field)
				}
			})
		}
	}
	c.inject("i1")
	c.unchanged("an invalid amendment", func() {
		_, err := c.now.agent.Amend(context.Background(), "i1", nil)
		c.fails("amending a message to nothing", err, agent.ErrInvalid)
	})
	c.asked(0)
}

func changedAfterwards(c *trial) {
	c.open()
	data := []byte("as it was")
	m := chat.Message{ID: "m0", Parts: []chat.Part{chat.Text("m0"), chat.File("f", "text/plain", data)}, Meta: map[string]string{"k": "as it was"}}
	c.deliver(session.Inject, m)
	m.Parts[0] = chat.Text("changed")
	m.Meta["k"] = "changed"
	copy(data, "CHANGED!!")
	amended := []chat.Part{chat.Text("i1, amended")}
	c.inject("i1")
	_, err := c.now.agent.Amend(context.Background(), "i1", amended)
	c.must("amend", err)
	amended[0] = chat.Text("changed")
	c.followup("go")
	c.idle()
	c.sees(1, "user: m0 <file of 20 bytes>", "user: i1, amended", "user: go")
	f, _, err := agent.First(context.Background(), c.store, theSession, "m0")
	c.must("look the message up", err)
	if got := f.Message; got.Meta["k"] != "as it was" || string(got.Parts[1].Data) != "as it was" || f.Digest != got.Digest() {
		c.broken("accepted was %+v, want it as it was at the call", got)
	}
}
