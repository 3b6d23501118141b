package react

import (
	"fmt"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// hear decides the answers to owed work.
func (m *machine) hear(in input) ([]session.Fact, outcome) {
	switch in := in.(type) {
	case consulted:
		return m.consulted(in)
	case maintained:
		return m.maintained(in)
	case answered:
		return m.hearAnswer(in)
	case failed:
		return m.failed(in)
	case dropped:
		return m.dropped(in)
	case elapsed:
		return m.elapsed(in)
	case started:
		return m.started(in)
	case resulted:
		return m.hearResult(in)
	case pose:
		return m.pose(in)
	case ended:
		return m.ended(in)
	default:
		panic(fmt.Sprintf("react: an input of type %T", in))
	}
}

// asked says whether a request with this cause is owed or in flight.
func (m *machine) asked(cause session.Seq) bool {
	t := &m.Turn
	return t.Phase == atModel && t.Cause == cause && (!t.stopping() || t.inFlight())
}

func (m *machine) hearAnswer(in answered) ([]session.Fact, outcome) {
	if !m.asked(in.cause) || in.answer.Interrupted && !m.Turn.stopping() {
		return stale()
	}
	answer, traits := in.answer, in.traits
	if answer.Interrupted || answer.Finish == chat.FinishMaxTokens || answer.Finish == chat.FinishRefused {
		answer, traits = answer.WithoutCalls(), nil
	}
	// A call that nothing is known of runs alone, once.
	known := make([]session.Trait, len(answer.Calls()))
	copy(known, traits)
	if len(known) == 0 {
		known = nil
	}
	return facts(session.Answered{
		Turn: m.Turns, Step: m.Turn.Step, Ask: in.cause, Answer: answer, Traits: known, Cost: in.cost,
	}), outcome{}
}

// failed asks again if policy says so and nothing speaks against it; else the
// turn fails. Nothing of the failed attempt is stored.
func (m *machine) failed(in failed) ([]session.Fact, outcome) {
	if !m.asked(in.cause) {
		return stale()
	}
	t := &m.Turn
	if t.stopping() {
		return m.stopped(), outcome{}
	}
	var out []session.Fact
	var cost session.Spent
	if in.replaced != nil {
		cost = in.replaced.Spent
		if m.talk.Transcript.Replaceable(*in.replaced) != nil {
			return m.fail(in.failure), outcome{}
		}
		out = append(out, *in.replaced)
	}
	switch {
	case !in.again, t.Attempt >= m.limits.Attempts:
		return append(out, m.fail(in.failure)...), outcome{}
	case m.spentUp(cost):
		return append(out, m.end(session.EndBudget)...), outcome{}
	case in.at.IsZero():
		return append(out, m.attempt(&in.failure)), outcome{}
	default:
		return append(out, session.Until{Turn: m.Turns, Step: t.Step, At: in.at, Failure: &in.failure}), outcome{}
	}
}

func (m *machine) attempt(why *session.Failure) session.Fact {
	return session.Attempt{Turn: m.Turns, Step: m.Turn.Step, Number: m.Turn.Attempt + 1, Failure: why}
}

func (m *machine) fail(why session.Failure) []session.Fact {
	return facts(session.TurnEnded{Turn: m.Turns, Reason: session.EndFailed, Failure: &why})
}

func (m *machine) dropped(in dropped) ([]session.Fact, outcome) {
	if !m.asked(in.cause) || !m.Turn.stopping() {
		return stale()
	}
	return m.stopped(), outcome{}
}

func (m *machine) elapsed(in elapsed) ([]session.Fact, outcome) {
	t := &m.Turn
	switch {
	case !t.open() || t.stopping():
		return stale()
	case in.cause == t.Alarm && !m.deadline().IsZero():
		return facts(session.Halted{
			Turn: m.Turns, Reason: session.EndBudget, Closed: m.talk.Inbox.Open(),
			Detail: fmt.Sprintf("the turn was open for %s", m.settings().Budget.Turn.Wall),
		}), outcome{}
	case t.Phase != atPause || in.cause != t.Cause:
		return stale()
	case t.Attempt >= m.limits.Attempts:
		return m.fail(tooOften(t.Attempt)), outcome{} // reopenings while it waited count
	case m.spentUp(session.Spent{}):
		return m.end(session.EndBudget), outcome{}
	default:
		return facts(m.attempt(nil)), outcome{}
	}
}

func (m *machine) started(in started) ([]session.Fact, outcome) {
	c, open := m.open(in.fact.Answer, in.fact.Index)
	if !open || c.Started || m.Turn.stopping() || !m.may(in.fact.Index) {
		return stale()
	}
	return facts(in.fact), outcome{}
}

func (m *machine) hearResult(in resulted) ([]session.Fact, outcome) {
	if _, open := m.open(in.fact.Answer, in.fact.Index); !open {
		return stale()
	}
	f := in.fact
	f.Closed = m.openQuestions(f.Index)
	return facts(f), outcome{}
}

func (m *machine) pose(in pose) ([]session.Fact, outcome) {
	if _, open := m.open(in.fact.Answer, in.fact.Index); !open || m.Turn.stopping() {
		return stale()
	}
	if q := m.talk.Inbox.Question(in.fact.ID); q != nil {
		return nil, outcome{absent: true, reply: q.Reply}
	}
	f := in.fact
	f.Turn = m.Turns
	return facts(f), outcome{}
}

// ended lets the turn end, or go on with what the stopping hooks object.
func (m *machine) ended(in ended) ([]session.Fact, outcome) {
	t := &m.Turn
	if !m.ending() || t.Cause != in.cause {
		return stale()
	}
	switch {
	case len(in.objections) == 0:
		return m.end(m.reason()), outcome{}
	case m.exhausted():
		return m.end(session.EndBudget), outcome{} // nothing is left to follow them with
	}
	var out []session.Fact
	for _, msg := range in.objections {
		out = append(out, session.Accepted{Verb: session.Steer, Message: msg, Digest: msg.Digest(), Objects: true})
	}
	return out, outcome{}
}

// reason is how a turn ends that ends by itself.
func (m *machine) reason() session.EndReason {
	t := &m.Turn
	switch {
	case t.MaxTokens:
		return session.EndMaxTokens
	case t.Blocked:
		return session.EndBlocked
	case t.Refused:
		return session.EndRefused
	default:
		return session.EndCompleted
	}
}
