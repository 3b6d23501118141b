package agenttest

import (
	"context"
	"slices"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func stopClauses() []clause {
	return []clause{
		{"C1", "a cancel is a fact with a cause; it covers what was accepted before, and nothing else", []situation{
			when("what waits is cleared", cancelClears),
			when("what waits is kept", cancelKeeps),
			when("messages come after it", laterThanTheCancel),
			when("injects wait and the agent is idle", cancelIdle),
			when("the cause is unknown or missing", cancelCauses),
		}},
		{"C2", "Cancel returns when it is stored, and names what it stopped, cleared and kept", []situation{
			when("the model ignores its context", cancelNames),
		}},
		{"C3", "the cause of a turn's end is its first cancel; repeating is harmless", []situation{
			when("cancelled twice", cancelTwice),
			when("idle", cancelNothing),
		}},
		{"C4", "a stop can't be undone: nothing starts before the cancel is stored, ahead of every other append", []situation{
			when("the append fails", cancelUnstored),
			when("the append takes its time", cancelBeingStored),
			when("a crash before it is stored", crashBeforeCancel),
			when("the agent is idle and the append fails", cancelUnstoredIdle),
		}},
		{"C5", "after a cancel no tool starts and no request is sent; announced calls each get a result", []situation{
			when("the model thinks", noRequestAfterCancel),
			when("one call runs and another waits", abortedAndNotStarted, Tools),
			when("a call finishes in the grace time", finishedInGrace, Tools),
			when("a call ignores its context", abandonedCall, Tools),
			when("a question is open", cancelClosesQuestions, Tools, Questions),
		}},
		{"C6", "what was streamed stays, marked interrupted, without half-made calls", []situation{
			when("the turn is cancelled", interrupted),
			when("the model ignores its context", interruptedLate),
			when("the model fails", failedAttempt),
		}},
		{"C7", "after the grace time what doesn't return is abandoned, and the agent is idle", []situation{
			when("the model", func(c *trial) { abandons(c, "thinking") }),
			when("a tool", func(c *trial) { abandons(c, "running a tool") }, Tools),
			when("an entering hook", func(c *trial) { abandons(c, "consulting hooks") }, Entering),
			when("a maintenance hook", func(c *trial) { abandons(c, "compacting") }, Maintenance),
			when("a stopping hook", func(c *trial) { abandons(c, "about to end") }, Stopping),
		}},
	}
}

func byUser() agent.Stop { return agent.Stop{Cause: session.CauseUser, Reason: "enough"} }

// endedBy requires the cause of the last turn's end.
func (c *trial) endedBy(cause session.Cause) {
	c.Helper()
	f, _ := last[session.TurnEnded](c)
	if f.Reason != session.EndCancelled || f.Cause != cause {
		c.broken("the turn ended %s by %q, want cancelled by %q", f.Reason, f.Cause, cause)
	}
}

func cancelClears(c *trial) {
	c.open()
	c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	c.followup("f1")
	c.steer("s1")
	c.inject("i1")
	c.cancel(byUser())
	c.idle()
	c.asked(1)
	c.waits()
	for _, id := range []string{"f1", "s1", "i1"} {
		if f := c.fate(id, agent.FateCleared); f.Cause != session.CauseUser || f.Reason != "enough" {
			c.broken("%s was cleared by %q because %q, want by the user because enough", id, f.Cause, f.Reason)
		}
	}
	c.endedBy(session.CauseUser)
	c.followup("next")
	c.idle()
	c.sees(2, "user: m0", "user: next")
}

func cancelKeeps(c *trial) {
	c.open()
	c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	c.followup("f1")
	c.steer("s1")
	c.inject("i1")
	c.cancel(agent.Stop{Cause: session.CauseUser, KeepInbox: true})
	c.idle()
	c.asked(1)
	c.waits("f1", "s1", "i1")
	c.parked("f1 stopped", "s1 stopped")
	if f := c.fate("f1", agent.FatePending); f.Parked != session.ParkedStopped {
		c.broken("the fate of f1 says parked %q, want stopped", f.Parked)
	}
	c.endedBy(session.CauseUser)
}

func laterThanTheCancel(c *trial) {
	c.open()
	for i, keep := range []bool{false, true} {
		g := c.gate()
		c.does(g.stubborn(says("unheard")))
		c.deliver(session.Followup, user([]string{"m0", "m1"}[i]))
		c.reaches(g, "the model")
		c.deliver(session.Followup, tick([]string{"before-0", "before-1"}[i]))
		c.cancel(agent.Stop{Cause: session.CauseUser, KeepInbox: keep})
		later := []string{"later-0", "later-1"}[i]
		c.deliver(session.Followup, tick(later))
		c.idle()
		c.fate(later, agent.FateSeen)
	}
	c.fate("before-0", agent.FateCleared)
	c.parked("before-1 stopped")
	c.asked(4)
}

func cancelIdle(c *trial) {
	c.open()
	c.inject("i1", "i2")
	s := c.cancel(agent.Stop{KeepInbox: true})
	if s.Turn != 0 || !slices.Equal(s.Kept, []string{"i1", "i2"}) {
		c.broken("the cancel says %+v, want no turn, and i1 and i2 kept", s)
	}
	c.waits("i1", "i2")
	c.parked()
	c.cancel(agent.Stop{})
	c.waits()
	c.followup("m0")
	c.idle()
	c.sees(1, "user: m0")
}

func cancelCauses(c *trial) {
	c.open()
	c.unchanged("a cancel without a known cause", func() {
		_, err := c.now.agent.Cancel(context.Background(), agent.Stop{Cause: "whim"})
		c.fails("a cancel by whim", err, agent.ErrInvalid)
	})
	c.cancel(agent.Stop{})
	if f, _ := last[session.Cancelled](c); f.Cause != session.CauseHost {
		c.broken("a cancel without a cause is by %q, want by the host", f.Cause)
	}
}

func cancelNames(c *trial) {
	c.open()
	for _, keep := range []bool{false, true} {
		c.holdsModelFor(map[bool]string{false: "m0", true: "m1"}[keep], func(g *gate) move { return g.stubborn(says("a0")) })
		turn := c.status().Turn
		c.deliver(session.Followup, tick("f"+map[bool]string{false: "0", true: "1"}[keep]))
		c.deliver(session.Inject, tick("i"+map[bool]string{false: "0", true: "1"}[keep]))
		s := c.cancel(agent.Stop{Cause: session.CauseTimeout, Reason: "late", KeepInbox: keep})
		f, seq := last[session.Cancelled](c)
		want := agent.Stopped{Seq: seq, Turn: turn, Cleared: []string{"f0", "i0"}}
		if keep {
			want = agent.Stopped{Seq: seq, Turn: turn, Kept: []string{"f1", "i1"}}
		}
		if s.Seq != want.Seq || s.Turn != want.Turn || !slices.Equal(s.Cleared, want.Cleared) || !slices.Equal(s.Kept, want.Kept) {
			c.broken("Cancel says %+v, want %+v", s, want)
		}
		if f.Cause != session.CauseTimeout || f.Reason != "late" || f.KeepInbox != keep || f.Turn != turn {
			c.broken("stored was %+v, want what was asked for", f)
		}
		if s := c.status(); s.State != agent.Working {
			c.broken("the status is %+v although the model hasn't come back", s)
		}
		c.idle()
		c.endedBy(session.CauseTimeout)
	}
}

func cancelTwice(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.stubborn(says("a0")) })
	c.cancel(byUser())
	c.followup("between")
	c.cancel(agent.Stop{Cause: session.CauseParent})
	c.followup("after")
	leave()
	c.idle()
	if f := every[session.TurnEnded](c)[0]; f.Reason != session.EndCancelled || f.Cause != session.CauseUser {
		c.broken("the turn ended %s by %q, want cancelled by the first, the user", f.Reason, f.Cause)
	}
	if f := c.fate("between", agent.FateCleared); f.Cause != session.CauseParent {
		c.broken("what came between was cleared by %q, want by the second, the parent", f.Cause)
	}
	c.fate("after", agent.FateSeen)
}

