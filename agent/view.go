package agent

import (
	"context"
	"fmt"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// Inbox is what waits, for clients.
type Inbox struct {
	Head      session.Seq        `json:"head"` // the last event it rests on
	Messages  []Waiting          `json:"messages"`
	Questions []session.Question `json:"questions"` // open ones, in the order asked
}

// Waiting is a pending message.
type Waiting struct {
	Seq     session.Seq        `json:"seq"`
	Verb    session.Verb       `json:"verb"`
	Parked  session.ParkReason `json:"parked,omitempty"`
	Message chat.Message       `json:"message"`
}

// InboxOf reads what waits from the log.
func InboxOf(ctx context.Context, j session.Journal, id session.ID) (Inbox, error) {
	var fold session.Inbox
	view := Inbox{Messages: []Waiting{}, Questions: []session.Question{}}
	for e, err := range session.Events(ctx, j, id, 0) {
		if err != nil {
			return view, fmt.Errorf("read the inbox of %s: %w", id, err)
		}
		if err := fold.Apply(e); err != nil {
			return view, fmt.Errorf("read the inbox of %s: %w", id, err)
		}
		view.Head = e.Seq
	}
	for _, p := range fold.Pending() {
		view.Messages = append(view.Messages, Waiting{Seq: p.Seq, Verb: p.Verb, Parked: p.Parked, Message: *p.Message})
	}
	for _, q := range fold.Questions() {
		if q.Reply == nil {
			view.Questions = append(view.Questions, q.Question)
		}
	}
	return view, nil
}
