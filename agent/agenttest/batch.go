package agenttest

import (
	"context"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func injectIdle(c *trial) {
	c.open()
	c.atOnce("an inject and the rest after it", func() {
		c.inject("note")
		c.idle()
	})
	c.settle()
	c.asked(0)
	if n := len(c.log()); n != 1 {
		c.broken("the log has %d events, want the acceptance alone", n)
	}
	c.deliver(session.Inject, tick("noon"))
	c.followup("m0")
	c.idle()
	c.sees(1, "user: note", "plugin clock: noon", "user: m0")
}

func injectWhileThinking(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("a0")))
	c.followup("m0")
	c.reaches(g, "the model")
	c.inject("note")
	g.open()
	c.idle()
	c.asked(1)
	c.fate("note", agent.FatePending)
	c.steer("m1")
	c.idle()
	c.sees(2, "user: m0", "model: a0", "user: note", "user: m1")
	c.ends(session.EndCompleted, session.EndCompleted)
}

func injectWithSteer(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("a0")))
	c.followup("m0")
	c.reaches(g, "the model")
	c.inject("note")
	c.steer("now")
	g.open()
	c.idle()
	c.sees(2, "user: m0", "model: a0", "user: note", "user: now")
	c.ends(session.EndCompleted)
}

func injectWithResults(c *trial) {
	g := c.gate()
	c.tool(Tool{Name: "look", Run: g.body(gives("seen"))})
	c.open()
	c.does(calls("look"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.inject("note")
	g.open()
	c.idle()
	c.sees(2, "user: m0", "model: →look", "look: seen", "user: note")
	c.asked(2)
	c.ends(session.EndCompleted)
}

func injectWhileConcluding(c *trial) {
	g := c.gate()
	c.tool(Tool{Name: "finish", Run: g.body(gives("bye")), Concludes: true})
	c.open()
	c.does(calls("finish"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.inject("note")
	g.open()
	c.idle()
	c.asked(1)
	c.fate("note", agent.FatePending)
}

func injectWithPlugin(c *trial) {
	c.open()
	c.inject("note")
	c.deliver(session.Followup, tick("noon"))
	c.idle()
	c.sees(1, "user: note", "plugin clock: noon")
}

func mixedBatch(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("a0")))
	c.followup("m0")
	c.reaches(g, "the model")
	c.steer("s1")
	c.inject("i1")
	c.deliver(session.Steer, tick("s2"))
	c.inject("i2")
	g.open()
	c.idle()
	c.sees(2, "user: m0", "model: a0", "user: s1", "user: i1", "plugin clock: s2", "user: i2")
	c.ends(session.EndCompleted)
}

func batchAfterResults(c *trial) {
	g, h := c.gate(), c.gate()
	c.tool(Tool{Name: "slow", Run: g.body(gives("slowly")), Beside: true})
	c.tool(Tool{Name: "fast", Run: h.body(gives("fast")), Beside: true})
	c.open()
	c.does(calls("slow", "fast"))
	c.followup("m0")
	c.reaches(g, "the slow tool")
	c.reaches(h, "the fast tool")
	c.steer("s1")
	h.open()
	c.settle()
	c.inject("i1")
	g.open()
	c.idle()
	c.sees(2, "user: m0", "model: →slow→fast", "slow: slowly", "fast: fast", "user: s1", "user: i1")
	c.ends(session.EndCompleted)
}

func hooksAdd(c *trial) {
	c.entering(func(_ context.Context, in agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		if in.Step == 1 {
			all.Before = []chat.Message{chat.Say("before").From(clock)}
			all.After = []chat.Message{chat.Say("after").From(clock)}
		}
		return all, nil
	})
	c.open()
	c.inject("i1")
	c.followup("m0")
	c.idle()
	c.sees(1, "plugin clock: before", "user: i1", "user: m0", "plugin clock: after")
}
