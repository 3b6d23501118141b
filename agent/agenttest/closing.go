package agenttest

import (
	"context"
	"errors"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// shutsOut requires that no call is taken any more.
func (c *trial) shutsOut(want error) {
	c.Helper()
	ctx, a := context.Background(), c.now.agent
	c.unchanged("a call after Close", func() {
		for _, v := range verbs() {
			_, err := c.tries(v, user("late-"+string(v)))
			c.fails(string(v)+" after Close", err, want)
		}
		_, err := a.Cancel(ctx, agent.Stop{})
		c.fails("Cancel after Close", err, want)
		c.fails("Resume after Close", a.Resume(ctx), want)
		_, err = a.Withdraw(ctx, "m0")
		c.fails("Withdraw after Close", err, want)
		_, err = a.Amend(ctx, "m0", []chat.Part{chat.Text("x")})
		c.fails("Amend after Close", err, want)
		_, err = a.Reply(ctx, session.Reply{ID: "q", By: chat.User()})
		c.fails("Reply after Close", err, want)
		_, err = a.Record(ctx, noted("late/fact"))
		c.fails("Record after Close", err, want)
		c.fails("WaitIdle after Close", a.WaitIdle(ctx), want)
		_, err = a.Status(ctx)
		c.fails("Status after Close", err, want)
	})
}

func closeIdle(c *trial) {
	c.open()
	c.inject("i1")
	c.unchanged("closing an idle agent", func() { c.atOnce("closing an idle agent", c.close) })
	c.shutsOut(agent.ErrClosed)
	c.must("close again", c.now.agent.Close(context.Background()))
	if err := c.now.agent.Scope().Cleanup(func(context.Context) error { return nil }); err == nil {
		c.broken("the agent's scope is open after Close")
	}
	if p, err := c.store.Owner(context.Background(), theSession); err != nil || p.ID != "" {
		c.broken("the session belongs to %q after Close, %v; want nobody", p.ID, err)
	}
	c.open()
	c.followup("m0")
	c.idle()
	c.sees(1, "user: i1", "user: m0")
}

func closeThinking(c *trial) {
	c.open()
	g := c.gate()
	c.does(streams(g.then(says("a0")), said("half")))
	c.followup("m0")
	c.reaches(g, "the model")
	c.followup("f1")
	c.inject("i1")
	c.atOnce("closing an agent whose model heeds its context", c.close)
	c.until(g.left, "the request goes on after Close,")
	c.shutsOut(agent.ErrClosed)
	if f := fold(c.log()); f.turn != 1 {
		c.broken("turn %d is open in the log after Close, want 1", f.turn)
	}
	c.waits("f1", "i1")
	c.parked()
	if n := len(every[session.Answered](c)); n != 0 {
		c.broken("an answer is stored of a request that the next owner makes again")
	}
	c.open()
	c.idle()
	c.sees(2, "user: m0")
	c.sees(3, "user: m0", "model: done", "user: f1", "user: i1")
	c.ends(session.EndCompleted, session.EndCompleted)
}

func closeRunningTool(c *trial) {
	g := c.gate()
	c.tool(Tool{Name: "first", Run: g.body(gives("never"))})
	c.tool(Tool{Name: "second"})
	c.open()
	c.does(calls("first", "second"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.close()
	for _, f := range every[session.Resulted](c) {
		if f.Index == 0 && f.Result.Code != chat.CodeAborted {
			c.broken("the call that ran got %q, want aborted", f.Result.Code)
		}
	}
	if f := fold(c.log()); f.turn != 1 {
		c.broken("turn %d is open in the log after Close, want 1", f.turn)
	}
	c.open()
	c.idle()
	c.ends(session.EndCompleted)
	if got := render(c.request(2)); len(got) != 4 || got[2] != "first (aborted)" {
		c.broken("the next owner's request shows %s, want the first call aborted", list(got))
	}
}

func closeTogether(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.stubborn(says("a0")) })
	start := time.Now()
	done := make(chan error)
	for range 2 {
		go func() { done <- c.now.agent.Close(context.Background()) }()
	}
	c.now.closed = true
	for range 2 {
		err := <-done
		var left *agent.AbandonedError
		if !errors.As(err, &left) || len(left.Names) != 1 {
			c.broken("Close: %v, want an *AbandonedError with one name", err)
		}
		if took := time.Since(start); took > grace {
			c.broken("Close took %v, want at most the grace time, %v", took, grace)
		}
	}
	c.unchanged("a model that comes back after it was abandoned", leave)
	c.open()
	c.idle()
	c.sees(2, "user: m0")
	c.ends(session.EndCompleted)
}

func closeWhileWaiting(c *trial) {
	c.open()
	c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	done := make(chan error)
	a := c.now.agent
	go func() { done <- a.WaitIdle(context.Background()) }()
	c.settle()
	c.close()
	c.fails("WaitIdle of an agent that is being closed", <-done, agent.ErrClosed)
}

func closeWhileDelivering(c *trial) {
	c.open()
	g := c.gate()
	c.now.store.once(session.Accepted{}, verdict{hold: g})
	d := c.delivers(context.Background(), session.Followup, user("m0"))
	c.reaches(g, "the store")
	closed := make(chan struct{})
	p := c.now
	go func() {
		defer close(closed)
		_ = c.shut(p)
	}()
	c.settle()
	g.open()
	c.until(closed, "Close doesn't end")
	c.until(d.done, "a delivery isn't answered")
	_, err := agent.FateOf(context.Background(), c.store, theSession, "m0")
	if (err == nil) != (d.err == nil) && !errors.Is(d.err, agent.ErrUncertain) {
		c.broken("the delivery was answered %v, but its fate is %v", d.err, err)
	}
	c.open()
	c.idle()
}

func waitsForAll(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("a0")))
	c.followup("m0")
	c.reaches(g, "the model")
	done := make(chan error, 1)
	go func() { done <- c.now.agent.WaitIdle(context.Background()) }()
	c.settle()
	h := c.gate()
	c.does(h.then(says("a1")))
	c.followup("m1")
	g.open()
	c.reaches(h, "the model")
	c.settle()
	select {
	case err := <-done:
		c.broken("WaitIdle returned (%v) while a followup runs that came before the turn's end", err)
	default:
	}
	h.open()
	c.must("wait", <-done)
	c.rests()
}

func waitEnds(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.fails("WaitIdle whose context ends", c.now.agent.WaitIdle(ctx), context.DeadlineExceeded)
	leave()
	c.idle()
	c.ends(session.EndCompleted)
}

func waitsForNothing(c *trial) {
	c.open()
	c.unchanged("waiting for an idle agent", func() { c.atOnce("waiting for an idle agent", c.idle) })
}
