package tool

import (
	"context"
	"fmt"
	"strings"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// decide returns nil if the call may run, with the arguments it left in c, and
// else what it comes to. A call about which somebody was asked is not decided
// anew: the reply decides, now or later, on the arguments that were shown.
func (c *call) decide(ctx context.Context) *Answer {
	question, end := c.asked()
	if question == nil && end == nil {
		question, end = c.consider(ctx)
	}
	if end != nil {
		return end
	}
	if question != nil {
		if end := c.approve(ctx, *question); end != nil {
			return end
		}
	}
	return c.guard(ctx)
}

// asked returns the approval that was asked for before, if it was.
func (c *call) asked() (*session.Question, *Answer) {
	if len(c.Questions) == 0 {
		return nil, nil
	}
	stored := c.stored(c.questionID(0))
	if stored == nil {
		return nil, nil
	}
	checked, err := c.tool.Check(stored.Arguments)
	if err != nil { // the tool isn't what it was
		return nil, end(unfit(c.tool, err))
	}
	c.arguments = checked
	return &stored.Question, nil
}

// consider asks the hooks; it returns the question if a person is to decide.
func (c *call) consider(ctx context.Context) (*session.Question, *Answer) {
	if !Decide.Any(c.Scope) {
		return nil, nil
	}
	d, err := Decide.Ask(ctx, c.Scope, c.proposed(),
		func(_ context.Context, p Proposed) (Decision, error) { return p.Allow(), nil })
	if err != nil {
		return nil, c.broke(ctx, err)
	}
	if bad := c.rewrite(d); bad != nil {
		return nil, bad
	}
	switch d.Verdict {
	case VerdictAllow:
		return nil, nil
	case VerdictAsk:
		if bad := c.guard(ctx); bad != nil {
			return nil, bad
		}
		return &session.Question{
			ID: c.questionID(0), Kind: session.QuestionApproval, Text: d.Text, Options: d.Options,
			Arguments: c.arguments, Answer: c.Answer, Index: c.Index,
		}, nil
	case VerdictDeny:
		return nil, end(denied("by a rule", d.Reason))
	default:
		return nil, end(denied("", fmt.Sprintf("the hooks' verdict is %q, which is none of allow, deny, ask", d.Verdict)))
	}
}

// rewrite takes over the arguments that hooks decided on.
func (c *call) rewrite(d Decision) *Answer {
	if d.Arguments == "" || d.Arguments == c.arguments || d.Verdict == VerdictDeny {
		return nil
	}
	checked, err := c.tool.Check(d.Arguments)
	if err != nil {
		return end(denied("", "a rule changed the arguments into some that don't fit: "+err.Error()))
	}
	c.arguments = checked
	return nil
}

// guard asks every guard; nil if none minds.
func (c *call) guard(ctx context.Context) *Answer {
	if !guarding.Any(c.Scope) {
		return nil
	}
	denials, err := guarding.Ask(ctx, c.Scope, c.proposed(),
		func(context.Context, Proposed) ([]denial, error) { return nil, nil })
	if err != nil {
		return c.broke(ctx, err)
	}
	if len(denials) == 0 {
		return nil
	}
	if ctx.Err() != nil { // a guard that was stopped couldn't tell
		return end(notStarted("the turn was stopped first"))
	}
	var reasons []string
	for _, d := range denials {
		reasons = append(reasons, strings.TrimSuffix(d.Guard+": "+d.Reason, ": "))
	}
	return end(denied("by a guard", strings.Join(reasons, "; ")))
}

// approve asks a person; nil if the answer is yes.
func (c *call) approve(ctx context.Context, q session.Question) *Answer {
	r, err := c.ask(ctx, q)
	switch {
	case err != nil && ctx.Err() != nil:
		return end(notStarted("the turn was stopped first"))
	case err != nil:
		return end(notStarted("it needs a person's consent, and asking failed: " + err.Error()))
	case r.Allow:
		return nil
	default:
		return end(denied("by "+person(r.By), r.Text))
	}
}

// ask returns the reply to a question: the one it has, or the one it gets.
func (c *call) ask(ctx context.Context, q session.Question) (session.Reply, error) {
	if stored := c.stored(q.ID); stored != nil && stored.Reply != nil {
		return *stored.Reply, nil
	}
	if c.Ask == nil {
		return session.Reply{}, errNobody
	}
	return c.Ask(ctx, q)
}

func (c *call) stored(id string) *session.Asked {
	for _, q := range c.Questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// questionID is that of the call's nth question, the same after a restart. The
// first, 0, is the approval; the body's follow.
func (c *call) questionID(n int) string { return fmt.Sprintf("%s.%d", c.id(), n) }

// broke is a hook's failure before the call ran.
func (c *call) broke(ctx context.Context, err error) *Answer {
	if ctx.Err() != nil {
		return end(notStarted("the turn was stopped first"))
	}
	return end(denied("", "a hook that decides on calls broke: "+err.Error()))
}

func end(a Answer) *Answer { return &a }

func person(s chat.Source) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Kind == chat.SourceUser, s.Kind == "":
		return "the user"
	default:
		return string(s.Kind)
	}
}
