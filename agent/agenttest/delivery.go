package agenttest

import (
	"context"
	"errors"
	"strings"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func verbs() []session.Verb { return []session.Verb{session.Followup, session.Steer, session.Inject} }

func deliveryClauses() []clause {
	return []clause{
		{"D1", "accepted means durable, and the wake comes after that", []situation{
			when("the log holds the message when it is accepted", acceptedIsInTheLog),
			when("nothing is asked before the append is done", wakesAfterTheAppend),
		}},
		{"D2", "any other return than nil means not accepted and nothing changed, or ErrUncertain with the id", []situation{
			when("the append fails", refusedAppend),
			when("the outcome is unknown and it was written", func(c *trial) { uncertainAppend(c, true) }),
			when("the outcome is unknown and it was not written", func(c *trial) { uncertainAppend(c, false) }),
		}},
		{"D3", "the same id, verb and content is the first receipt for ever; another is ErrConflict", []situation{
			when("pending", replayPending),
			when("placed and seen", replaySeen),
			when("withdrawn or cleared, and nothing is revived", replayEnded),
			when("parked, and nothing is released", replayParked),
			when("amended", replayAmended),
			when("refused by a hook", replayRefused, Entering),
			when("reopened", replayReopened),
			when("twice at once", replayAtOnce),
		}},
		{"D4", "the caller's context bounds only the wait", []situation{
			when("ended before the append", endedBefore),
			when("ended while the append is under way", endedDuring),
			when("ended while the model is asked", endedAfter),
		}},
		{"D6", "a receipt is id, sequence, verb and replayed", []situation{
			when("it names the accepted fact", receipts),
			when("Collect gathers an interval", collects),
		}},
		{"D7", "the sequence is the order, and one caller's calls get rising ones", []situation{
			when("many callers at once", manyCallers),
		}},
	}
}

func acceptedIsInTheLog(c *trial) {
	c.open()
	for _, v := range verbs() {
		r := c.deliver(v, user(string(v)))
		var found bool
		for _, e := range c.log() {
			f, is := e.Fact.(session.Accepted)
			found = found || is && e.Seq == r.Seq && f.Verb == v && f.Message.ID == string(v)
		}
		if !found {
			c.broken("event %d isn't the acceptance of %s", r.Seq, v)
		}
	}
	c.idle()
}

func wakesAfterTheAppend(c *trial) {
	for _, v := range []session.Verb{session.Followup, session.Steer} {
		c.open()
		before := c.requests()
		g := c.gate()
		c.now.store.once(session.Accepted{}, verdict{hold: g})
		d := c.delivers(context.Background(), v, user(string(v)))
		c.settle()
		if !d.under() {
			c.broken("a %s was answered (%v) before it was in the log", v, d.err)
		}
		c.asked(before)
		g.open()
		c.accepts(d)
		c.idle()
		c.asked(before + 1)
		c.close()
	}
}

func refusedAppend(c *trial) {
	c.open()
	for _, v := range verbs() {
		before := c.requests()
		c.now.store.once(session.Accepted{}, verdict{refuse: errDisk})
		c.unchanged("a refused "+string(v), func() {
			r, err := c.tries(v, user(string(v)))
			c.fails("a "+string(v)+" whose append failed", err, agent.ErrStorage)
			if errors.Is(err, agent.ErrUncertain) || r != (agent.Receipt{}) {
				c.broken("a refused %s: %+v, %v; want no receipt, and no doubt", v, r, err)
			}
		})
		c.asked(before)
		if r := c.deliver(v, user(string(v))); r.Replayed {
			c.broken("the %s is a replay although it had not been accepted", v)
		}
		c.idle()
	}
}

func uncertainAppend(c *trial, written bool) {
	for _, v := range verbs() {
		for _, m := range []chat.Message{user(string(v)), chat.Say("minted for a " + string(v))} {
			c.open()
			c.now.store.once(session.Accepted{}, verdict{refuse: session.ErrUncertain, lost: written})
			_, err := c.tries(v, m)
			c.fails("a "+string(v)+" whose append is uncertain", err, agent.ErrUncertain)
			var doubt *agent.UncertainError
			if !errors.As(err, &doubt) || doubt.ID == "" || m.ID != "" && doubt.ID != m.ID {
				c.broken("the error of message %q is %#v, want an *UncertainError with its id", m.ID, err)
			}
			c.now.lost = true
			_ = c.shut(c.now)
			c.open()
			if r := c.deliver(v, m.As(doubt.ID)); r.Replayed != written {
				c.broken("the repeated %s is replayed: %v, want %v", v, r.Replayed, written)
			}
			c.idle()
			c.close()
		}
	}
}

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

func endedBefore(c *trial) {
	c.open()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, v := range verbs() {
		c.unchanged("a "+string(v)+" whose context had ended", func() {
			_, err := agent.Deliver(ctx, c.now.agent, v, user(string(v)))
			c.fails("a "+string(v)+" whose context had ended", err, context.Canceled)
			if errors.Is(err, agent.ErrUncertain) {
				c.broken("the error of the %s is %v, but nothing is uncertain", v, err)
			}
		})
	}
	c.asked(0)
}

func endedDuring(c *trial) {
	c.open()
	for _, v := range verbs() {
		for _, m := range []chat.Message{user(string(v)), chat.Say("minted for a " + string(v))} {
			g := c.gate()
			c.now.store.once(session.Accepted{}, verdict{hold: g})
			ctx, cancel := context.WithCancel(context.Background())
			d := c.delivers(ctx, v, m)
			c.reaches(g, "the store")
			cancel()
			c.settle()
			if d.under() {
				c.broken("the %s goes on waiting although its context ended", v)
			}
			var doubt *agent.UncertainError
			if !errors.As(d.err, &doubt) || doubt.ID == "" || m.ID != "" && doubt.ID != m.ID {
				c.broken("the error of message %q is %v, want an *UncertainError with its id", m.ID, d.err)
			}
			g.open()
			if r := c.deliver(v, m.As(doubt.ID)); !r.Replayed {
				c.broken("the %s wasn't accepted because its caller left: %+v", v, r)
			}
			c.idle()
		}
	}
	c.asked(4)
}

func endedAfter(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("done")))
	ctx, cancel := context.WithCancel(context.Background())
	c.accepts(c.delivers(ctx, session.Followup, user("one")))
	c.reaches(g, "the model")
	cancel()
	c.settle()
	g.open()
	c.idle()
	c.fate("one", agent.FateSeen)
	c.ends(session.EndCompleted)
}

