package agent

import (
	"context"
	"fmt"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// Bind returns r as handed to one sender: messages without a source are that
// sender's, messages with another are ErrInvalid.
func Bind(r Recipient, to chat.Source) Recipient { return &bound{r: r, source: to} }

type bound struct {
	r      Recipient
	source chat.Source
}

func (b *bound) Followup(ctx context.Context, m chat.Message) (Receipt, error) {
	return b.deliver(ctx, session.Followup, b.r.Followup, m)
}

func (b *bound) Steer(ctx context.Context, m chat.Message) (Receipt, error) {
	return b.deliver(ctx, session.Steer, b.r.Steer, m)
}

func (b *bound) Inject(ctx context.Context, m chat.Message) (Receipt, error) {
	return b.deliver(ctx, session.Inject, b.r.Inject, m)
}

type deliver func(context.Context, chat.Message) (Receipt, error)

func (b *bound) deliver(ctx context.Context, v session.Verb, to deliver, m chat.Message) (Receipt, error) {
	switch m.Source {
	case chat.Source{}:
		m.Source = b.source
	case b.source:
	default:
		return Receipt{}, fmt.Errorf("%s: source: %w: %+v, but the sender is %+v", v, ErrInvalid, m.Source, b.source)
	}
	return to(ctx, m)
}

// Ready returns m as it is accepted: with an id, a role, and copied, so that
// the caller may go on changing what it handed over. ErrInvalid names the field
// that is wrong. Drivers call it on the caller's goroutine.
func Ready(v session.Verb, m chat.Message, mint func() string) (chat.Message, error) {
	if m.Role == "" {
		m.Role = chat.RoleUser
	}
	if m.ID == "" {
		m.ID = mint()
	}
	if m.Source == (chat.Source{}) {
		m.Source = chat.User()
	}
	if err := m.Validate(); err != nil {
		return m, fmt.Errorf("%s: %w: %w", v, ErrInvalid, err)
	}
	return m.Clone(), nil
}
