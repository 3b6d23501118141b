package agenttest

import (
	"context"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// replays requires that a message is answered with its first receipt, others
// of its id with ErrConflict, and that nothing is appended or asked by it.
func (c *trial) replays(v session.Verb, m chat.Message, first agent.Receipt) {
	c.Helper()
	before := c.requests()
	c.unchanged("a replay", func() {
		first.Replayed = true
		withMeta := m
		withMeta.Meta = map[string]string{"seen": "twice"}
		for _, again := range []chat.Message{m, withMeta} {
			if r := c.deliver(v, again); r != first {
				c.broken("the replay of %s got %+v, want %+v", m.ID, r, first)
			}
		}
		for _, other := range verbs() {
			if other != v {
				_, err := c.tries(other, m)
				c.fails("message "+m.ID+" as a "+string(other), err, agent.ErrConflict)
			}
		}
		for _, other := range []chat.Message{
			user("something else").As(m.ID), m.From(clock),
			{ID: m.ID, Role: chat.RoleSystem, Source: m.Source, Parts: m.Parts},
		} {
			_, err := c.tries(v, other)
			c.fails("another message "+m.ID, err, agent.ErrConflict)
		}
	})
	c.asked(before)
}

func replayPending(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("done")))
	c.followup("first")
	c.reaches(g, "the model")
	for _, v := range verbs() {
		c.replays(v, user(string(v)), c.deliver(v, user(string(v))))
	}
	g.open()
	c.idle()
}

func replaySeen(c *trial) {
	c.open()
	for _, v := range verbs() {
		g := c.gate()
		c.does(g.then(says("done")))
		r := c.deliver(v, user(string(v)))
		if v == session.Inject {
			c.followup("last")
		}
		c.reaches(g, "the model")
		c.fate(r.ID, agent.FatePlaced)
		c.replays(v, user(string(v)), r)
		g.open()
		c.idle()
		c.fate(r.ID, agent.FateSeen)
		c.replays(v, user(string(v)), r)
	}
}

func replayEnded(c *trial) {
	c.open()
	for _, v := range verbs() {
		g := c.gate()
		c.does(g.then(says("done")))
		c.followup("before-" + string(v))
		c.reaches(g, "the model")
		gone := c.deliver(v, user("gone-"+string(v)))
		cleared := c.deliver(v, user("cleared-"+string(v)))
		_, err := c.now.agent.Withdraw(context.Background(), gone.ID)
		c.must("withdraw", err)
		c.cancel(agent.Stop{})
		c.idle()
		c.replays(v, user(gone.ID), gone)
		c.replays(v, user(cleared.ID), cleared)
		c.fate(gone.ID, agent.FateWithdrawn)
		c.fate(cleared.ID, agent.FateCleared)
	}
}

func replayParked(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("done")))
	c.followup("first")
	c.reaches(g, "the model")
	f := c.deliver(session.Followup, user("next"))
	s := c.deliver(session.Steer, user("now"))
	c.cancel(agent.Stop{KeepInbox: true})
	c.idle()
	c.replays(session.Followup, user("next"), f)
	c.replays(session.Steer, user("now"), s)
	c.parked("next stopped", "now stopped")
}

func replayAmended(c *trial) {
	c.open()
	r := c.deliver(session.Inject, user("first"))
	_, err := c.now.agent.Amend(context.Background(), "first", []chat.Part{chat.Text("changed")})
	c.must("amend", err)
	c.replays(session.Inject, user("first"), r)
	_, err = c.tries(session.Inject, user("changed").As("first"))
	c.fails("the message as it was amended", err, agent.ErrConflict)
	c.followup("go")
	c.idle()
	c.sees(1, "user: changed", "user: go")
	c.replays(session.Inject, user("first"), r)
}

func replayRefused(c *trial) {
	c.entering(func(_ context.Context, _ agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		all = rules(all, agent.Ruling{ID: "refused", Verdict: agent.Refuse, Reason: "no"})
		return rules(all, agent.Ruling{ID: "taken", Verdict: agent.Take}), nil
	})
	c.open()
	for _, id := range []string{"refused", "taken"} {
		r := c.deliver(session.Followup, user(id))
		c.idle()
		c.replays(session.Followup, user(id), r)
	}
	c.asked(0)
}

func replayReopened(c *trial) {
	c.open()
	seen := c.deliver(session.Followup, user("seen"))
	c.idle()
	pending := c.deliver(session.Inject, user("pending"))
	c.reopen()
	c.replays(session.Followup, user("seen"), seen)
	c.replays(session.Inject, user("pending"), pending)
}

func replayAtOnce(c *trial) {
	c.open()
	g := c.gate()
	c.now.store.once(session.Accepted{}, verdict{hold: g})
	one := c.delivers(context.Background(), session.Followup, user("one"))
	c.settle()
	two := c.delivers(context.Background(), session.Followup, user("one"))
	other := c.delivers(context.Background(), session.Steer, user("one"))
	c.settle()
	g.open()
	r := c.accepts(one)
	if second := c.accepts(two); second.Seq != r.Seq || !second.Replayed || r.Replayed {
		c.broken("the receipts are %+v and %+v, want the second to be a replay of the first", r, second)
	}
	c.until(other.done, "a delivery isn't answered")
	c.fails("the id with another verb", other.err, agent.ErrConflict)
	c.idle()
	c.ends(session.EndCompleted)
}