func cancelNothing(c *trial) {
	c.open()
	for range 2 {
		if s := c.cancel(byUser()); s.Turn != 0 || len(s.Cleared)+len(s.Kept) > 0 {
			c.broken("cancelling an idle agent says %+v, want nothing stopped", s)
		}
	}
	c.idle()
	c.followup("m0")
	c.idle()
	c.ends(session.EndCompleted)
}

func cancelUnstored(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("a0")))
	c.followup("m0")
	c.reaches(g, "the model")
	head := len(c.log())
	c.now.store.always(session.Cancelled{}, verdict{refuse: errDisk})
	_, err := c.now.agent.Cancel(context.Background(), byUser())
	c.fails("a cancel whose append failed", err, agent.ErrStorage)
	c.until(g.left, "the request's context doesn't end although the turn was cancelled,")
	_, _ = c.tries(session.Followup, user("m1"))
	time.Sleep(time.Minute)
	c.asked(1)
	if s := c.status(); s.State != agent.Working {
		c.broken("the status is %+v before the cancel is stored", s)
	}
	c.now.store.calm()
	c.idle()
	c.firstAfter(head)
	if f := every[session.TurnEnded](c)[0]; f.Reason != session.EndCancelled || f.Cause != session.CauseUser {
		c.broken("the turn ended %s by %q, want cancelled by the user", f.Reason, f.Cause)
	}
}

