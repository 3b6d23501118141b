package agenttest

import (
	"context"
	"fmt"
	"strings"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func boundClauses() []clause {
	return []clause{
		{"D15", "each accepted id ends as one message in the transcript or one terminal fate", []situation{
			when("the request is retried", onceThoughRetried, Retries),
			when("the agent is reopened while the model is asked", onceThoughReopened),
			when("the turn is stopped and resumed", onceThoughResumed),
		}},
		{"D16", "what waits is bounded, and never dropped: beyond the limit is ErrFull", []situation{
			when("the number of injects", func(c *trial) { fullOf(c, session.Inject) }),
			when("the number of followups", func(c *trial) { fullOf(c, session.Followup) }),
			when("the size of one message", tooBig),
			when("the size of all", fullOfBytes),
			when("amended beyond it", amendedTooBig),
		}},
		{"D17", "every call is legal from everywhere; what would wait for itself is ErrSelfWait", []situation{
			when("from the model", func(c *trial) { fromModel(c) }),
			when("from a tool", fromTool, Tools),
			when("from an entering hook", fromEntering, Entering),
			when("from a maintenance hook", fromMaintenance, Maintenance),
			when("from a stopping hook", fromStopping, Stopping),
			when("from a listener", fromListener),
			when("a tool cancels its own turn", toolCancels, Tools),
		}},
		{"D18", "messages are validated and copied at the call", []situation{
			when("invalid ones", invalidMessages),
			when("changed by the caller afterwards", changedAfterwards),
		}},
	}
}

func onceThoughRetried(c *trial) {
	c.open()
	c.does(breaks(Failure{Text: "come again", Passing: true}), streams(breaks(Failure{Text: "again", Passing: true}), said("half")))
	c.inject("i0")
	c.followup("m0")
	c.idle()
	c.asked(3)
	for n := range 3 {
		c.sees(n+1, "user: i0", "user: m0")
	}
	c.ends(session.EndCompleted)
}

func onceThoughReopened(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("unheard")))
	c.inject("i0")
	c.followup("m0")
	c.reaches(g, "the model")
	c.reopen()
	c.idle()
	c.sees(2, "user: i0", "user: m0")
	c.asked(2)
	c.ends(session.EndCompleted)
}

func onceThoughResumed(c *trial) {
	c.open()
	c.parks(func() { c.followup("m1") })
	c.resume()
	c.idle()
	c.sees(2, "user: parking", "user: m1")
	c.asked(2)
}

// fullOf fills the room of a verb's messages while the model is held.
func fullOf(c *trial, v session.Verb) {
	const most = 1024
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	for i := range most - most/4 {
		c.deliver(v, tick(fmt.Sprintf("m-%d", i)))
	}
	c.unchanged("a plugin's message beyond three quarters", func() {
		_, err := c.tries(v, tick("too-many"))
		c.fails("a plugin's message beyond three quarters", err, agent.ErrFull)
	})
	for i := range most / 4 {
		c.deliver(v, user(fmt.Sprintf("u-%d", i)))
	}
	c.unchanged("a message beyond the limit", func() {
		_, err := c.tries(v, user("too-many"))
		c.fails("a message beyond the limit", err, agent.ErrFull)
	})
	if v == session.Followup {
		_, err := c.tries(session.Steer, user("too-many"))
		c.fails("a steer where the followups are too many", err, agent.ErrFull)
		c.inject("other")
		if s := c.cancel(agent.Stop{}); len(s.Cleared) != most+1 {
			c.broken("the cancel cleared %d messages, want %d", len(s.Cleared), most+1)
		}
		leave()
		c.idle()
		return
	}
	c.steer("other")
	leave()
	c.idle()
	if n := len(c.request(2)); n != 1+1+most+1 {
		c.broken("the next request shows %d items, want all %d injects and 3 others", n, most)
	}
}

const mebibyte = 1 << 20

// bulky is a message of n bytes.
func bulky(id string, n int) chat.Message {
	m := user(id)
	m.Parts = []chat.Part{chat.Text(strings.Repeat("x", n))}
	return m
}

