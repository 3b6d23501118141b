package react

import (
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// scheduled lists the calls that may run now. One runs by itself unless it may
// run beside others: those overlap up to the limit, in the model's order, and
// none passes one that must run alone.
func (m *machine) scheduled() []calling {
	var out []calling
	for i, c := range m.Turn.Calls {
		if c.Done {
			continue
		}
		if !c.Beside {
			if len(out) == 0 {
				out = append(out, m.calling(i))
			}
			return out
		}
		if len(out) == m.limits.Beside {
			return out
		}
		out = append(out, m.calling(i))
	}
	return out
}

// may says whether the index-th call is one of those that may run now.
func (m *machine) may(index int) bool {
	for _, c := range m.scheduled() {
		if c.index == index {
			return true
		}
	}
	return false
}

// calling is the index-th call of the last answer as owed work.
func (m *machine) calling(index int) calling {
	c := m.Turn.Calls[index]
	return calling{
		answer: m.Turn.Answer, index: index, call: m.wish(index), trait: c.Trait,
		started: c.Started, questions: m.questions(index),
	}
}

// wish is what the model asked for with its index-th call.
func (m *machine) wish(index int) chat.Call {
	for _, b := range m.talk.Transcript.LastAnswer().Blocks {
		if b.Kind != chat.BlockCall {
			continue
		}
		if index == 0 {
			return *b.Call
		}
		index--
	}
	panic("react: more traits than calls")
}

// questions lists what was asked for the index-th call.
func (m *machine) questions(index int) []*session.Asked {
	var out []*session.Asked
	for _, q := range m.talk.Inbox.Questions() {
		if q.Answer == m.Turn.Answer && q.Index == index {
			out = append(out, q)
		}
	}
	return out
}

// openQuestions lists the ids of those without a reply.
func (m *machine) openQuestions(index int) []string {
	var ids []string
	for _, q := range m.questions(index) {
		if q.Reply == nil {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// open returns the index-th call of an answer if it has no result yet.
func (m *machine) open(answer session.Seq, index int) (call, bool) {
	t := &m.Turn
	if t.Phase != atCalls || t.Answer != answer || index < 0 || index >= len(t.Calls) || t.Calls[index].Done {
		return call{}, false
	}
	return t.Calls[index], true
}

// resultOf is the result of a call that nobody will bring to an end.
func (m *machine) resultOf(index int, c call) session.Resulted {
	code, text := chat.CodeNotStarted, "not started: the turn was stopped first"
	if c.Lost {
		code = chat.CodeOutcome
		text = "the process ended while this ran: it may have had effects; check before doing it again"
	}
	wish := m.wish(index)
	return session.Resulted{
		Answer: m.Turn.Answer, Index: index, Closed: m.openQuestions(index),
		Result: chat.Result{Call: wish.ID, Name: wish.Name, Code: code, Parts: []chat.Part{chat.Text(text)}},
	}
}
