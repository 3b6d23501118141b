package agenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func reopeningClause() clause {
	return clause{"F3", "reopening continues from the log, with the fold that runs live", []situation{
		when("a crash before any append of a turn", func(c *trial) { crashAnywhere(c, false, false) }),
		when("a crash after any append of a turn", func(c *trial) { crashAnywhere(c, true, false) }),
		when("a crash before any append of a turn with tools", func(c *trial) { crashAnywhere(c, false, true) }, Tools),
		when("a crash after any append of a turn with tools", func(c *trial) { crashAnywhere(c, true, true) }, Tools),
		when("a repeatable call had started", repeatedCall, Tools),
		when("a call that isn't repeatable had started", lostCall, Tools),
		when("a result was stored", keptResult, Tools),
		when("a cancel was stored", crashAfterCancel),
		when("on hold", reopenedOnHold),
		when("on hold and idle", reopenedOnHoldIdle),
		when("too often", reopenedTooOften),
		when("reading takes no lease", readingOnly),
	}}
}

// crashAnywhere kills the process at the n-th append of a turn, for all n.
func crashAnywhere(c *trial, written, tools bool) {
	if tools {
		c.tool(Tool{Name: "safe", Repeatable: true})
		c.tool(Tool{Name: "once"})
		c.model.rule = func(shown []Shown) move {
			if last := shown[len(shown)-1]; last.Message != nil {
				return calls("safe", "once")
			}
			return says("done")
		}
	}
	for n := 1; ; n++ {
		c.open()
		c.now.store.judges(func(at int, _ unit) verdict {
			if at == n {
				return verdict{dies: true, lost: written}
			}
			return verdict{}
		})
		inject, followup := user(fmt.Sprintf("i%d", n)), user(fmt.Sprintf("m%d", n))
		_, _ = c.tries(session.Inject, inject)
		_, _ = c.tries(session.Followup, followup)
		c.settle()
		whole := !c.now.store.dead()
		c.now.store.calm()
		if !whole {
			c.bury()
			c.open()
		}
		c.deliver(session.Inject, inject)
		c.deliver(session.Followup, followup)
		c.idle()
		c.followup(fmt.Sprintf("last-%d", n))
		c.idle()
		c.fate(inject.ID, agent.FateSeen)
		c.fate(followup.ID, agent.FateSeen)
		c.close()
		if whole {
			return
		}
	}
}

