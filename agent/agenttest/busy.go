package agenttest

import (
	"context"
	"fmt"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// state of an agent in which messages reach it.
type business struct {
	name  string
	needs []Ability
	// enter brings a fresh agent into the state; leave lets it go on.
	enter func(c *trial) (leave func())
}

func businesses() []business {
	return []business{
		{"idle", nil, func(c *trial) func() {
			c.open()
			return func() {}
		}},
		{"thinking", nil, func(c *trial) func() {
			c.open()
			return c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
		}},
		{"streaming", nil, func(c *trial) func() {
			c.open()
			return c.holdsModel(func(g *gate) move { return streams(g.then(says("a0")), said("a")) })
		}},
		{"retrying", []Ability{Retries}, func(c *trial) func() {
			c.open()
			c.does(breaks(Failure{Text: "come again", Passing: true}))
			c.followup("m0")
			c.settle()
			return func() {}
		}},
		{"running a tool", []Ability{Tools}, func(c *trial) func() {
			g := c.gate()
			c.tool(Tool{Name: "look", Run: g.body(gives("seen"))})
			c.open()
			c.does(calls("look"))
			c.followup("m0")
			c.reaches(g, "the tool")
			return g.open
		}},
		{"asking", []Ability{Tools, Questions}, func(c *trial) func() {
			c.asksThroughTool()
			c.open()
			c.does(calls("ask"))
			c.followup("m0")
			c.settle()
			return func() { c.reply(c.openQuestions(1)[0].ID, "yes") }
		}},
		{"consulting hooks", []Ability{Entering}, func(c *trial) func() {
			g := c.gate()
			c.entering(func(ctx context.Context, _ agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
				return all, g.pass(ctx)
			})
			c.open()
			c.followup("m0")
			c.reaches(g, "the hook")
			return g.open
		}},
		{"compacting", []Ability{Maintenance}, func(c *trial) func() {
			g := c.gate()
			c.maintenance(func(ctx context.Context, in agent.MaintenanceInput) (agent.MaintenanceAnswer, error) {
				if in.Turn == 1 {
					return agent.MaintenanceAnswer{}, nil
				}
				return agent.MaintenanceAnswer{}, g.pass(ctx)
			})
			c.open()
			c.followup("history")
			c.idle()
			c.followup("m0")
			c.reaches(g, "the hook")
			return g.open
		}},
		{"about to end", []Ability{Stopping}, func(c *trial) func() {
			g := c.gate()
			c.stopping(func(ctx context.Context, _ agent.StoppingInput) (agent.StoppingAnswer, error) {
				return agent.StoppingAnswer{}, g.pass(ctx)
			})
			c.open()
			c.followup("m0")
			c.reaches(g, "the hook")
			return g.open
		}},
		{"being stopped", nil, func(c *trial) func() {
			c.open()
			leave := c.holdsModel(func(g *gate) move { return g.stubborn(says("a0")) })
			c.cancel(agent.Stop{Cause: session.CauseUser})
			return leave
		}},
		{"after a failure", nil, func(c *trial) func() {
			c.open()
			c.does(breaks(Failure{Text: "no such model"}))
			c.followup("m0")
			c.idle()
			return func() {}
		}},
	}
}

// holdsModel starts a turn whose model stands at a gate.
func (c *trial) holdsModel(does func(*gate) move) (leave func()) {
	c.Helper()
	return c.holdsModelFor("m0", does)
}

func (c *trial) holdsModelFor(id string, does func(*gate) move) (leave func()) {
	c.Helper()
	g := c.gate()
	c.does(does(g))
	c.followup(id)
	c.reaches(g, "the model")
	return g.open
}

func busySituations() []situation {
	var all []situation
	for _, b := range businesses() {
		all = append(all, when(b.name, func(c *trial) {
			leave := b.enter(c)
			for _, v := range verbs() {
				for i := range 2 {
					c.deliver(v, user(fmt.Sprintf("%s-%d", v, i)))
				}
			}
			leave()
			c.idle()
			c.followup("last")
			c.idle()
			for _, v := range verbs() {
				for i := range 2 {
					c.fate(fmt.Sprintf("%s-%d", v, i), agent.FateSeen)
				}
			}
		}, b.needs...))
	}
	return all
}

// asksThroughTool makes the tool ask, which puts a question to the principal
// and gives back what was replied.
func (c *trial) asksThroughTool() {
	c.tool(Tool{Name: "ask", Repeatable: true, Run: func(ctx context.Context, arguments string) ([]chat.Part, chat.Code) {
		r, err := poses(ctx, session.Question{ID: "q", Kind: session.QuestionText, Text: "which?", Arguments: arguments})
		if err != nil {
			return []chat.Part{chat.Text("no reply")}, failed(err)
		}
		return []chat.Part{chat.Text(r.Text)}, chat.CodeOK
	}})
}

func (c *trial) reply(id, text string) agent.QuestionFate {
	c.Helper()
	f, err := c.now.agent.Reply(context.Background(), session.Reply{ID: id, By: chat.User(), Text: text})
	c.must("reply to "+id, err)
	return f
}
