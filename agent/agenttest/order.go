package agenttest

import (
	"context"
	"fmt"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/session"
)

func orderClauses() []clause {
	return []clause{
		{"D5", "a delivery is never refused for being busy, and waits for nothing that runs", busySituations()},
		{"D8", "a followup opens a turn of its own: a burst of N is N turns, in order", []situation{
			when("a burst while the model thinks", burstWhileThinking),
			when("a burst from idle", burstFromIdle),
			when("a steer between followups", steerBetweenFollowups),
			when("a plugin's followup wakes too", pluginWakes),
		}},
		{"D9", "a steer enters at the nearest step boundary; if no turn runs it opens one", []situation{
			when("idle", steerIdle),
			when("the model thinks", steerWhileThinking),
			when("a tool runs", steerWhileToolRuns, Tools),
			when("a tool runs that concludes the turn", steerWhileConcluding, Tools),
			when("the stopping hooks are asked", steerWhileStopping, Stopping),
			when("the answer is being stored", func(c *trial) { steerDuring(c, session.Answered{}) }),
			when("the turn's end is being stored", func(c *trial) { steerDuring(c, session.TurnEnded{}) }),
			when("the step is being stored", func(c *trial) { steerDuring(c, session.Entered{}) }),
			when("several", severalSteers),
		}},
		{"D10", "an inject rides with the next batch, and causes no request, no wake and no delay", []situation{
			when("idle", injectIdle),
			when("the model thinks and nothing else waits", injectWhileThinking),
			when("the model thinks and a steer waits", injectWithSteer),
			when("results are owed", injectWithResults, Tools),
			when("the turn is concluded by a tool", injectWhileConcluding, Tools),
			when("a plugin opens the turn", injectWithPlugin),
		}},
		{"D11", "a batch is in the order of acceptance, and calls stay beside their results", []situation{
			when("steers and injects mixed", mixedBatch),
			when("messages come while tools run", batchAfterResults, Tools),
			when("hooks add before and after", hooksAdd, Entering),
		}},
		{"D12", "a turn is opened by all runnable steers, else by the oldest runnable followup, with the injects", []situation{
			when("all are released at once", releasedAtOnce),
		}},
		{"D13", "an open agent is never idle with a runnable message", []situation{
			when("a followup comes during any append", func(c *trial) { wakesDuring(c, session.Followup) }),
			when("a steer comes during any append", func(c *trial) { wakesDuring(c, session.Steer) }),
			when("many callers race with turns' ends", racing),
			when("messages wait when the agent is opened", wakesOnOpening),
			when("a step fails to be stored for a while", wakesAfterFaults),
		}},
		enteringClause(),
	}
}

func burstWhileThinking(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("a0")), says("a1"), says("a2"), says("a3"))
	c.followup("m0")
	c.reaches(g, "the model")
	c.followup("m1", "m2", "m3")
	g.open()
	c.idle()
	c.burstOf(4)
}

func burstFromIdle(c *trial) {
	c.open()
	c.does(says("a0"), says("a1"), says("a2"), says("a3"))
	c.followup("m0", "m1", "m2", "m3")
	c.idle()
	c.burstOf(4)
}

// burstOf requires n turns, each of which sees those before it as finished.
func (c *trial) burstOf(n int) {
	c.Helper()
	c.asked(n)
	var shown []string
	var ends []session.EndReason
	for i := range n {
		shown = append(shown, fmt.Sprintf("user: m%d", i))
		c.sees(i+1, shown...)
		shown = append(shown, fmt.Sprintf("model: a%d", i))
		ends = append(ends, session.EndCompleted)
	}
	c.ends(ends...)
}

func steerBetweenFollowups(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("a0")), says("a1"), says("a2"), says("a3"))
	c.followup("m0")
	c.reaches(g, "the model")
	c.followup("m1")
	c.steer("now")
	c.followup("m2")
	g.open()
	c.idle()
	c.sees(2, "user: m0", "model: a0", "user: now")
	c.sees(3, "user: m0", "model: a0", "user: now", "model: a1", "user: m1")
	c.asked(4)
	c.ends(session.EndCompleted, session.EndCompleted, session.EndCompleted)
}

func pluginWakes(c *trial) {
	c.open()
	for i, v := range []session.Verb{session.Followup, session.Steer} {
		c.deliver(v, tick(string(v)))
		c.idle()
		c.asked(i + 1)
	}
}

func steerIdle(c *trial) {
	c.open()
	c.steer("one")
	c.idle()
	c.sees(1, "user: one")
	c.ends(session.EndCompleted)
}

func steerWhileThinking(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("a0")))
	c.followup("m0")
	c.reaches(g, "the model")
	c.steer("now")
	g.open()
	c.idle()
	c.sees(2, "user: m0", "model: a0", "user: now")
	c.ends(session.EndCompleted)
}

func steerWhileToolRuns(c *trial) {
	g := c.gate()
	c.tool(Tool{Name: "look", Run: g.body(gives("seen"))})
	c.open()
	c.does(calls("look"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.steer("now")
	g.open()
	c.idle()
	c.sees(2, "user: m0", "model: →look", "look: seen", "user: now")
	c.asked(2)
	c.ends(session.EndCompleted)
}

func steerWhileConcluding(c *trial) {
	g := c.gate()
	c.tool(Tool{Name: "finish", Run: g.body(gives("bye")), Concludes: true})
	c.open()
	c.does(calls("finish"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.steer("now")
	g.open()
	c.idle()
	c.sees(2, "user: m0", "model: →finish", "finish: bye", "user: now")
	c.asked(2)
	c.ends(session.EndCompleted)
}

func steerWhileStopping(c *trial) {
	g := c.gate()
	c.stopping(func(ctx context.Context, _ agent.StoppingInput) (agent.StoppingAnswer, error) {
		return agent.StoppingAnswer{}, g.pass(ctx)
	})
	c.open()
	c.does(says("a0"))
	c.followup("m0")
	c.reaches(g, "the stopping hook")
	c.steer("now")
	g.open()
	c.idle()
	c.sees(2, "user: m0", "model: a0", "user: now")
	c.ends(session.EndCompleted)
}

// steerDuring steers while a fact is on its way into the log. Whether the turn
// still runs then is the driver's to say; the steer is next in any case.
func steerDuring(c *trial, during session.Fact) {
	c.open()
	c.does(says("a0"))
	g := c.gate()
	c.now.store.once(during, verdict{hold: g})
	first := c.delivers(context.Background(), session.Followup, user("m0")) // its append may be the step's
	c.reaches(g, "the append of "+during.Type())
	d := c.delivers(context.Background(), session.Steer, user("now"))
	c.settle()
	g.open()
	c.accepts(first)
	c.accepts(d)
	c.followup("later")
	c.idle()
	c.sees(2, "user: m0", "model: a0", "user: now")
	c.asked(3)
}

func severalSteers(c *trial) {
	c.open()
	g, h := c.gate(), c.gate()
	c.does(g.then(says("a0")), h.then(says("a1")))
	c.followup("m0")
	c.reaches(g, "the model")
	c.steer("s1", "s2")
	g.open()
	c.reaches(h, "the model")
	c.steer("s3")
	h.open()
	c.idle()
	c.sees(2, "user: m0", "model: a0", "user: s1", "user: s2")
	c.sees(3, "user: m0", "model: a0", "user: s1", "user: s2", "model: a1", "user: s3")
	c.ends(session.EndCompleted)
}
