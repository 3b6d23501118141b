package agenttest

import (
	"context"
	"slices"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func enteringClause() clause {
	return clause{"D14", "entering is one append of what was runnable when the step became due", []situation{
		when("a message comes while the step is being stored", laterThanTheStep),
		when("a message comes while hooks look at the batch", laterThanThePeek, Entering),
		when("hooks refuse, take, rewrite and add", oneUnit, Entering),
		when("a peeked message is withdrawn", withdrawPeeked, Entering),
		when("a peeked message is amended", amendPeeked, Entering),
		when("the turn is cancelled while hooks look", cancelPeeked, Entering),
		when("a crash before the append", crashBeforeEntering),
		when("a crash before the append, with hooks", crashWhilePeeking, Entering),
	}}
}

func laterThanTheStep(c *trial) {
	c.open()
	c.does(says("a0"))
	g := c.gate()
	c.now.store.once(session.Entered{}, verdict{hold: g})
	c.inject("i0")
	first := c.delivers(context.Background(), session.Followup, user("m0")) // its append may be the step's
	c.reaches(g, "the append of the step")
	d := c.delivers(context.Background(), session.Inject, user("late"))
	c.settle()
	g.open()
	c.accepts(first)
	c.accepts(d)
	c.idle()
	c.sees(1, "user: i0", "user: m0")
	c.fate("late", agent.FatePending)
}

func laterThanThePeek(c *trial) {
	g := c.gate()
	c.entering(func(ctx context.Context, in agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		return all, g.pass(ctx)
	})
	c.open()
	c.does(says("a0"))
	c.followup("m0")
	c.reaches(g, "the hook")
	c.fate("m0", agent.FatePending)
	c.steer("s1")
	c.inject("i1")
	g.open()
	c.idle()
	c.sees(1, "user: m0")
	c.sees(2, "user: m0", "model: a0", "user: s1", "user: i1")
	c.ends(session.EndCompleted)
}

func oneUnit(c *trial) {
	c.entering(func(_ context.Context, in agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		all = rules(all, agent.Ruling{ID: "refuse", Verdict: agent.Refuse, Reason: "no"})
		all = rules(all, agent.Ruling{ID: "take", Verdict: agent.Take, Reason: "done"})
		all = rules(all, agent.Ruling{ID: "rewrite", Verdict: agent.Enter, Parts: []chat.Part{chat.Text("rewritten")}})
		all.After = []chat.Message{chat.Say("added").From(clock)}
		return all, nil
	})
	c.open()
	c.inject("refuse", "take", "rewrite")
	c.followup("m0")
	c.idle()
	c.sees(1, "user: rewritten", "user: m0", "plugin clock: added")
	if f := c.fate("refuse", agent.FateRefused); f.Hook != theHook || f.Reason != "no" {
		c.broken("refused by %q because %q, want %q because %q", f.Hook, f.Reason, theHook, "no")
	}
	if f := c.fate("take", agent.FateTaken); f.Hook != theHook || f.Reason != "done" {
		c.broken("taken by %q because %q, want %q because %q", f.Hook, f.Reason, theHook, "done")
	}
	_, seq := last[session.Entered](c)
	i := slices.IndexFunc(c.units, func(u unit) bool { return u[0].Seq <= seq && seq <= u[len(u)-1].Seq })
	if u := c.units[i]; !u.has(session.Refused{}) || !u.has(session.Taken{}) {
		c.broken("the step was stored with %s, want refused and taken in the same append", list(facts(u)))
	}
}

// peeks opens an agent whose hook holds its first look at a batch, and notes
// all it is shown.
func (c *trial) peeks() (g *gate, looks *[][]string) {
	g, looks = c.gate(), new([][]string)
	c.entering(func(ctx context.Context, in agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		var look []string
		for _, p := range in.Batch {
			look = append(look, chat.PlainText(p.Message.Parts))
		}
		c.mu.Lock()
		*looks = append(*looks, look)
		first := len(*looks) == 1
		c.mu.Unlock()
		if first {
			// What it says then is void, whatever it is.
			return all, g.force(ctx)
		}
		return all, nil
	})
	c.open()
	return g, looks
}

func (c *trial) looked(looks *[][]string, want ...[]string) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.EqualFunc(*looks, want, slices.Equal) {
		c.broken("the hooks were shown %q, want %q", *looks, want)
	}
}

func withdrawPeeked(c *trial) {
	g, looks := c.peeks()
	c.inject("i1")
	c.followup("m0")
	c.reaches(g, "the hook")
	f, err := c.now.agent.Withdraw(context.Background(), "i1")
	if err != nil || f.State != agent.FateWithdrawn {
		c.broken("withdrawing a peeked message: %+v, %v; want withdrawn", f, err)
	}
	g.open()
	c.idle()
	c.looked(looks, []string{"i1", "m0"}, []string{"m0"})
	c.sees(1, "user: m0")
}

func amendPeeked(c *trial) {
	g, looks := c.peeks()
	c.followup("m0")
	c.reaches(g, "the hook")
	f, err := c.now.agent.Amend(context.Background(), "m0", []chat.Part{chat.Text("m1")})
	if err != nil || f.State != agent.FatePending {
		c.broken("amending a peeked message: %+v, %v; want pending", f, err)
	}
	g.open()
	c.idle()
	c.looked(looks, []string{"m0"}, []string{"m1"})
	c.sees(1, "user: m1")
}

func cancelPeeked(c *trial) {
	g, looks := c.peeks()
	c.followup("m0")
	c.reaches(g, "the hook")
	c.cancel(agent.Stop{Cause: session.CauseUser})
	g.open()
	c.idle()
	c.looked(looks, []string{"m0"})
	c.fate("m0", agent.FateCleared)
	c.asked(0)
	c.ends(session.EndCancelled)
}

// dies has the process die at an append that holds a fact of the type of f,
// and starts another.
func (c *trial) dies(f session.Fact, written bool, meanwhile func()) {
	c.Helper()
	c.now.store.once(f, verdict{dies: true, lost: written})
	meanwhile()
	c.until(c.now.store.died, "no append holds a %s", f.Type())
	c.bury()
	c.open()
}

func crashBeforeEntering(c *trial) {
	c.open()
	c.inject("i0")
	c.dies(session.Entered{}, false, func() {
		c.delivers(context.Background(), session.Followup, user("m0"))
		c.settle()
	})
	if _, err := agent.FateOf(context.Background(), c.store, theSession, "m0"); err != nil {
		c.followup("m0") // the message and the step are one append here
	}
	c.idle()
	c.sees(1, "user: i0", "user: m0")
	c.asked(1)
}

func crashWhilePeeking(c *trial) {
	var keys []string
	g := c.gate()
	c.entering(func(ctx context.Context, in agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		c.mu.Lock()
		keys = append(keys, in.Key)
		first := len(keys) == 1
		c.mu.Unlock()
		if first {
			return all, g.pass(ctx)
		}
		return all, nil
	})
	c.open()
	c.followup("m0")
	c.reaches(g, "the hook")
	c.crash()
	c.fate("m0", agent.FatePending)
	c.open()
	c.idle()
	c.sees(1, "user: m0")
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(keys) != 2 {
		c.broken("the hooks were asked %d times, want again after the crash", len(keys))
	}
}
