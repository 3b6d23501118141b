package react

import (
	"fmt"
	"reflect"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// decide turns an input into facts, and says what the caller is told once they
// are stored. It changes nothing.
func (m *machine) decide(in input) ([]session.Fact, outcome) {
	switch in := in.(type) {
	case deliver:
		return m.deliver(in)
	case cancel:
		return m.cancel(in)
	case resume:
		return m.resume()
	case withdraw:
		return m.withdraw(in)
	case amend:
		return m.amend(in)
	case reply:
		return m.reply(in)
	case note:
		return facts(in.fact), outcome{receipt: agent.Receipt{Seq: m.Head + 1}}
	case configure:
		return m.configure(in)
	case replace:
		return m.replace(in.fact)
	case spawn:
		return m.spawn(in)
	case begin:
		return m.begin(in)
	case reopen:
		return m.reopen(in)
	default:
		return m.hear(in)
	}
}

func (m *machine) deliver(in deliver) ([]session.Fact, outcome) {
	msg := in.message
	if p := m.talk.Inbox.Get(msg.ID); p != nil {
		switch {
		case p.Verb != in.verb:
			return refuseTo("%s %s: %w: it waits as a %s", in.verb, msg.ID, agent.ErrConflict, p.Verb)
		case p.Digest != in.digest:
			return refuseTo("%s %s: %w: it waits with other content", in.verb, msg.ID, agent.ErrConflict)
		}
		return nil, outcome{receipt: agent.Receipt{ID: p.ID, Seq: p.Seq, Verb: p.Verb, Replayed: true}}
	}
	if err := m.room(in.verb, msg.Source, msg.Size(), nil); err != nil {
		return refuseTo("%s %s: %w", in.verb, msg.ID, err)
	}
	out := facts(session.Accepted{Verb: in.verb, Message: msg, Digest: in.digest})
	if in.verb.Wakes() && m.principal(msg.Source) && len(m.talk.Inbox.Parked()) > 0 {
		out = append(out, session.Released{By: session.ReleasePrincipal})
	}
	return out, outcome{receipt: agent.Receipt{ID: msg.ID, Seq: m.Head + 1, Verb: in.verb}}
}

// room says whether a message of the given size may wait, in the place of
// another one if that is not nil.
func (m *machine) room(v session.Verb, from chat.Source, size int64, instead *session.Pending) error {
	if size > m.limits.Message {
		return fmt.Errorf("%w: the message has %d bytes, and one may have %d", agent.ErrFull, size, m.limits.Message)
	}
	limit, what := m.limits.Waking, "followups and steers"
	if !v.Wakes() {
		limit, what = m.limits.Injects, "injects"
	}
	used := m.talk.Inbox.Room(v)
	if instead != nil {
		used = used.Without(instead)
	}
	if !limit.takes(used, size, from.Kind == chat.SourceUser) {
		return fmt.Errorf("%w: %d %s with %d bytes wait (%d and %d from others than people); at most %d with %d bytes may, a quarter kept for people",
			agent.ErrFull, used.Count, what, used.Bytes, used.OtherCount, used.OtherBytes, limit.Count, limit.Bytes)
	}
	return nil
}

// principal says whether the session works for s.
func (m *machine) principal(s chat.Source) bool {
	if m.Parent == nil {
		return s.Kind == chat.SourceUser
	}
	return s.Kind == chat.SourceAgent && s.Name == string(m.Parent.Session)
}

func (m *machine) cancel(in cancel) ([]session.Fact, outcome) {
	f := session.Cancelled{
		Cause: in.cause, Reason: in.reason, KeepInbox: in.keep,
		Closed: m.talk.Inbox.Open(), Children: m.Turn.Children,
	}
	if m.Turn.open() {
		f.Turn = m.Turns
	}
	ids := &f.Cleared
	if in.keep {
		ids = &f.Kept
	}
	for _, p := range m.talk.Inbox.Pending() {
		*ids = append(*ids, p.ID)
	}
	told := agent.Stopped{Seq: m.Head + 1, Turn: f.Turn, Cleared: f.Cleared, Kept: f.Kept}
	return facts(f), outcome{stopped: told}
}

func (m *machine) resume() ([]session.Fact, outcome) {
	if len(m.talk.Inbox.Parked()) == 0 {
		return nil, outcome{}
	}
	return facts(session.Released{By: session.ReleaseResume}), outcome{}
}

func (m *machine) withdraw(in withdraw) ([]session.Fact, outcome) {
	p := m.talk.Inbox.Get(in.id)
	if p == nil {
		return nil, outcome{absent: true}
	}
	return facts(session.Withdrawn{ID: in.id}), outcome{fate: m.fate(p, agent.FateWithdrawn)}
}

func (m *machine) amend(in amend) ([]session.Fact, outcome) {
	p := m.talk.Inbox.Get(in.id)
	if p == nil {
		return nil, outcome{absent: true}
	}
	changed := p.Amended(in.parts)
	if err := m.room(p.Verb, p.Source, changed.Size, p); err != nil {
		return refuseTo("amend %s: %w", in.id, err)
	}
	fate := m.fate(p, agent.FatePending)
	fate.Parked = p.Parked
	return facts(session.Amended{ID: in.id, Parts: in.parts}), outcome{fate: fate}
}

// fate is what the next fact makes of a pending message.
func (m *machine) fate(p *session.Pending, state agent.FateState) agent.Fate {
	return agent.Fate{ID: p.ID, State: state, Verb: p.Verb, Accepted: p.Seq, Seq: m.Head + 1}
}

func (m *machine) reply(in reply) ([]session.Fact, outcome) {
	q := m.talk.Inbox.Question(in.fact.ID)
	if q == nil || q.Reply != nil {
		return nil, outcome{absent: true}
	}
	return facts(in.fact), outcome{}
}

func (m *machine) configure(in configure) ([]session.Fact, outcome) {
	if reflect.DeepEqual(in.fact, m.settings()) {
		return nil, outcome{}
	}
	return facts(in.fact), outcome{}
}

func (m *machine) replace(f session.Replaced) ([]session.Fact, outcome) {
	if err := m.talk.Transcript.Replaceable(f); err != nil {
		return refuseTo("%w: %w", agent.ErrInvalid, err)
	}
	return facts(f), outcome{}
}

func (m *machine) spawn(in spawn) ([]session.Fact, outcome) {
	if !m.Turn.open() || m.Turn.stopping() {
		return nil, outcome{stale: true}
	}
	return facts(session.Spawned{Child: in.child, Turn: m.Turns, Detached: in.detached}), outcome{}
}

func (m *machine) begin(in begin) ([]session.Fact, outcome) {
	if m.Head != 0 {
		return refuseTo("begin as a child of %s: %w: the session has begun", in.fact.Session, agent.ErrInvalid)
	}
	return facts(in.fact), outcome{}
}

// reopen goes on with what a log ends in.
func (m *machine) reopen(in reopen) ([]session.Fact, outcome) {
	t := &m.Turn
	hold := in.mode == session.OpenHold
	if !t.open() && !(hold && m.runnable()) {
		return nil, outcome{}
	}
	f := session.Reopened{Mode: in.mode}
	if !t.open() {
		return facts(f), outcome{}
	}
	f.Turn, f.Step, f.Attempt = m.Turns, t.Step, t.Attempt+1
	out := facts(f)
	why := tooOften(t.Attempt)
	if f.Attempt > m.limits.Attempts && !t.stopping() && !hold {
		out = append(out, session.Halted{
			Turn: m.Turns, Reason: session.EndFailed, Closed: m.talk.Inbox.Open(),
			Failure: &why,
		})
	}
	return out, outcome{}
}

// tooOften is the failure of a step that was tried n times, and no oftener.
func tooOften(n int) session.Failure {
	return session.Failure{
		Kind: "attempts",
		Text: fmt.Sprintf("tried %d times, retries and reopenings together, and never finished", n),
	}
}

func refuseTo(format string, args ...any) ([]session.Fact, outcome) {
	return nil, outcome{err: fmt.Errorf(format, args...)}
}

func stale() ([]session.Fact, outcome) { return nil, outcome{stale: true} }
