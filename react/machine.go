// Package react is the driver of an agent that reasons and acts. The loop, in
// ten lines:
//
//	a message is accepted; if it may run and no turn is open, a turn starts
//	at a boundary, what may enter is peeked at and the hooks are consulted
//	what they let in enters with the step, in one append
//	the model is asked; a failure waits and asks again, or ends the turn
//	the answer is stored, and each of its calls is owed
//	each result is stored as it comes; the last one is the next boundary
//	if results are owed, or a steer waits, there is another step
//	else the stopping hooks are asked, and the turn ends
//	a cancel stops it: what is in flight comes back first, then the turn ends
//	then the next message that may run starts the next turn
//
// The machine is this loop without the waiting, a fold of the session's log:
// it reads no clock, makes no id and starts nothing.
package react

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tack-agent/tack/session"
)

// machine decides what happens. It belongs to one owner, who calls it from one
// goroutine at a time, stores what it decided, and only then acts.
type machine struct {
	state
	limits Limits
	talk   session.Conversation

	was  state // at the mark
	then session.ConversationMark
}

// newMachine is the machine of an empty log.
func newMachine(limits Limits) *machine { return &machine{limits: limits.orDefaults()} }

// settle decides one input at the given time and follows it as far as it goes
// by itself. The events are applied, and to be appended as one.
func (m *machine) settle(now time.Time, in input) ([]session.Event, outcome) {
	var events []session.Event
	facts, out := m.decide(in)
	for {
		for _, f := range facts {
			e := session.Event{Seq: m.Head + 1, Time: now, Fact: f}
			if err := m.apply(e); err != nil {
				panic(fmt.Sprintf("react: decided what can't be: %v", err))
			}
			events = append(events, e)
		}
		if facts = m.next(); len(facts) == 0 {
			return events, out
		}
	}
}

// mark is the state that undo goes back to. It costs the same however much
// the agent knows.
func (m *machine) mark() { m.was, m.then = m.state, m.talk.Mark() }

// undo goes back to the mark, because what was decided since isn't stored.
func (m *machine) undo() {
	m.state = m.was
	m.talk.Undo(m.then)
}

// next is what follows with no further input.
func (m *machine) next() []session.Fact {
	t := &m.Turn
	switch {
	case !t.open():
		return m.start()
	case t.stopping():
		return m.wind()
	case t.Phase == atBoundary:
		return m.step()
	case t.Phase == atCalls:
		return m.lost()
	default:
		return nil
	}
}

// start opens a turn if a message may run.
func (m *machine) start() []session.Fact {
	switch {
	case !m.runnable():
		return nil
	case m.exhausted():
		return facts(session.Parked{Reason: session.ParkedBudget})
	default:
		return facts(session.TurnStarted{Turn: m.Turns + 1})
	}
}

// step ends a turn that has come to a boundary and can't go on.
func (m *machine) step() []session.Fact {
	switch {
	case m.ending():
		return nil
	case m.Turn.opening() && !waking(m.batch()):
		return m.end(session.EndCompleted)
	case m.exhausted():
		return m.end(session.EndBudget)
	default:
		return nil
	}
}

// ending says that the turn has nothing left to do but to end.
func (m *machine) ending() bool {
	t := &m.Turn
	return t.Phase == atBoundary && !t.stopping() && !t.opening() && !t.Results && !m.joining(t.Due)
}

// wind brings a stopped turn to its end, as far as nothing is in flight.
func (m *machine) wind() []session.Fact {
	t := &m.Turn
	if t.Phase == atModel && t.inFlight() {
		return nil
	}
	if t.Phase == atCalls {
		inFlight := t.inFlight() && t.Answer < t.Stop.Seq
		return m.settleCalls(func(c call) bool { return c.Lost || !inFlight })
	}
	return m.stopped()
}

// stopped ends a stopped turn with the reason it was stopped for.
func (m *machine) stopped() []session.Fact {
	stop := m.Turn.Stop
	return append(m.heldBack(stop.Reason), session.TurnEnded{
		Turn: m.Turns, Reason: stop.Reason, Cause: stop.Cause, Failure: stop.Failure, Detail: stop.Detail,
	})
}

// heldBack parks what would open the next turn at once when the budget was used
// up before this one had a step.
func (m *machine) heldBack(reason session.EndReason) []session.Fact {
	if reason != session.EndBudget || !m.Turn.opening() {
		return nil
	}
	if ids := wakingIDs(m.batch()); ids != nil {
		return facts(session.Parked{Reason: session.ParkedBudget, IDs: ids})
	}
	return nil
}

// lost tells of calls that had started when the process was gone.
func (m *machine) lost() []session.Fact {
	return m.settleCalls(func(c call) bool { return c.Lost })
}

// settleCalls gives open calls that nobody runs any more their results.
func (m *machine) settleCalls(which func(call) bool) []session.Fact {
	var out []session.Fact
	for i, c := range m.Turn.Calls {
		if !c.Done && which(c) {
			out = append(out, m.resultOf(i, c))
		}
	}
	return out
}

// end closes the turn, and lets go what had failed if the model works again.
func (m *machine) end(reason session.EndReason) []session.Fact {
	out := append(m.heldBack(reason), session.TurnEnded{Turn: m.Turns, Reason: reason})
	if reason == session.EndCompleted && !m.Turn.opening() && m.parkedAs(session.ParkedFailed) {
		out = append(out, session.Released{By: session.ReleaseCompleted})
	}
	return out
}

func (m *machine) parkedAs(why session.ParkReason) bool {
	for _, p := range m.talk.Inbox.Parked() {
		if p.Parked == why {
			return true
		}
	}
	return false
}

func facts(list ...session.Fact) []session.Fact { return list }

// Name is the fold's name in snapshots.
func (m *machine) Name() string { return "react" }

// Version rises when a snapshot would be misread.
func (m *machine) Version() int { return m.talk.Version()<<8 | 1 }

// snapshot is the machine without the content of messages.
type snapshot struct {
	State state           `json:"state"`
	Talk  json.RawMessage `json:"talk"`
}

// Encode writes a snapshot.
func (m *machine) Encode() ([]byte, error) {
	talk, err := m.talk.Encode()
	if err != nil {
		return nil, err
	}
	return json.Marshal(snapshot{State: m.state, Talk: talk})
}

// Decode takes over what Encode wrote; Missing says what is to be filled in.
func (m *machine) Decode(data []byte) error {
	var s snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("decode machine: %w", err)
	}
	m.state = s.State
	return m.talk.Decode(s.Talk)
}

// Missing lists the events a snapshot named and didn't hold.
func (m *machine) Missing() []session.Seq { return m.talk.Missing() }

// Fill takes one of them.
func (m *machine) Fill(e session.Event) error { return m.talk.Fill(e) }

// Apply folds an event of the log.
func (m *machine) Apply(e session.Event) error { return m.apply(e) }
