package react

import (
	"fmt"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// apply changes the state by one event; nothing else does. An error means that
// the log contradicts itself, and leaves the machine unusable.
func (m *machine) apply(e session.Event) error {
	if e.Seq != m.Head+1 {
		return fmt.Errorf("event %d follows event %d", e.Seq, m.Head)
	}
	if !m.follows(e.Fact) {
		return fmt.Errorf("event %d, %s, contradicts what is before it: the log is damaged; restore it from a backup", e.Seq, e.Fact.Type())
	}
	asked := m.peeked(e.Fact)
	if err := m.talk.Apply(e); err != nil {
		return err
	}
	m.Head = e.Seq
	m.turnTo(e)
	if asked {
		m.Turn.Cause = e.Seq
	}
	m.revive(e)
	return nil
}

// follows says whether a fact can come after what is in the log.
func (m *machine) follows(f session.Fact) bool {
	t := &m.Turn
	switch f := f.(type) {
	case session.Accepted:
		return m.talk.Inbox.Get(f.Message.ID) == nil
	case session.TurnStarted:
		return !t.open()
	case session.TurnEnded, session.Halted:
		return t.open()
	case session.Entered:
		return t.Phase == atBoundary
	case session.Until, session.Attempt:
		return t.Phase == atModel || t.Phase == atPause
	case session.Answered:
		return t.Phase == atModel && len(f.Traits) == len(f.Answer.Calls())
	case session.CallStarted:
		_, open := m.open(f.Answer, f.Index)
		return open
	case session.Resulted:
		_, open := m.open(f.Answer, f.Index)
		return open
	case session.Forked:
		return !t.open() || t.Phase == atBoundary
	default:
		return true
	}
}

// revive gives a turn that is about to end another step, if a message came for
// it. What several stopping hooks said comes together.
func (m *machine) revive(e session.Event) {
	t := &m.Turn
	f, _ := e.Fact.(session.Accepted)
	if m.ending() && m.joining(e.Seq) || f.Objects && t.Objected && t.Due == e.Seq-1 {
		t.due(e.Seq)
		t.Objected = f.Objects
	}
}

// turnTo folds what an event means for the loop.
func (m *machine) turnTo(e session.Event) {
	t := &m.Turn
	switch f := e.Fact.(type) {
	case session.TurnStarted:
		m.Turns = f.Turn
		*t = turn{Started: e.Seq, Alarm: e.Seq, At: e.Time, Attempt: 1}
		t.due(e.Seq)
	case session.TurnEnded:
		*t = turn{}
	case session.Entered:
		m.entered(e.Seq, f)
	case session.Refused:
		t.Blocked = true
	case session.Header:
		m.Header = f
	case session.Until:
		t.Phase, t.Until, t.Cause = atPause, f.At, e.Seq
	case session.Attempt:
		t.Phase, t.Attempt, t.Cause = atModel, f.Number, e.Seq
	case session.Answered:
		m.answered(e.Seq, f)
	case session.CallStarted:
		t.withCall(f.Index, func(c *call) { c.Started = true })
	case session.Resulted:
		m.resulted(e.Seq, f)
	case session.Cancelled:
		m.cancelled(e.Seq, f)
	case session.Halted:
		t.Stop = halt{Seq: e.Seq, Reason: f.Reason, Failure: f.Failure, Detail: f.Detail}
		if f.Reason == session.EndFailed {
			t.Stop.Seq = t.Lost // it was reopened too often: nothing has begun since
		}
	case session.Reopened:
		m.reopened(e.Seq, f)
	case session.Replaced:
		m.replaced(e.Seq, f)
	case session.Configured:
		m.Settings, t.Alarm = &f, e.Seq
		m.unsettle(e.Seq)
	case session.Spawned:
		if !f.Detached {
			t.Children = append(t.Children[:len(t.Children):len(t.Children)], f.Child)
		}
	case session.Parent:
		m.Parent = &f
	case session.Forked:
		m.Turn, m.Parent = turn{}, nil
		m.Spent, m.Children = session.Spent{}, session.Spent{}
	}
}

// peeked says whether the fact touches a message that hooks are looking at.
func (m *machine) peeked(f session.Fact) bool {
	var id string
	switch f := f.(type) {
	case session.Withdrawn:
		id = f.ID
	case session.Amended:
		id = f.ID
	default:
		return false
	}
	if m.Turn.Phase != atBoundary || m.ending() {
		return false
	}
	for _, p := range m.batch() {
		if p.ID == id {
			return true
		}
	}
	return false
}

// unsettle has the hooks asked anew.
func (m *machine) unsettle(seq session.Seq) {
	if m.Turn.Phase == atBoundary {
		m.Turn.Cause = seq
	}
}

func (m *machine) entered(seq session.Seq, f session.Entered) {
	t := &m.Turn
	t.Phase, t.Cause, t.Step, t.Attempt = atModel, seq, f.Step, 1
	t.Settings = m.Settings
	t.Results, t.Maintained, t.Blocked, t.Refused, t.Concluded = false, false, false, false, false
	m.spend(session.Spent{Steps: 1})
}

func (m *machine) answered(seq session.Seq, f session.Answered) {
	t := &m.Turn
	m.spend(session.Spent{Tokens: f.Answer.Usage.Total(), Cost: f.Cost})
	t.MaxTokens = t.MaxTokens || f.Answer.Finish == chat.FinishMaxTokens
	t.Refused = f.Answer.Finish == chat.FinishRefused
	t.Answer, t.Calls, t.Attempt = seq, nil, 1
	if len(f.Traits) == 0 {
		t.due(seq)
		return
	}
	t.Phase, t.Cause = atCalls, seq
	t.Calls = make([]call, len(f.Traits))
	for i, trait := range f.Traits {
		t.Calls[i].Trait = trait
	}
}

func (m *machine) resulted(seq session.Seq, f session.Resulted) {
	t := &m.Turn
	t.withCall(f.Index, func(c *call) { c.Done = true })
	t.Concluded = t.Concluded || f.Concludes && f.Result.Code == chat.CodeOK
	m.Children = m.Children.Add(f.Spent)
	if t.allDone() {
		t.Results = !t.Concluded
		t.Calls, t.Attempt = nil, 1
		t.due(seq)
	}
}

func (m *machine) cancelled(seq session.Seq, f session.Cancelled) {
	t := &m.Turn
	if !t.open() || t.Stop.Reason == session.EndCancelled {
		return
	}
	if !t.stopping() {
		t.Stop.Seq = seq
	}
	t.Stop = halt{Seq: t.Stop.Seq, Reason: session.EndCancelled, Cause: f.Cause, Detail: f.Reason}
}

func (m *machine) reopened(seq session.Seq, f session.Reopened) {
	t := &m.Turn
	if !t.open() {
		return
	}
	t.Lost, t.Cause, t.Attempt = seq, seq, f.Attempt
	for i, c := range t.Calls {
		if c.Started && !c.Done && !c.Repeatable {
			t.withCall(i, func(c *call) { c.Lost = true })
		}
	}
	if f.Mode == session.OpenHold && !t.stopping() {
		t.Stop = halt{
			Seq: seq, Reason: session.EndCancelled, Cause: session.CauseHost,
			Detail: "held when the session was opened",
		}
	}
}

func (m *machine) replaced(seq session.Seq, f session.Replaced) {
	m.spend(f.Spent)
	if m.Turn.Phase == atBoundary {
		m.Turn.due(seq)
		m.Turn.Maintained = true
	}
}
