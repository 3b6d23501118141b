package agenttest

import (
	"context"
	"slices"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func noRequestAfterCancel(c *trial) {
	c.open()
	leave := c.holdsModel(func(g *gate) move { return g.stubborn(says("a0")) })
	c.steer("s1")
	c.cancel(byUser())
	c.deliver(session.Steer, tick("later"))
	c.settle()
	c.asked(1)
	leave()
	c.idle()
	c.asked(2)
	c.fate("s1", agent.FateCleared)
	c.ends(session.EndCancelled, session.EndCompleted)
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
	q := c.asks()
	c.cancel(byUser())
	if f, _ := last[session.Cancelled](c); !slices.Equal(f.Closed, []string{q}) {
		c.broken("the cancel closed the questions %q, want %q", f.Closed, q)
	}
	c.question(q, agent.QuestionClosed)
	c.idle()
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
