package agenttest

import (
	"context"
	"fmt"
	"strings"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
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
	c.followup("m0")
	c.reaches(g, "the append of "+during.Type())
	d := c.delivers(context.Background(), session.Steer, user("now"))
	c.settle()
	g.open()
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

// parks lets messages wait, runnable once the agent is resumed.
func (c *trial) parks(deliver func()) {
	c.Helper()
	g := c.gate()
	c.does(g.then(says("unheard")))
	c.followup("parking")
	c.reaches(g, "the model")
	deliver()
	c.cancel(agent.Stop{KeepInbox: true})
	c.idle()
}

func releasedAtOnce(c *trial) {
	c.open()
	c.parks(func() {
		c.followup("f1")
		c.steer("s1")
		c.inject("i1")
		c.followup("f2")
		c.steer("s2")
	})
	c.asked(1)
	c.resume()
	c.idle()
	c.sees(2, "user: parking", "user: s1", "user: i1", "user: s2")
	c.sees(3, "user: parking", "user: s1", "user: i1", "user: s2", "model: done", "user: f1")
	c.asked(4)
	c.ends(session.EndCancelled, session.EndCompleted, session.EndCompleted, session.EndCompleted)
}

// wakesDuring delivers while the n-th append is on its way, for all n.
func wakesDuring(c *trial, v session.Verb) {
	c.open()
	for n := 1; ; n++ {
		id := fmt.Sprintf("m%d", n)
		g := c.gate()
		c.now.store.judges(func(at int, _ unit) verdict {
			if at == n {
				return verdict{hold: g}
			}
			return verdict{}
		})
		first := c.delivers(context.Background(), session.Followup, user("first-"+id))
		c.settle()
		select {
		case <-g.arrived:
		default:
			return // so many appends aren't needed
		}
		second := c.delivers(context.Background(), v, user(id))
		c.settle()
		g.open()
		c.accepts(first)
		c.accepts(second)
		c.idle()
		c.fate(id, agent.FateSeen)
		c.fate("first-"+id, agent.FateSeen)
	}
}

func racing(c *trial) {
	c.open()
	const callers, each = 4, 25
	done := make(chan error)
	for i := range callers {
		go func() {
			var err error
			for j := range each {
				m := user(fmt.Sprintf("m-%d-%d", i, j))
				if _, e := c.tries([]session.Verb{session.Followup, session.Steer}[(i+j)%2], m); e != nil {
					err = e
				}
				if j%5 == i {
					ctx, cancel := context.WithTimeout(context.Background(), patience)
					if e := c.now.agent.WaitIdle(ctx); e != nil {
						err = e
					}
					cancel()
				}
			}
			done <- err
		}()
	}
	for range callers {
		c.must("deliver", <-done)
	}
	c.idle()
	text := strings.Join(render(c.request(c.requests())), "\n") + "\n"
	for i := range callers {
		for j := range each {
			if id := fmt.Sprintf("m-%d-%d", i, j); strings.Count(text, "user: "+id+"\n") != 1 {
				c.broken("at its last request the model was shown %s %d times, want once", id, strings.Count(text, "user: "+id+"\n"))
			}
		}
	}
}

func wakesOnOpening(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("never")))
	c.followup("m0")
	c.reaches(g, "the model")
	c.followup("m1")
	c.steer("s1")
	c.close()
	c.open()
	c.idle()
	c.fate("m0", agent.FateSeen)
	c.fate("m1", agent.FateSeen)
	c.fate("s1", agent.FateSeen)
}

func wakesAfterFaults(c *trial) {
	c.open()
	c.now.store.judges(func(_ int, u unit) verdict {
		if u.has(session.Accepted{}) {
			return verdict{}
		}
		return verdict{refuse: errDisk}
	})
	_, err := c.tries(session.Followup, user("m0"))
	c.settle()
	c.now.store.calm()
	if err != nil {
		c.followup("m0") // the message and the turn are one append here
	}
	c.idle()
	c.fate("m0", agent.FateSeen)
}
