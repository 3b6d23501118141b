package agenttest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/session"
)

func failureClauses() []clause {
	return []clause{
		{"F1", "a failed turn ends with a reason, and parks what waited, so that the queue isn't burnt", []situation{
			when("the model fails", failedTurn),
			when("a later turn completes", failedThenCompleted),
			when("the principal goes on", failedThenReleased),
			when("it was stopped before", failedKeepsStopped),
			when("a message comes while the end is being stored", failedWhileStoring),
		}},
		{"F2", "hooks let in, refuse or take each message of the batch; without a reason to ask, no step runs", refusals()},
		reopeningClause(),
		ownershipClause(),
		{"F5", "one bad session stops no other", []situation{
			when("its log has a fact that nobody knows", unreadable),
		}},
		{"F6", "a batch on which hooks fail is parked; failing again on it refuses its messages", []situation{
			when("the hook fails", func(c *trial) { poison(c, func() error { return errors.New("it broke") }) }, Entering),
			when("the hook panics", func(c *trial) { poison(c, func() error { panic("it broke") }) }, Entering),
			when("the hook leaves a message out", leftOut, Entering),
		}},
	}
}

// breaksDown has a turn fail while messages wait.
func (c *trial) breaksDown(meanwhile func()) {
	c.Helper()
	leave := c.holdsModel(func(g *gate) move { return g.then(breaks(Failure{Text: "the line is dead"})) })
	meanwhile()
	leave()
	c.idle()
}

func failedTurn(c *trial) {
	c.open()
	c.breaksDown(func() {
		c.followup("f1")
		c.steer("s1")
		c.inject("i1")
	})
	c.asked(1)
	c.parked("f1 failed", "s1 failed")
	c.waits("f1", "s1", "i1")
	c.fate("m0", agent.FatePlaced)
	f, _ := last[session.TurnEnded](c)
	if f.Reason != session.EndFailed || f.Failure == nil || f.Failure.Kind == "" {
		c.broken("the turn ended %+v, want failed, with a kind of failure", f)
	}
}

func failedThenCompleted(c *trial) {
	c.open()
	c.breaksDown(func() { c.deliver(session.Followup, tick("f1")) })
	c.deliver(session.Followup, tick("f2"))
	c.idle()
	c.sees(2, "user: m0", "plugin clock: f2")
	c.sees(3, "user: m0", "plugin clock: f2", "model: done", "plugin clock: f1")
	c.parked()
	c.ends(session.EndFailed, session.EndCompleted, session.EndCompleted)
}

func failedThenReleased(c *trial) {
	for i, release := range []func(){c.resume, func() { c.followup("next") }} {
		c.open()
		id := fmt.Sprintf("f%d", i)
		leave := c.holdsModelFor("m"+id, func(g *gate) move { return g.then(breaks(Failure{Text: "the line is dead"})) })
		c.followup(id)
		leave()
		c.idle()
		c.parked(id + " failed")
		release()
		c.idle()
		c.parked()
		c.fate(id, agent.FateSeen)
		c.close()
	}
}

func failedKeepsStopped(c *trial) {
	c.open()
	c.parks(func() { c.followup("f1") })
	g := c.gate()
	c.does(g.then(breaks(Failure{Text: "the line is dead"})))
	c.deliver(session.Followup, tick("m1"))
	c.reaches(g, "the model")
	c.deliver(session.Followup, tick("f2"))
	g.open()
	c.idle()
	c.parked("f1 stopped", "f2 failed")
	c.deliver(session.Followup, tick("m2"))
	c.idle()
	c.parked("f1 stopped")
	c.fate("f2", agent.FateSeen)
}

// failedWhileStoring delivers while the turn's end is on its way into the log:
// what was accepted after it isn't parked by it.
func failedWhileStoring(c *trial) {
	c.open()
	g := c.gate()
	c.does(breaks(Failure{Text: "the line is dead"}))
	c.now.store.once(session.TurnEnded{}, verdict{hold: g})
	c.followup("m0")
	c.reaches(g, "the append of the end")
	d := c.delivers(context.Background(), session.Followup, tick("f1"))
	c.settle()
	g.open()
	c.accepts(d)
	c.idle()
	c.fate("f1", agent.FateSeen)
	c.parked()
	c.ends(session.EndFailed, session.EndCompleted)
}

