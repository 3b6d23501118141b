package agenttest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func changeClauses() []clause {
	return []clause{
		{"C8", "a cancel reaches attached children, and a child knows its parent", []situation{
			when("children were spawned", cancelReachesChildren, Children),
			when("the session is a child's", childBegins),
		}},
		{"C9", "parked messages are released by Resume or the principal's next waking message", []situation{
			when("Resume", func(c *trial) { released(c, c.resume) }),
			when("the principal's followup", func(c *trial) { released(c, func() { c.followup("m1") }) }),
			when("the principal's steer", func(c *trial) { released(c, func() { c.steer("m1") }) }),
			when("the principal's inject releases nothing", func(c *trial) { notReleased(c, session.Inject, user("m1")) }),
			when("a plugin's followup releases nothing", func(c *trial) { notReleased(c, session.Followup, tick("m1")) }),
			when("a plugin's steer releases nothing", func(c *trial) { notReleased(c, session.Steer, tick("m1")) }),
			when("the principal is the parent", releasedByParent),
		}},
		{"C10", "Withdraw takes back and Amend replaces a pending message; both answer the true fate", []situation{
			when("pending", withdrawAndAmend),
			when("parked", changeParked),
			when("placed, seen, ended", changeTooLate),
			when("unknown", changeUnknown),
			when("the only runnable message", withdrawLast),
		}},
		{"C11", "Close suspends: later calls are ErrClosed, and the next owner continues", []situation{
			when("idle", closeIdle),
			when("the model thinks", closeThinking),
			when("a tool runs", closeRunningTool, Tools),
			when("several close, and the model ignores its context", closeTogether),
			when("somebody waits", closeWhileWaiting),
			when("a delivery is under way", closeWhileDelivering),
		}},
		{"C12", "WaitIdle follows the work that replaces what it saw", []situation{
			when("followups wait", waitsForAll),
			when("its context ends", waitEnds),
			when("idle", waitsForNothing),
		}},
	}
}

func cancelReachesChildren(c *trial) {
	c.open()
	c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	spawn := c.now.subject.Spawn
	c.must("spawn", spawn(context.Background(), c.now.agent, "attached", false))
	c.must("spawn", spawn(context.Background(), c.now.agent, "detached", true))
	if f := every[session.Spawned](c); len(f) != 2 || f[0].Child != "attached" || f[0].Detached || !f[1].Detached {
		c.broken("spawned are %+v, want attached and detached", f)
	}
	c.cancel(agent.Stop{Cause: session.CauseUser, KeepInbox: true})
	c.idle()
	if f, _ := last[session.Cancelled](c); !slices.Equal(f.Children, []session.ID{"attached"}) || !f.KeepInbox {
		c.broken("the cancel is %+v, want it to reach the attached child, KeepInbox passed on", f)
	}
}

func childBegins(c *trial) {
	c.parent = &session.Parent{Session: "mother", Turn: 3}
	c.open()
	c.followup("m0")
	c.idle()
	c.reopen()
	c.followup("m1")
	c.idle()
	f, is := c.log()[0].Fact.(session.Parent)
	if !is || f != *c.parent || len(every[session.Parent](c)) != 1 {
		c.broken("the first fact is %+v, want the parent, once", c.log()[0].Fact)
	}
}

func released(c *trial, by func()) {
	c.open()
	c.parks(func() {
		c.deliver(session.Followup, tick("f1"))
		c.steer("s1")
	})
	c.parked("f1 stopped", "s1 stopped")
	by()
	c.idle()
	c.parked()
	c.waits()
	c.fate("f1", agent.FateSeen)
	c.fate("s1", agent.FateSeen)
}

func notReleased(c *trial, v session.Verb, m chat.Message) {
	c.open()
	c.parks(func() {
		c.deliver(session.Followup, tick("f1"))
		c.steer("s1")
	})
	before := c.requests()
	c.deliver(v, m)
	c.idle()
	c.parked("f1 stopped", "s1 stopped")
	if v.Wakes() {
		c.fate(m.ID, agent.FateSeen)
		c.asked(before + 1)
	} else {
		c.asked(before)
	}
}