func receipts(c *trial) {
	c.open()
	for _, v := range verbs() {
		for _, m := range []chat.Message{user("mine-" + string(v)), chat.Say("say")} {
			r := c.deliver(v, m)
			first, seq, err := agent.First(context.Background(), c.store, theSession, r.ID)
			c.must("look the message up", err)
			if r != (agent.Receipt{ID: first.Message.ID, Seq: seq, Verb: v}) || m.ID != "" && r.ID != m.ID {
				c.broken("the receipt of %q is %+v; it was accepted as %s, event %d", m.ID, r, first.Message.ID, seq)
			}
		}
	}
	c.idle()
}

func collects(c *trial) {
	c.open()
	c.inject("note")
	c.does(says("hello"))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := agent.Collect(ctx, c.now.agent, c.store, session.Followup, user("hi"))
	c.must("collect", err)
	if got.Text != "hello" || got.Ended == nil || got.Ended.Reason != session.EndCompleted || got.Fate.State != agent.FateSeen {
		c.broken("collected the text %q, the end %+v and the fate %s; want hello, completed, seen", got.Text, got.Ended, got.Fate.State)
	}
}

func manyCallers(c *trial) {
	c.open()
	const callers, each = 8, 12
	c.does(says("done"))
	receipts := make([][]agent.Receipt, callers)
	errs := make([]error, callers)
	done := make(chan int)
	for i := range callers {
		go func() {
			defer func() { done <- i }()
			for j := range each {
				m := user(strings.Join([]string{"m", string(rune('a' + i)), string(rune('a' + j))}, "-"))
				r, err := c.tries(verbs()[(i+j)%3], m)
				if err != nil {
					errs[i] = err
					return
				}
				receipts[i] = append(receipts[i], r)
			}
		}()
	}
	for range callers {
		<-done
	}
	seen := map[session.Seq]bool{}
	for i := range callers {
		c.must("deliver", errs[i])
		var before session.Seq
		for _, r := range receipts[i] {
			if r.Seq <= before || seen[r.Seq] {
				c.broken("caller %d got the sequence %d after %d; taken: %v", i, r.Seq, before, seen[r.Seq])
			}
			before, seen[r.Seq] = r.Seq, true
		}
	}
	c.followup("last")
	c.idle()
	if n := len(c.inbox().Messages); n != 0 {
		c.broken("%d messages are still pending", n)
	}
}