func tooBig(c *trial) {
	c.open()
	for _, v := range verbs() {
		c.unchanged("a message that is too big", func() {
			_, err := c.tries(v, bulky("big", 8*mebibyte+1))
			c.fails("a "+string(v)+" of more than 8 MiB", err, agent.ErrFull)
		})
	}
	c.deliver(session.Inject, bulky("fits", 8*mebibyte))
}

func fullOfBytes(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	c.deliver(session.Inject, bulky("plugin-1", 8*mebibyte).From(clock))
	_, err := c.tries(session.Inject, bulky("plugin-2", 8*mebibyte).From(clock))
	c.fails("a plugin's injects beyond three quarters of 16 MiB", err, agent.ErrFull)
	c.deliver(session.Inject, bulky("person-1", 8*mebibyte))
	_, err = c.tries(session.Inject, user("person-2"))
	c.fails("injects beyond 16 MiB", err, agent.ErrFull)
	c.steer("s1")
	leave()
	c.idle()
	if n := len(c.request(2)); n != 5 {
		c.broken("the next request shows %d items, want 5", n)
	}
	c.inject("room-again")
}

func amendedTooBig(c *trial) {
	c.open()
	c.inject("small")
	c.unchanged("an amendment that is too big", func() {
		_, err := c.now.agent.Amend(context.Background(), "small", bulky("", 8*mebibyte+1).Parts)
		c.fails("amending a message to more than 8 MiB", err, agent.ErrFull)
	})
}

func invalidMessages(c *trial) {
	c.open()
	for _, bad := range []struct {
		field string
		m     chat.Message
	}{
		{"id", user("a b")},
		{"role", chat.Message{Role: "boss", Parts: []chat.Part{chat.Text("x")}}},
		{"source.kind", user("x").From(chat.Source{Kind: "nobody"})},
		{"source.name", user("x").From(chat.Source{Kind: chat.SourcePlugin})},
		{"parts", chat.Message{ID: "x"}},
		{"parts[1].text", chat.Message{ID: "x", Parts: []chat.Part{chat.Text("fine"), chat.Text("")}}},
		{"parts[0].media", chat.Message{ID: "x", Parts: []chat.Part{chat.Image("picture", []byte{1})}}},
		{"meta", chat.Message{ID: "x", Parts: []chat.Part{chat.Text("x")}, Meta: map[string]string{"": "x"}}},
	} {
		for _, v := range verbs() {
			c.unchanged("an invalid message", func() {
				_, err := c.tries(v, bad.m)
				c.fails("a "+string(v)+" with a wrong "+bad.field, err, agent.ErrInvalid)
				if !strings.Contains(err.Error(), bad.field) {
					c.broken("the error %q doesn't name %s", err, bad.field)
				}
			})
		}
	}
	c.inject("i1")
	c.unchanged("an invalid amendment", func() {
		_, err := c.now.agent.Amend(context.Background(), "i1", nil)
		c.fails("amending a message to nothing", err, agent.ErrInvalid)
	})
	c.asked(0)
}

func changedAfterwards(c *trial) {
	c.open()
	data := []byte("as it was")
	m := chat.Message{ID: "m0", Parts: []chat.Part{chat.Text("m0"), chat.File("f", "text/plain", data)}, Meta: map[string]string{"k": "as it was"}}
	c.deliver(session.Inject, m)
	m.Parts[0] = chat.Text("changed")
	m.Meta["k"] = "changed"
	copy(data, "CHANGED!!")
	amended := []chat.Part{chat.Text("i1, amended")}
	c.inject("i1")
	_, err := c.now.agent.Amend(context.Background(), "i1", amended)
	c.must("amend", err)
	amended[0] = chat.Text("changed")
	c.followup("go")
	c.idle()
	c.sees(1, "user: m0 <file of 20 bytes>", "user: i1, amended", "user: go")
	f, _, err := agent.First(context.Background(), c.store, theSession, "m0")
	c.must("look the message up", err)
	if got := f.Message; got.Meta["k"] != "as it was" || string(got.Parts[1].Data) != "as it was" || f.Digest != got.Digest() {
		c.broken("accepted was %+v, want it as it was at the call", got)
	}
}
