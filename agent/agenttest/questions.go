package agenttest

import (
	"context"
	"errors"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func questionClauses() []clause {
	return []clause{
		{"Q1", "a question is stored before anyone is asked; the first reply counts", []situation{
			when("asked and answered", asked, Tools, Questions),
			when("answered twice", answeredTwice, Tools, Questions),
			when("never asked", neverAsked),
			when("the turn is cancelled", answeredTooLate, Tools, Questions),
			when("two at once", askedBeside, Tools, Questions),
			when("the question can't be stored", askedUnstored, Tools, Questions),
		}},
		{"Q2", "no message is an answer and no reply a message; a restart asks again under the same id", []situation{
			when("messages come while a question is open", messagesBesideQuestion, Tools, Questions),
			when("a crash while the question is open", askedAgain, Tools, Questions),
			when("a crash after the reply", answeredThenCrashed, Tools, Questions),
		}},
	}
}

// asks opens an agent whose tool asks, and waits until the question is open.
func (c *trial) asks() (id string) {
	c.Helper()
	c.asksThroughTool()
	c.open()
	c.does(calls("ask"))
	c.followup("m0")
	c.settle()
	return c.openQuestions(1)[0].ID
}

// openQuestions requires how many questions wait for a reply.
func (c *trial) openQuestions(want int) []session.Question {
	c.Helper()
	questions := c.inbox().Questions
	if len(questions) != want {
		c.broken("%d questions are open, want %d: %+v", len(questions), want, questions)
	}
	return questions
}

func (c *trial) question(id string, want agent.QuestionState) agent.QuestionFate {
	c.Helper()
	f, err := agent.QuestionFateOf(context.Background(), c.store, theSession, id)
	if err != nil || f.State != want {
		c.broken("the question %s is %q, %v; want %s", id, f.State, err, want)
	}
	return f
}

func asked(c *trial) {
	c.asks()
	q := c.openQuestions(1)[0]
	_, seq := last[session.Answered](c)
	if q.Turn != 1 || q.Answer != seq || q.Index != 0 || q.Arguments != "" && q.Arguments != `{"n":1}` || q.Text != "which?" {
		c.broken("the question is %+v, want it of call 0 of answer %d in turn 1, with its text and arguments", q, seq)
	}
	c.question(q.ID, agent.QuestionOpen)
	f := c.reply(q.ID, "this")
	if f.State != agent.QuestionAnswered || f.Reply == nil || f.Reply.Text != "this" {
		c.broken("Reply says %+v, want answered by this", f)
	}
	c.idle()
	c.openQuestions(0)
	c.question(q.ID, agent.QuestionAnswered)
	c.sees(2, "user: m0", "model: →ask", "ask: this")
}

func answeredTwice(c *trial) {
	q := c.asks()
	c.reply(q, "this")
	for range 2 {
		if f := c.reply(q, "that"); f.State != agent.QuestionAnswered || f.Reply.Text != "this" {
			c.broken("the second reply says %+v, want answered by this", f)
		}
		c.idle()
	}
	if n := len(every[session.Reply](c)); n != 1 {
		c.broken("%d replies are stored, want the first", n)
	}
	c.sees(2, "user: m0", "model: →ask", "ask: this")
}

func neverAsked(c *trial) {
	c.open()
	c.unchanged("a reply to no question", func() {
		_, err := c.now.agent.Reply(context.Background(), session.Reply{ID: "q", By: chat.User(), Text: "this"})
		c.fails("a reply to no question", err, agent.ErrUnknown)
	})
}

func answeredTooLate(c *trial) {
	q := c.asks()
	c.cancel(byUser())
	c.question(q, agent.QuestionClosed)
	c.idle()
	c.unchanged("a reply to a closed question", func() {
		if f := c.reply(q, "this"); f.State != agent.QuestionClosed || f.Cause == "" {
			c.broken("the late reply says %+v, want closed, with a cause", f)
		}
	})
	c.openQuestions(0)
}

func askedBeside(c *trial) {
	for _, which := range []string{"q1", "q2"} {
		c.tool(Tool{Name: "ask-" + which, Beside: true, Run: func(ctx context.Context, _ string) ([]chat.Part, chat.Code) {
			r, err := poses(ctx, session.Question{ID: which, Kind: session.QuestionApproval, Text: which})
			if err != nil || !r.Allow {
				return []chat.Part{chat.Text("no")}, chat.CodeDenied
			}
			return []chat.Part{chat.Text("allowed")}, chat.CodeOK
		}})
	}
	c.open()
	c.does(calls("ask-q1", "ask-q2"))
	c.followup("m0")
	c.settle()
	for _, q := range c.openQuestions(2) {
		_, err := c.now.agent.Reply(context.Background(), session.Reply{ID: q.ID, By: chat.User(), Allow: q.Text == "q2"})
		c.must("reply", err)
	}
	c.idle()
	c.sees(2, "user: m0", "model: →ask-q1→ask-q2", "ask-q1 (denied)", "ask-q2: allowed")
}

func askedUnstored(c *trial) {
	var failure error
	c.tool(Tool{Name: "ask", Run: func(ctx context.Context, _ string) ([]chat.Part, chat.Code) {
		_, failure = poses(ctx, session.Question{ID: "q", Kind: session.QuestionText, Text: "which?"})
		return []chat.Part{chat.Text("nobody was asked")}, chat.CodeError
	}})
	c.open()
	c.does(calls("ask"))
	c.now.store.always(session.Question{}, verdict{refuse: errDisk})
	c.followup("m0")
	c.idle()
	if failure == nil || errors.Is(failure, context.DeadlineExceeded) {
		c.broken("a question that couldn't be stored: %v, want an error", failure)
	}
	c.openQuestions(0)
}

func messagesBesideQuestion(c *trial) {
	q := c.asks()
	c.steer("yes")
	c.inject("this")
	c.settle()
	c.openQuestions(1)
	c.reply(q, "that")
	c.idle()
	c.sees(2, "user: m0", "model: →ask", "ask: that", "user: yes", "user: this")
	c.ends(session.EndCompleted)
}

func askedAgain(c *trial) {
	q := c.asks()
	c.crash()
	c.question(q, agent.QuestionOpen)
	c.open()
	c.settle()
	c.openQuestions(1)
	if n := len(every[session.Question](c)); n != 1 {
		c.broken("the question was stored %d times, want once", n)
	}
	c.asked(1)
	c.reply(q, "this")
	c.idle()
	c.sees(2, "user: m0", "model: →ask", "ask: this")
}

func answeredThenCrashed(c *trial) {
	q := c.asks()
	c.dies(session.Resulted{}, false, func() { c.reply(q, "this") })
	c.idle()
	if n := len(every[session.Question](c)); n != 1 {
		c.broken("the question was stored %d times, want once", n)
	}
	c.question(q, agent.QuestionAnswered)
	c.sees(2, "user: m0", "model: →ask", "ask: this")
}