// firstAfter requires that a cancel is the first event after head.
func (c *trial) firstAfter(head int) {
	c.Helper()
	log := c.log()
	if len(log) == head {
		c.broken("the cancel isn't stored")
	}
	if _, is := log[head].Fact.(session.Cancelled); !is {
		c.broken("event %d was stored before the cancel", head+1)
	}
}

func cancelUnstoredIdle(c *trial) {
	c.open()
	c.inject("i1")
	c.now.store.always(session.Cancelled{}, verdict{refuse: errDisk})
	_, err := c.now.agent.Cancel(context.Background(), byUser())
	c.fails("a cancel whose append failed", err, agent.ErrStorage)
	_, _ = c.tries(session.Followup, user("m0"))
	time.Sleep(time.Minute)
	c.asked(0)
	c.now.store.calm()
	c.idle()
	c.firstAfter(1)
	c.fate("i1", agent.FateCleared)
}

func cancelBeingStored(c *trial) {
	c.open()
	g, h := c.gate(), c.gate()
	c.does(streams(g.then(says("a0")), said("half")))
	c.followup("m0")
	c.reaches(g, "the model")
	head := len(c.log())
	c.now.store.once(session.Cancelled{}, verdict{hold: h})
	done := make(chan error)
	go func() {
		_, err := c.now.agent.Cancel(context.Background(), byUser())
		done <- err
	}()
	c.reaches(h, "the append of the cancel")
	c.until(g.left, "the request's context doesn't end although the turn was cancelled,")
	c.settle()
	if n := len(c.log()); n != head {
		c.broken("something was stored before the cancel")
	}
	h.open()
	c.must("cancel", <-done)
	c.idle()
	c.firstAfter(head)
	c.ends(session.EndCancelled)
	c.asked(1)
}

func crashBeforeCancel(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("unheard")))
	c.followup("m0")
	c.reaches(g, "the model")
	c.dies(session.Cancelled{}, false, func() { _, _ = c.now.agent.Cancel(context.Background(), byUser()) })
	c.idle()
	c.asked(2)
	c.ends(session.EndCompleted)
}

func noRequestAfterCancel(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.stubborn(says("a0")) })
	c.steer("s1")
	c.cancel(byUser())
	leave()
	c.idle()
	c.asked(1)
	c.fate("s1", agent.FateCleared)
}

// results requires the codes of all results, in the order of the log.
func (c *trial) results(want ...chat.Code) {
	c.Helper()
	var got []chat.Code
	for _, f := range every[session.Resulted](c) {
		got = append(got, f.Result.Code)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		c.broken("the results have the codes %q, want %q", got, want)
	}
}

