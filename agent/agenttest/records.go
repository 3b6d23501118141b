package agenttest

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func recordClauses() []clause {
	return []clause{
		{"R1", "Record appends a plugin's fact; it places no message and wakes nothing", []situation{
			when("idle", recordIdle),
			when("the model thinks", recordWhileThinking),
			when("the fact is invalid", recordInvalid),
		}},
		{"R2", "settings are a fact, and take effect at the next step", []situation{
			when("changed while idle and while a turn runs", configures, Settings),
		}},
		{"R3", "history may be replaced before a request; no delivery aborts it and nothing unseen is dropped", []situation{
			when("before a request", replacedBefore, Maintenance),
			when("messages come meanwhile", replacedMeanwhile, Maintenance),
			when("the request was too long", replacedTooLong, Maintenance),
			when("on demand", replacedOnDemand, Replacing),
			when("what mustn't be replaced", notReplaceable, Replacing),
		}},
	}
}

// noted is a plugin's fact.
func noted(kind string) session.Noted {
	return session.Noted{Kind: kind, Version: 1, Data: []byte(`{"n":1}`)}
}

// records appends a plugin's fact, which must be found again.
func (c *trial) records(n session.Noted) {
	c.Helper()
	var seq session.Seq
	var err error
	c.atOnce("Record", func() { seq, err = c.now.agent.Record(context.Background(), n) })
	c.must("record", err)
	for _, e := range c.log() {
		if f, is := e.Fact.(session.Noted); is && e.Seq == seq && f.Kind == n.Kind && string(f.Data) == string(n.Data) {
			return
		}
	}
	c.broken("event %d isn't the fact %s", seq, n.Kind)
}

func recordIdle(c *trial) {
	c.open()
	c.inject("i1")
	c.parks(func() { c.followup("f1") })
	before := c.requests()
	head := len(c.log())
	c.records(noted("test/first"))
	c.records(noted("test/second"))
	c.settle()
	c.rests()
	c.asked(before)
	c.parked("f1 stopped")
	if n := len(c.log()); n != head+2 {
		c.broken("two facts made %d events", n-head)
	}
	c.reopen()
	c.resume()
	c.idle()
	c.sees(before+1, "user: i1", "user: parking", "user: f1")
}

func recordWhileThinking(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	c.records(noted("test/first"))
	leave()
	c.idle()
	c.asked(1)
	c.ends(session.EndCompleted)
}

func recordInvalid(c *trial) {
	c.open()
	for _, bad := range []session.Noted{
		{Kind: "accepted", Version: 1, Data: []byte(`{}`)},
		{Kind: "test/fact", Version: 0, Data: []byte(`{}`)},
		{Kind: "test/fact", Version: 1, Data: []byte(`{`)},
	} {
		c.unchanged("an invalid fact", func() {
			_, err := c.now.agent.Record(context.Background(), bad)
			c.fails(fmt.Sprintf("recording %+v", bad), err, agent.ErrInvalid)
		})
	}
}

func configures(c *trial) {
	c.open()
	configure := c.now.subject.Configure
	one := session.Configured{Mode: "one"}
	c.must("configure", configure(context.Background(), c.now.agent, one))
	c.settle()
	c.asked(0)
	c.rests()
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	two := session.Configured{Mode: "two"}
	c.must("configure", configure(context.Background(), c.now.agent, two))
	c.steer("s1")
	leave()
	c.idle()
	c.asked(2)
	if got := every[session.Configured](c); !reflect.DeepEqual(got, []session.Configured{one, two}) {
		c.broken("stored were the settings %+v, want one and two", got)
	}
	c.ends(session.EndCompleted)
}

// summary stands for a range of history.
func summary(from, to session.Seq) session.Replaced {
	return session.Replaced{
		From: from, To: to, Hook: theHook,
		Messages: []chat.Message{chat.Say("in short").From(clock).As(fmt.Sprintf("summary-%d", to))},
	}
}

