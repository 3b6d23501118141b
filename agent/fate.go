package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// FateState is how far a message has come. A message is pending, then placed,
// then seen; or from pending it comes to one of the other ends.
type FateState string

const (
	FatePending   FateState = "pending"   // accepted, not yet in the transcript
	FatePlaced    FateState = "placed"    // in the transcript
	FateSeen      FateState = "seen"      // and a request that held it was answered
	FateWithdrawn FateState = "withdrawn" // taken back
	FateCleared   FateState = "cleared"   // by a cancel: Cause
	FateRefused   FateState = "refused"   // by a hook: Hook and Reason
	FateTaken     FateState = "taken"     // a hook dealt with it: Hook and Reason
)

// Fate is what became of a message.
type Fate struct {
	ID       string             `json:"id"`
	State    FateState          `json:"state"`
	Verb     session.Verb       `json:"verb,omitempty"` // empty: a hook added it
	Accepted session.Seq        `json:"accepted,omitempty"`
	Seq      session.Seq        `json:"seq"`              // of the fact that brought it here
	Parked   session.ParkReason `json:"parked,omitempty"` // of a pending message: why it is held back
	Turn     int                `json:"turn,omitempty"`   // in which it was placed
	Step     int                `json:"step,omitempty"`
	Cause    session.Cause      `json:"cause,omitempty"`
	Hook     string             `json:"hook,omitempty"`
	Reason   string             `json:"reason,omitempty"`
}

// Final says that the fate won't change any more.
func (f Fate) Final() bool { return f.State != FatePending && f.State != FatePlaced }

// FateOf reads what became of a message from the log. ErrUnknown: no message
// of that id was ever accepted or added.
func FateOf(ctx context.Context, j session.Journal, id session.ID, message string) (Fate, error) {
	facts, err := about(ctx, j, id, session.MessageKey(message))
	if err != nil {
		return Fate{}, fmt.Errorf("look up message %s: %w", message, err)
	}
	if len(facts) == 0 {
		return Fate{}, fmt.Errorf("%w: message %s in session %s", ErrUnknown, message, id)
	}
	fate := Fate{ID: message}
	for _, e := range facts {
		fate.follow(e)
	}
	switch fate.State {
	case FatePending:
		fate.Parked, err = parked(ctx, j, id, fate)
	case FatePlaced:
		err = fate.look(ctx, j, id)
	default: // final
	}
	return fate, err
}

// follow takes the fate one fact further.
func (f *Fate) follow(e session.Event) {
	switch fact := e.Fact.(type) {
	case session.Accepted:
		f.State, f.Verb, f.Accepted, f.Seq = FatePending, fact.Verb, e.Seq, e.Seq
	case session.Entered:
		f.State, f.Seq, f.Turn, f.Step = FatePlaced, e.Seq, fact.Turn, fact.Step
	case session.Withdrawn:
		f.State, f.Seq = FateWithdrawn, e.Seq
	case session.Refused:
		f.State, f.Seq, f.Hook, f.Reason = FateRefused, e.Seq, fact.Hook, fact.Reason
	case session.Taken:
		f.State, f.Seq, f.Hook, f.Reason = FateTaken, e.Seq, fact.Hook, fact.Reason
	case session.Cancelled:
		if slices.Contains(fact.Cleared, f.ID) {
			f.State, f.Seq, f.Cause, f.Reason = FateCleared, e.Seq, fact.Cause, fact.Reason
		}
	}
}

// look finds out whether a placed message was seen.
func (f *Fate) look(ctx context.Context, j session.Journal, id session.ID) error {
	for e, err := range session.Events(ctx, j, id, f.Seq) {
		if err != nil {
			return err
		}
		if _, is := e.Fact.(session.Answered); is {
			f.State = FateSeen
			return nil
		}
	}
	return nil
}

// parked folds the log from the message's acceptance on.
func parked(ctx context.Context, j session.Journal, id session.ID, f Fate) (session.ParkReason, error) {
	var inbox session.Inbox
	for e, err := range session.Events(ctx, j, id, f.Accepted-1) {
		if err != nil {
			return "", err
		}
		if err := inbox.Apply(e); err != nil {
			return "", err
		}
	}
	if p := inbox.Get(f.ID); p != nil {
		return p.Parked, nil
	}
	return "", nil
}

// QuestionState is how far a question has come.
type QuestionState string

const (
	QuestionOpen     QuestionState = "open"
	QuestionAnswered QuestionState = "answered"
	QuestionClosed   QuestionState = "closed" // nobody needs the answer any more
)

// QuestionFate is what became of a question.
type QuestionFate struct {
	Question session.Question `json:"question"`
	State    QuestionState    `json:"state"`
	Seq      session.Seq      `json:"seq"`             // of the fact that brought it here
	Reply    *session.Reply   `json:"reply,omitempty"` // the one that counts
	Cause    string           `json:"cause,omitempty"` // of QuestionClosed: cancelled, halted, result
}

// QuestionFateOf reads what became of a question from the log. ErrUnknown: it
// was never asked.
func QuestionFateOf(ctx context.Context, j session.Journal, id session.ID, question string) (QuestionFate, error) {
	facts, err := about(ctx, j, id, session.QuestionKey(question))
	if err != nil {
		return QuestionFate{}, fmt.Errorf("look up question %s: %w", question, err)
	}
	var fate QuestionFate
	for _, e := range facts {
		fate.follow(e)
	}
	if fate.State == "" {
		return fate, fmt.Errorf("%w: question %s in session %s", ErrUnknown, question, id)
	}
	return fate, nil
}

func (f *QuestionFate) follow(e session.Event) {
	switch fact := e.Fact.(type) {
	case session.Question:
		f.Question, f.State, f.Seq = fact, QuestionOpen, e.Seq
	case session.Reply:
		if f.State == QuestionOpen {
			f.State, f.Seq, f.Reply = QuestionAnswered, e.Seq, &fact
		}
	case session.Cancelled, session.Halted, session.Resulted:
		if f.State == QuestionOpen {
			f.State, f.Seq, f.Cause = QuestionClosed, e.Seq, e.Fact.Type()
		}
	}
}

// about reads the facts that have a key.
func about(ctx context.Context, j session.Journal, id session.ID, key string) ([]session.Event, error) {
	records, err := j.Find(ctx, id, key)
	if err != nil {
		return nil, err
	}
	events := make([]session.Event, 0, len(records))
	for _, r := range records {
		e, err := session.Decode(id, r)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// First is a message as it was first accepted, and when. ErrUnknown: it never
// was.
func First(ctx context.Context, j session.Journal, id session.ID, message string) (session.Accepted, session.Seq, error) {
	facts, err := about(ctx, j, id, session.MessageKey(message))
	if err != nil {
		return session.Accepted{}, 0, err
	}
	for _, e := range facts {
		if f, is := e.Fact.(session.Accepted); is {
			return f, e.Seq, nil
		}
	}
	return session.Accepted{}, 0, fmt.Errorf("%w: message %s in session %s", ErrUnknown, message, id)
}

// Replay answers a message whose id was accepted before: with the first receipt
// if verb and content are the same, else with ErrConflict.
func Replay(first session.Accepted, seq session.Seq, v session.Verb, digest chat.Digest) (Receipt, error) {
	if first.Verb != v || first.Digest != digest {
		return Receipt{}, fmt.Errorf("%s %s: %w: it was accepted as a %s, event %d",
			v, first.Message.ID, ErrConflict, first.Verb, seq)
	}
	return Receipt{ID: first.Message.ID, Seq: seq, Verb: v, Replayed: true}, nil
}
