package agenttest

import (
	"context"
	"slices"

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