func replacedBefore(c *trial) {
	c.maintenance(func(_ context.Context, in agent.MaintenanceInput) (agent.MaintenanceAnswer, error) {
		if in.Turn != 2 || len(in.Items) < 2 || in.Items[0].Message.ID != "m0" {
			return agent.MaintenanceAnswer{}, nil
		}
		r := summary(in.Items[0].From, in.Items[1].To)
		return agent.MaintenanceAnswer{Replaced: &r}, nil
	})
	c.open()
	c.followup("m0")
	c.idle()
	c.followup("m1")
	c.idle()
	c.sees(2, "plugin clock: in short", "user: m1")
	if f, _ := last[session.Replaced](c); f.From == 0 || f.To < f.From || f.Hook != theHook {
		c.broken("the replacement is %+v, want it to cite what it stands for", f)
	}
	c.fate("m0", agent.FateSeen)
	c.reopen()
	c.followup("m2")
	c.idle()
	c.sees(3, "plugin clock: in short", "user: m1", "model: done", "user: m2")
}

func replacedMeanwhile(c *trial) {
	g := c.gate()
	ended := false
	c.maintenance(func(ctx context.Context, in agent.MaintenanceInput) (agent.MaintenanceAnswer, error) {
		if in.Turn != 2 || in.Step != 1 || in.Items[0].Message.ID != "m0" {
			return agent.MaintenanceAnswer{}, nil
		}
		if err := g.pass(ctx); err != nil {
			ended = true
			return agent.MaintenanceAnswer{}, err
		}
		r := summary(in.Items[0].From, in.Items[1].To)
		return agent.MaintenanceAnswer{Replaced: &r}, nil
	})
	c.open()
	c.followup("m0")
	c.idle()
	c.followup("m1")
	c.reaches(g, "the hook")
	c.steer("s1")
	c.inject("i1")
	c.followup("f1")
	g.open()
	c.idle()
	if ended {
		c.broken("a delivery ended the hook's context")
	}
	if n := len(every[session.Replaced](c)); n != 1 {
		c.broken("history was replaced %d times, want once", n)
	}
	for _, id := range []string{"m1", "s1", "i1", "f1"} {
		c.fate(id, agent.FateSeen)
	}
	// D14: the replacement made the step due, and by then a steer could run.
	if got := render(c.request(2)); got[0] != "plugin clock: in short" || !slices.Contains(got, "user: s1") {
		c.broken("the next request shows %s, want the replacement, and s1", list(got))
	}
}

func replacedTooLong(c *trial) {
	var failure *session.Failure
	c.maintenance(func(_ context.Context, in agent.MaintenanceInput) (agent.MaintenanceAnswer, error) {
		if in.Failure == nil {
			return agent.MaintenanceAnswer{}, nil
		}
		failure = in.Failure
		log := c.log()
		at := slices.IndexFunc(log, func(e session.Event) bool { _, is := e.Fact.(session.Answered); return is })
		r := summary(1, log[at].Seq)
		return agent.MaintenanceAnswer{Replaced: &r}, nil
	})
	c.open()
	c.followup("m0")
	c.idle()
	c.does(breaks(Failure{Text: "too long", TooLong: true}))
	c.followup("m1")
	c.idle()
	if failure == nil || failure.Kind == "" {
		c.broken("the hook wasn't told of the failure: %+v", failure)
	}
	c.sees(2, "user: m0", "model: done", "user: m1")
	c.sees(3, "plugin clock: in short", "user: m1")
	c.ends(session.EndCompleted, session.EndCompleted)
}

func replacedOnDemand(c *trial) {
	c.open()
	c.followup("m0")
	c.idle()
	c.inject("i1")
	_, to := last[session.Answered](c)
	before := c.requests()
	c.must("replace", c.now.subject.Replace(context.Background(), c.now.agent, summary(1, to)))
	c.settle()
	c.rests()
	c.asked(before)
	c.waits("i1")
	c.followup("m1")
	c.idle()
	c.sees(2, "plugin clock: in short", "user: i1", "user: m1")
}

func notReplaceable(c *trial) {
	c.open()
	c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	_, entered := last[session.Entered](c)
	replace := c.now.subject.Replace
	c.unchanged("replacing what the model hasn't seen", func() {
		c.fails("replacing what the model hasn't seen",
			replace(context.Background(), c.now.agent, summary(1, entered)), agent.ErrInvalid)
	})
	c.unchanged("replacing nothing", func() {
		c.fails("replacing nothing", replace(context.Background(), c.now.agent, summary(99, 100)), agent.ErrInvalid)
	})
}