func releasedByParent(c *trial) {
	c.parent = &session.Parent{Session: "mother", Turn: 1}
	c.open()
	c.parks(func() { c.steer("s1") })
	c.followup("m1")
	c.deliver(session.Followup, user("m2").From(chat.Agent("sister")))
	c.idle()
	c.parked("s1 stopped")
	c.deliver(session.Followup, user("m3").From(chat.Agent("mother")))
	c.idle()
	c.parked()
	c.fate("s1", agent.FateSeen)
}

// withdraws takes a message back and requires its fate.
func (c *trial) withdraws(id string, want agent.FateState) {
	c.Helper()
	f, err := c.now.agent.Withdraw(context.Background(), id)
	if err != nil || f.State != want || f.ID != id {
		c.broken("Withdraw %s: %+v, %v; want %s", id, f, err, want)
	}
}

// amends replaces a message's text and requires its fate.
func (c *trial) amends(id, text string, want agent.FateState) {
	c.Helper()
	f, err := c.now.agent.Amend(context.Background(), id, []chat.Part{chat.Text(text)})
	if err != nil || f.State != want || f.ID != id {
		c.broken("Amend %s: %+v, %v; want %s", id, f, err, want)
	}
}

func withdrawAndAmend(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	c.steer("s1", "s2", "s3")
	c.inject("i1", "i2")
	c.followup("f1")
	c.withdraws("s1", agent.FateWithdrawn)
	c.withdraws("i2", agent.FateWithdrawn)
	c.withdraws("f1", agent.FateWithdrawn)
	c.amends("s2", "s2, amended", agent.FatePending)
	c.amends("i1", "i1, amended", agent.FatePending)
	c.amends("i1", "i1, amended twice", agent.FatePending)
	leave()
	c.idle()
	c.sees(2, "user: m0", "model: a0", "user: s2, amended", "user: s3", "user: i1, amended twice")
	c.asked(2)
}

func changeParked(c *trial) {
	c.open()
	c.parks(func() { c.followup("f1", "f2", "f3") })
	c.withdraws("f1", agent.FateWithdrawn)
	c.amends("f2", "f2, amended", agent.FatePending)
	c.parked("f2 stopped", "f3 stopped")
	c.resume()
	c.idle()
	c.sees(2, "user: parking", "user: f2, amended")
	c.fate("f3", agent.FateSeen)
}

func changeTooLate(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	c.unchanged("changing a placed message", func() {
		c.withdraws("m0", agent.FatePlaced)
		c.amends("m0", "x", agent.FatePlaced)
	})
	leave()
	c.idle()
	c.inject("gone", "cleared")
	c.withdraws("gone", agent.FateWithdrawn)
	c.cancel(byUser())
	c.unchanged("changing messages that have come to an end", func() {
		for id, state := range map[string]agent.FateState{
			"m0": agent.FateSeen, "gone": agent.FateWithdrawn, "cleared": agent.FateCleared,
		} {
			c.withdraws(id, state)
			c.amends(id, "x", state)
		}
	})
	c.reopen()
	c.unchanged("changing a message of an older owner's", func() { c.withdraws("m0", agent.FateSeen) })
}

func changeUnknown(c *trial) {
	c.open()
	c.unchanged("changing a message that never was", func() {
		_, err := c.now.agent.Withdraw(context.Background(), "nobody")
		c.fails("Withdraw", err, agent.ErrUnknown)
		_, err = c.now.agent.Amend(context.Background(), "nobody", []chat.Part{chat.Text("x")})
		c.fails("Amend", err, agent.ErrUnknown)
	})
}

func withdrawLast(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	c.followup("f1")
	c.steer("s1")
	c.withdraws("s1", agent.FateWithdrawn)
	c.withdraws("f1", agent.FateWithdrawn)
	leave()
	c.idle()
	c.asked(1)
	c.ends(session.EndCompleted)
}

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