func abortedAndNotStarted(c *trial) {
	g := c.gate()
	c.tool(Tool{Name: "first", Run: g.body(gives("never"))})
	ran := false
	c.tool(Tool{Name: "second", Run: func(ctx context.Context, a string) ([]chat.Part, chat.Code) {
		ran = true
		return gives("never")(ctx, a)
	}})
	c.open()
	c.does(calls("first", "second"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.cancel(byUser())
	c.idle()
	c.results(chat.CodeAborted, chat.CodeNotStarted)
	if ran {
		c.broken("the second tool ran although the turn was cancelled")
	}
	c.asked(1)
	c.endedBy(session.CauseUser)
	c.followup("m1")
	c.idle()
	c.sees(2, "user: m0", "model: →first→second", "first (aborted)", "second (not-started)", "user: m1")
}

func finishedInGrace(c *trial) {
	g := c.gate()
	c.tool(Tool{Name: "save", Run: g.stubbornBody(gives("saved"))})
	c.open()
	c.does(calls("save"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.cancel(byUser())
	time.Sleep(grace / 2)
	g.open()
	c.idle()
	c.results(chat.CodeOK)
	c.followup("m1")
	c.idle()
	c.sees(2, "user: m0", "model: →save", "save: saved", "user: m1")
}

func abandonedCall(c *trial) {
	g := c.gate()
	c.tool(Tool{Name: "save", Run: g.stubbornBody(gives("saved"))})
	c.open()
	c.does(calls("save"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.cancel(byUser())
	c.idle()
	c.results(chat.CodeAborted)
	c.unchanged("a tool that comes back after it was abandoned", g.open)
}

func cancelClosesQuestions(c *trial) {
	c.asksThroughTool("q")
	c.open()
	c.does(calls("ask"))
	c.followup("m0")
	c.settle()
	c.cancel(byUser())
	if f, _ := last[session.Cancelled](c); !slices.Equal(f.Closed, []string{"q"}) {
		c.broken("the cancel closed the questions %q, want q", f.Closed)
	}
	c.idle()
	f, err := agent.QuestionFateOf(context.Background(), c.store, theSession, "q")
	if err != nil || f.State != agent.QuestionClosed {
		c.broken("the question is %s, %v; want closed", f.State, err)
	}
}

func interrupted(c *trial) {
	c.open()
	c.holdsModel(func(g *gate) move {
		return streams(g.then(says("never")),
			thought("let me "), thought("see"), said("well, ").at(1), said("I").at(1),
			Piece{Block: 2, Kind: chat.BlockCall, Call: &chat.Call{ID: "call-1", Name: "look"}, Text: `{"wh`})
	})
	c.cancel(byUser())
	c.idle()
	f, _ := last[session.Answered](c)
	var thoughts string
	for _, b := range f.Answer.Blocks {
		if b.Kind == chat.BlockReasoning {
			thoughts += b.Text
		}
	}
	if !f.Answer.Interrupted || f.Answer.Text() != "well, I" || thoughts != "let me see" || len(f.Answer.Calls()) > 0 {
		c.broken("stored was %+v, want the text and the thoughts, marked interrupted, and no call", f.Answer)
	}
	c.fate("m0", agent.FateSeen)
	c.followup("m1")
	c.idle()
	c.sees(2, "user: m0", "model: well, I (interrupted)", "user: m1")
}

func interruptedLate(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return streams(g.stubborn(says("half and more")), said("half")) })
	c.cancel(byUser())
	c.idle()
	if f, _ := last[session.Answered](c); !f.Answer.Interrupted || f.Answer.Text() != "half" {
		c.broken("stored was %+v, want the half, marked interrupted", f.Answer)
	}
	c.unchanged("a model that comes back after it was abandoned", leave)
}

func failedAttempt(c *trial) {
	c.open()
	c.does(streams(breaks(Failure{Text: "the line is dead"}), said("half")))
	c.followup("m0")
	c.idle()
	if n := len(every[session.Answered](c)); n != 0 {
		c.broken("an answer was stored of an attempt that failed")
	}
	c.fate("m0", agent.FatePlaced)
}

// abandons cancels work that ignores its context.
func abandons(c *trial, what string) {
	at := slices.IndexFunc(businesses(), func(b business) bool { return b.name == what })
	c.stubborn = true
	leave := businesses()[at].enter(c)
	start := time.Now()
	c.cancel(byUser())
	c.inject("i1")
	c.idle()
	if took := time.Since(start); took > grace {
		c.broken("idle %v after the cancel, want at most the grace time, %v", took, grace)
	}
	asked := c.requests()
	c.unchanged("work that comes back after it was abandoned", leave)
	c.asked(asked)
	c.stubborn = false
	c.followup("m1")
	c.idle()
	c.fate("m1", agent.FateSeen)
	c.fate("i1", agent.FateSeen)
}