func repeatedCall(c *trial) {
	g := c.gate()
	runs := 0
	c.tool(Tool{Name: "safe", Repeatable: true, Run: func(ctx context.Context, a string) ([]chat.Part, chat.Code) {
		if runs++; runs == 1 {
			return g.body(gives("never"))(ctx, a)
		}
		return gives("safely")(ctx, a)
	}})
	c.open()
	c.does(calls("safe"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.crash()
	c.open()
	c.idle()
	c.sees(2, "user: m0", "model: →safe", "safe: safely")
	c.asked(2)
}

func lostCall(c *trial) {
	g := c.gate()
	runs := 0
	c.tool(Tool{Name: "once", Run: func(ctx context.Context, a string) ([]chat.Part, chat.Code) {
		runs++
		return g.body(gives("never"))(ctx, a)
	}})
	c.tool(Tool{Name: "next"})
	c.open()
	c.does(calls("once", "next"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.crash()
	c.open()
	c.idle()
	if runs != 1 {
		c.broken("a call that isn't repeatable ran %d times", runs)
	}
	c.sees(2, "user: m0", "model: →once→next", "once (unknown-outcome)", "next: next ran")
}

func keptResult(c *trial) {
	g := c.gate()
	runs := map[string]int{}
	count := func(name string, b body) body {
		return func(ctx context.Context, a string) ([]chat.Part, chat.Code) {
			c.mu.Lock()
			runs[name]++
			c.mu.Unlock()
			return b(ctx, a)
		}
	}
	c.tool(Tool{Name: "fast", Beside: true, Repeatable: true, Run: count("fast", gives("fast"))})
	c.tool(Tool{Name: "slow", Beside: true, Repeatable: true, Run: count("slow", g.body(gives("slow")))})
	c.open()
	c.does(calls("fast", "slow"))
	c.followup("m0")
	c.reaches(g, "the slow tool")
	c.settle()
	c.crash()
	g.open()
	c.open()
	c.idle()
	c.mu.Lock()
	fast := runs["fast"]
	c.mu.Unlock()
	if fast != 1 {
		c.broken("a call whose result was stored ran %d times", fast)
	}
	c.sees(2, "user: m0", "model: →fast→slow", "fast: fast", "slow: slow")
}

func crashAfterCancel(c *trial) {
	c.open()
	c.holdsModel(func(g *gate) move { return g.then(says("never")) })
	c.followup("f1")
	c.dies(session.Cancelled{}, true, func() { _, _ = c.now.agent.Cancel(context.Background(), byUser()) })
	c.idle()
	c.asked(1)
	c.endedBy(session.CauseUser)
	c.fate("f1", agent.FateCleared)
}

func reopenedOnHold(c *trial) {
	c.open()
	c.holdsModel(func(g *gate) move { return g.then(says("never")) })
	c.followup("f1")
	c.steer("s1")
	c.inject("i1")
	c.crash()
	c.must("open on hold", c.openAs(session.OpenHold))
	c.idle()
	c.asked(1)
	c.ends(session.EndCancelled)
	c.parked("f1 held", "s1 held")
	c.waits("f1", "s1", "i1")
	c.resume()
	c.idle()
	c.sees(2, "user: m0", "user: s1", "user: i1")
	c.fate("f1", agent.FateSeen)
}

func reopenedOnHoldIdle(c *trial) {
	c.open()
	c.followup("m0")
	c.idle()
	c.inject("i1")
	c.close()
	c.unchanged("opening a session on hold that has nothing to hold", func() {
		c.must("open on hold", c.openAs(session.OpenHold))
	})
	c.followup("m1")
	c.idle()
	c.asked(2)
}

// reopenedTooOften kills the process in the same request again and again.
func reopenedTooOften(c *trial) {
	const most = 100
	g := c.gate()
	c.model.rule = func([]Shown) move { return g.then(says("never")) }
	c.open()
	c.followup("m0")
	c.settle()
	c.followup("f1")
	for n := range most {
		if f := fold(c.log()); f.turn == 0 {
			c.ends(session.EndFailed)
			c.parked("f1 failed")
			return
		}
		c.crash()
		head := len(c.log())
		before := c.requests()
		c.open()
		c.settle()
		if c.requests() > before && len(c.log()) == head {
			c.broken("reopened for the %d. time, it asked again and stored nothing before", n+1)
		}
	}
	c.broken("reopened %d times, the turn still runs; want it to fail", most)
}

func readingOnly(c *trial) {
	c.open()
	c.holdsModel(func(g *gate) move { return g.then(says("never")) })
	c.followup("f1")
	c.close()
	c.unchanged("reading", func() {
		c.waits("f1")
		c.fate("m0", agent.FatePlaced)
		c.fate("f1", agent.FatePending)
	})
	c.asked(1)
	if p, err := c.store.Owner(context.Background(), theSession); err != nil || p.ID != "" {
		c.broken("the session belongs to %q, %v; want nobody", p.ID, err)
	}
}

func ownershipClause() clause {
	return clause{"F4", "one writer: on a stale token the owner aborts, writes nothing and says who owns the session", []situation{
		when("the model thinks", func(c *trial) { overtaken(c, func(g *gate) move { return g.then(says("late")) }) }),
		when("idle", overtakenIdle),
		when("by a living owner", notYours),
	}}
}

// ousted requires that the process knows that it lost the session.
func (c *trial) ousted(p *process) {
	c.Helper()
	r, err := agent.Deliver(context.Background(), p.agent, session.Followup, user("too-late"))
	c.fails("a delivery to an owner that lost the session", err, agent.ErrNotOwner)
	var now *session.NotOwnerError
	if !errors.As(err, &now) || now.Owner.Address != "test:"+c.now.name || r != (agent.Receipt{}) {
		c.broken("the error is %v, want a *NotOwnerError with the address test:%s", err, c.now.name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.agent.WaitIdle(ctx); err == nil || errors.Is(err, context.DeadlineExceeded) {
		c.broken("WaitIdle on a handle that lost its session: %v, want an error at once", err)
	}
	if _, err := p.agent.Cancel(ctx, agent.Stop{}); err == nil {
		c.broken("a handle that lost its session cancels")
	}
}

func overtaken(c *trial, m func(*gate) move) {
	c.open()
	g := c.gate()
	c.does(m(g))
	c.followup("m0")
	c.reaches(g, "the model")
	old := c.now
	c.bury()
	c.open()
	c.idle()
	c.unchanged("the answer to an owner that lost the session", g.open)
	c.unchanged("a call to an owner that lost the session", func() { c.ousted(old) })
	c.sees(2, "user: m0")
	c.asked(2)
	c.ends(session.EndCompleted)
}

func overtakenIdle(c *trial) {
	c.open()
	c.followup("m0")
	c.idle()
	old := c.now
	c.bury()
	c.open()
	c.unchanged("a call to an owner that lost the session", func() { c.ousted(old) })
	c.followup("m1")
	c.idle()
	c.asked(2)
}

func notYours(c *trial) {
	c.open()
	c.must("beat", c.store.Beat(context.Background(), session.Process{ID: "thief"}, patience))
	_, err := c.store.Acquire(context.Background(), theSession, "thief")
	c.fails("taking a session from a living owner", err, session.ErrNotOwner)
	c.followup("m0")
	c.idle()
	if !slices.Contains(render(c.request(1)), "user: m0") {
		c.broken("the owner went on without its session")
	}
}
