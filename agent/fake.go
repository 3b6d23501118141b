package agent

import (
	"context"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// Fake is an Agent made of functions. One that is nil must not be called.
type Fake struct {
	Verbs
	OnID       func() session.ID
	OnStatus   func(context.Context) (Status, error)
	OnCancel   func(context.Context, Stop) (Stopped, error)
	OnResume   func(context.Context) error
	OnWithdraw func(context.Context, string) (Fate, error)
	OnAmend    func(context.Context, string, []chat.Part) (Fate, error)
	OnReply    func(context.Context, session.Reply) (QuestionFate, error)
	OnWaitIdle func(context.Context) error
}

func (f *Fake) ID() session.ID                                      { return f.OnID() }
func (f *Fake) Status(ctx context.Context) (Status, error)          { return f.OnStatus(ctx) }
func (f *Fake) Cancel(ctx context.Context, s Stop) (Stopped, error) { return f.OnCancel(ctx, s) }
func (f *Fake) Resume(ctx context.Context) error                    { return f.OnResume(ctx) }
func (f *Fake) WaitIdle(ctx context.Context) error                  { return f.OnWaitIdle(ctx) }

func (f *Fake) Withdraw(ctx context.Context, id string) (Fate, error) { return f.OnWithdraw(ctx, id) }

func (f *Fake) Amend(ctx context.Context, id string, parts []chat.Part) (Fate, error) {
	return f.OnAmend(ctx, id, parts)
}

func (f *Fake) Reply(ctx context.Context, r session.Reply) (QuestionFate, error) {
	return f.OnReply(ctx, r)
}

// Verbs is a Recipient made of one function, which is told the verb.
type Verbs func(context.Context, session.Verb, chat.Message) (Receipt, error)

func (f Verbs) Followup(ctx context.Context, m chat.Message) (Receipt, error) {
	return f(ctx, session.Followup, m)
}

func (f Verbs) Steer(ctx context.Context, m chat.Message) (Receipt, error) {
	return f(ctx, session.Steer, m)
}

func (f Verbs) Inject(ctx context.Context, m chat.Message) (Receipt, error) {
	return f(ctx, session.Inject, m)
}
