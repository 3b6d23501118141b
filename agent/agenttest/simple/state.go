package simple

import (
	"fmt"
	"sort"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// state is the fold of the log.
type state struct {
	position
	talk session.Conversation
}

// position is where the loop is.
type position struct {
	head     session.Seq
	parent   *session.Parent
	turns    int         // the last turn's number
	turn     int         // the open one; 0: none
	step     int         // of it
	attempt  int         // of the step
	due      session.Seq // the step, since then; 0: the model is asked
	asked    session.Seq // since then
	results  bool        // are owed to the model
	open     []chat.Call // calls of the last answer without a result
	started  map[int]bool
	answered session.Seq
	stopped  session.TurnEnded // how the turn will end; Turn is 0 if it goes on
}

type mark struct {
	position
	talk session.ConversationMark
}

func (s *state) mark() mark  { return mark{s.position, s.talk.Mark()} }
func (s *state) undo(m mark) { s.position = m.position; s.talk.Undo(m.talk) }

// apply folds one event.
func (s *state) apply(e session.Event) error {
	if err := s.talk.Apply(e); err != nil {
		return err
	}
	s.head = e.Seq
	switch f := e.Fact.(type) {
	case session.TurnStarted:
		s.position = position{head: e.Seq, parent: s.parent, turns: f.Turn, turn: f.Turn, attempt: 1, due: e.Seq}
	case session.Entered:
		s.step, s.attempt, s.due, s.asked, s.results, s.open = f.Step, 1, 0, e.Seq, false, nil
	case session.Answered:
		s.answered, s.due, s.open, s.started = e.Seq, e.Seq, f.Answer.Calls(), map[int]bool{}
		s.results = len(s.open) > 0
	case session.CallStarted:
		s.started[f.Index] = true
	case session.Resulted:
		s.due = e.Seq
		if f.Concludes {
			s.results = false
		}
	case session.Cancelled:
		if s.turn != 0 && s.stopped.Cause == "" {
			s.stopped = session.TurnEnded{Turn: s.turn, Reason: session.EndCancelled, Cause: f.Cause, Detail: f.Reason}
		}
	case session.Halted:
		s.stopped = session.TurnEnded{Turn: s.turn, Reason: f.Reason, Failure: f.Failure, Detail: f.Detail}
	case session.Reopened:
		s.reopened(e.Seq, f)
	case session.TurnEnded:
		s.turn, s.stopped = 0, session.TurnEnded{}
	case session.Parent:
		s.parent = &f
	case session.Forked:
		s.position = position{head: e.Seq, turns: s.turns}
	}
	return nil
}

func (s *state) reopened(seq session.Seq, f session.Reopened) {
	s.attempt, s.asked = f.Attempt, seq
	if f.Mode == session.OpenHold && s.turn != 0 && s.stopped.Turn == 0 {
		s.stopped = session.TurnEnded{Turn: s.turn, Reason: session.EndCancelled, Cause: session.CauseHost, Detail: "held when it was opened"}
	}
}

// runnable says whether a message waits that opens a turn.
func (s *state) runnable() bool {
	return len(s.talk.Inbox.Waiting(session.Steer))+len(s.talk.Inbox.Waiting(session.Followup)) > 0
}

// batch is what enters the step that is due.
func (s *state) batch() []*session.Pending {
	var batch []*session.Pending
	take := func(v session.Verb, most int) {
		for _, p := range s.talk.Inbox.Waiting(v) {
			if p.Since <= s.due && most > 0 {
				batch = append(batch, p)
				most--
			}
		}
	}
	take(session.Steer, 1<<20)
	if s.step == 0 && len(batch) == 0 {
		take(session.Followup, 1)
	}
	take(session.Inject, 1<<20)
	sort.Slice(batch, func(i, j int) bool { return batch[i].Seq < batch[j].Seq })
	return batch
}

// unit is what one append will hold; its facts are folded as they are added.
type unit struct {
	*state
	now    time.Time
	events []session.Event
}

func (u *unit) add(f session.Fact) {
	e := session.Event{Seq: u.head + 1, Time: u.now, Fact: f}
	if err := u.apply(e); err != nil {
		panic(fmt.Sprintf("simple: decided what can't be: %v", err))
	}
	u.events = append(u.events, e)
}

// opened goes on with what the log ends in.
func (u *unit) opened(s agent.Start) {
	hold := s.Mode == session.OpenHold
	if u.head == 0 && s.Parent != nil {
		u.add(*s.Parent)
	}
	if u.turn == 0 && !(hold && u.runnable()) {
		return
	}
	f := session.Reopened{Mode: session.OpenContinue}
	if hold {
		f.Mode = session.OpenHold
	}
	if u.turn != 0 {
		f.Turn, f.Step, f.Attempt = u.turn, u.step, u.attempt+1
	}
	u.add(f)
	if u.turn != 0 && u.attempt > 10 && u.stopped.Turn == 0 {
		u.fails(session.Failure{Kind: "attempts", Text: "the step was begun too often"})
	}
}

// accepted takes a message in.
func (u *unit) accepted(v session.Verb, m chat.Message, digest chat.Digest) (agent.Receipt, error) {
	if p := u.talk.Inbox.Get(m.ID); p != nil {
		return agent.Replay(session.Accepted{Verb: p.Verb, Message: chat.Message{ID: p.ID}, Digest: p.Digest}, p.Seq, v, digest)
	}
	if err := u.fits(v, m, session.Room{}); err != nil {
		return agent.Receipt{}, err
	}
	u.add(session.Accepted{Verb: v, Message: m, Digest: digest})
	receipt := agent.Receipt{ID: m.ID, Seq: u.head, Verb: v}
	if v.Wakes() && u.principal(m.Source) && len(u.talk.Inbox.Parked()) > 0 {
		u.add(session.Released{By: session.ReleasePrincipal})
	}
	return receipt, nil
}

const mebibyte = 1 << 20

// fits says whether a message may wait, in the place of what instead takes up.
func (u *unit) fits(v session.Verb, m chat.Message, instead session.Room) error {
	used, size := u.talk.Inbox.Room(v), m.Size()
	count, bytes := 1024, int64(16*mebibyte)
	if m.Source.Kind != chat.SourceUser {
		used.Count, used.Bytes = used.OtherCount, used.OtherBytes
		count, bytes = count-count/4, bytes-bytes/4
		all := u.talk.Inbox.Room(v)
		if all.Count-instead.Count >= 1024 || all.Bytes-instead.Bytes+size > 16*mebibyte {
			return fmt.Errorf("%w: %d messages wait", agent.ErrFull, all.Count)
		}
	}
	if size > 8*mebibyte || used.Count-instead.Count >= count || used.Bytes-instead.Bytes+size > bytes {
		return fmt.Errorf("%w: a message of %d bytes beside %d with %d", agent.ErrFull, size, used.Count, used.Bytes)
	}
	return nil
}

// principal says whom the session works for.
func (u *unit) principal(s chat.Source) bool {
	if u.parent == nil {
		return s.Kind == chat.SourceUser
	}
	return s == chat.Agent(string(u.parent.Session))
}

func (u *unit) cancelled(s agent.Stop) agent.Stopped {
	f := session.Cancelled{Cause: s.Cause, Reason: s.Reason, KeepInbox: s.KeepInbox, Turn: u.turn, Closed: u.talk.Inbox.Open()}
	for _, p := range u.talk.Inbox.Pending() {
		if s.KeepInbox {
			f.Kept = append(f.Kept, p.ID)
		} else {
			f.Cleared = append(f.Cleared, p.ID)
		}
	}
	u.add(f)
	return agent.Stopped{Seq: u.head, Turn: f.Turn, Cleared: f.Cleared, Kept: f.Kept}
}

// next takes the loop as far as it goes by itself: until the model must be
// asked, or nothing may run.
func (u *unit) next() {
	for u.turn != 0 && u.due != 0 || u.turn != 0 && u.stopped.Turn != 0 || u.turn == 0 && u.runnable() {
		switch {
		case u.turn == 0:
			u.add(session.TurnStarted{Turn: u.turns + 1})
		case len(u.open) > 0:
			u.unknown()
		case u.stopped.Turn != 0:
			u.add(u.stopped)
		default:
			u.boundary()
		}
	}
}

// unknown gives calls their results: there are no tools here.
func (u *unit) unknown() {
	for i, call := range u.open {
		code := chat.CodeUnknown
		switch {
		case u.started[i]:
			code = chat.CodeOutcome
		case u.stopped.Turn != 0:
			code = chat.CodeNotStarted
		}
		u.add(session.Resulted{Answer: u.answered, Index: i, Result: chat.Result{
			Call: call.ID, Name: call.Name, Code: code, Parts: []chat.Part{chat.Text("there are no tools here")},
		}})
	}
	u.open = nil
}

// boundary begins a step, or ends the turn if nothing asks for one.
func (u *unit) boundary() {
	batch := u.batch()
	wakes := u.results
	f := session.Entered{Turn: u.turn, Step: u.step + 1, Due: u.due}
	for _, p := range batch {
		wakes = wakes || p.Verb.Wakes()
		f.Messages = append(f.Messages, session.Entry{ID: p.ID, From: p.From})
	}
	if wakes {
		u.add(f)
		return
	}
	u.add(session.TurnEnded{Turn: u.turn, Reason: session.EndCompleted})
	for _, p := range u.talk.Inbox.Parked() {
		if f.Step > 1 && p.Parked == session.ParkedFailed {
			u.add(session.Released{By: session.ReleaseCompleted})
			break
		}
	}
}

// fails ends the turn.
func (u *unit) fails(why session.Failure) {
	u.add(session.TurnEnded{Turn: u.turn, Reason: session.EndFailed, Failure: &why})
}