func refusals() []situation {
	return []situation{
		when("the only message is refused", func(c *trial) { turnedAway(c, agent.Refuse, session.EndBlocked) }, Entering),
		when("the only message is taken", func(c *trial) { turnedAway(c, agent.Take, session.EndCompleted) }, Entering),
		when("the steer is refused though results are owed", refusedBesideResults, Tools, Entering),
		when("a hook stops the turn", hookStops, Entering),
	}
}

// gatekeeps has a hook that rules on one message.
func (c *trial) gatekeeps(r agent.Ruling) {
	c.entering(func(_ context.Context, _ agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		return rules(all, r), nil
	})
}

func turnedAway(c *trial, v agent.Verdict, end session.EndReason) {
	c.gatekeeps(agent.Ruling{ID: "m0", Verdict: v, Reason: "no"})
	c.open()
	c.inject("i1")
	c.followup("m0")
	c.idle()
	c.asked(0)
	c.fate("i1", agent.FatePending)
	c.ends(end)
	c.followup("m1")
	c.idle()
	c.sees(1, "user: i1", "user: m1")
	c.ends(end, session.EndCompleted)
}

func refusedBesideResults(c *trial) {
	g := c.gate()
	c.tool(Tool{Name: "look", Run: g.body(gives("seen"))})
	c.gatekeeps(agent.Ruling{ID: "s1", Verdict: agent.Refuse, Reason: "no"})
	c.open()
	c.does(calls("look"))
	c.followup("m0")
	c.reaches(g, "the tool")
	c.steer("s1")
	g.open()
	c.idle()
	c.sees(2, "user: m0", "model: →look", "look: seen")
	c.fate("s1", agent.FateRefused)
	c.ends(session.EndCompleted)
}

func hookStops(c *trial) {
	c.entering(func(_ context.Context, in agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		if in.Turn == 1 {
			all.Stop = &agent.StopRuling{Hook: theHook, Reason: "not now"}
		}
		return all, nil
	})
	c.open()
	c.inject("i1")
	c.followup("m0")
	c.idle()
	c.asked(0)
	c.parked("m0 stopped")
	c.waits("i1", "m0")
	c.endedBy(session.CauseHook)
	c.resume()
	c.idle()
	c.sees(1, "user: i1", "user: m0")
}

func unreadable(c *trial) {
	c.open()
	c.followup("m0")
	c.idle()
	ctx := context.Background()
	lease, err := c.store.Acquire(ctx, "bad", c.now.name)
	c.must("acquire", err)
	bad := session.Record{Seq: 1, Type: "from.the.future", Version: 1, Data: []byte(`{}`)}
	c.must("append", c.store.Append(ctx, session.Append{Lease: lease, Records: []session.Record{bad}})[0])
	subject := c.config.New(c.TB, c.world(c.now))
	_, err = subject.Drive(ctx, agent.Start{
		Store: c.store, Lease: lease, Scope: c.now.scope, Grace: grace, World: agent.World{Now: time.Now, NewID: c.newID},
	})
	c.fails("opening a session with an unknown fact", err, session.ErrUnreadable)
	c.followup("m1")
	c.idle()
	c.asked(2)
}

// poison has hooks fail on every batch that holds m0.
func poison(c *trial, fail func() error) {
	c.entering(func(_ context.Context, in agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		for _, p := range in.Batch {
			if p.Message.ID == "m0" {
				return all, fail()
			}
		}
		return all, nil
	})
	c.open()
	c.inject("i1")
	c.followup("m0")
	c.idle()
	c.parked("m0 failed")
	c.waits("i1", "m0")
	f, _ := last[session.TurnEnded](c)
	if f.Reason != session.EndFailed || f.Failure == nil || f.Failure.Hook != theHook {
		c.broken("the turn ended %+v with %+v, want failed by the hook %s", f, f.Failure, theHook)
	}
	c.resume()
	c.idle()
	if f := c.fate("m0", agent.FateRefused); f.Hook != theHook || f.Reason == "" {
		c.broken("refused by %q because %q, want by the hook and with its error", f.Hook, f.Reason)
	}
	c.asked(0)
	c.followup("m1")
	c.idle()
	c.fate("m1", agent.FateSeen)
}

func leftOut(c *trial) {
	c.entering(func(_ context.Context, in agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		if in.Turn == 1 {
			all.Rulings = all.Rulings[1:]
		}
		return all, nil
	})
	c.open()
	c.inject("i1")
	c.followup("m0")
	c.idle()
	c.asked(0)
	c.parked("m0 failed")
	c.ends(session.EndFailed)
	c.resume()
	c.idle()
	c.sees(1, "user: i1", "user: m0")
}
