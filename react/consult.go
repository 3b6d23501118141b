package react

import (
	"fmt"

	"github.com/tack-agent/tack/session"
)

// peeking says whether a consultation with this cause is owed.
func (m *machine) peeking(cause session.Seq) bool {
	t := &m.Turn
	return t.Phase == atBoundary && !t.stopping() && t.Cause == cause && !m.ending()
}

// maintained replaces history before a step; the consultation is owed anew. A
// replacement that can't be made is the hook's failure.
func (m *machine) maintained(in maintained) ([]session.Fact, outcome) {
	if !m.peeking(in.cause) {
		return stale()
	}
	if err := m.talk.Transcript.Replaceable(in.fact); err != nil {
		return m.broken(m.batch(), session.Failure{Kind: "hook", Hook: in.fact.Hook, Text: err.Error()}), outcome{}
	}
	return facts(in.fact), outcome{}
}

// consulted begins the step with what the hooks let in.
func (m *machine) consulted(in consulted) ([]session.Fact, outcome) {
	if !m.peeking(in.cause) {
		return stale()
	}
	batch := m.batch()
	rulings, failure := matched(batch, in)
	switch {
	case failure != nil:
		return m.broken(batch, *failure), outcome{}
	case in.stop != nil:
		return m.halt(batch, *in.stop), outcome{}
	}
	gone, entries, wakes := sorted(batch, rulings)
	if !wakes && !m.Turn.Results {
		return m.kept(gone), outcome{}
	}
	out := gone
	out = append(out, m.enter(in, entries))
	if in.header != nil && *in.header != m.Header {
		out = append(out, *in.header)
	}
	return out, outcome{}
}

// matched puts the rulings in the order of the batch. A message without one, or
// a ruling without its message, is the hook's failure.
func matched(batch []*session.Pending, in consulted) ([]ruling, *session.Failure) {
	if in.failure != nil {
		return nil, in.failure
	}
	if in.stop != nil {
		return nil, nil
	}
	byID := make(map[string]ruling, len(in.rulings))
	for _, r := range in.rulings {
		byID[r.id] = r
	}
	if len(byID) != len(in.rulings) || len(byID) != len(batch) {
		return nil, unruled("%d rulings on %d messages", len(in.rulings), len(batch))
	}
	out := make([]ruling, len(batch))
	for i, p := range batch {
		r, found := byID[p.ID]
		if !found {
			return nil, unruled("no ruling on message %s", p.ID)
		}
		out[i] = r
	}
	return out, nil
}

func unruled(format string, args ...any) *session.Failure {
	return &session.Failure{Kind: "hook", Text: "the entering hooks left a message out: " + fmt.Sprintf(format, args...)}
}

// sorted parts what the hooks ended from what enters.
func sorted(batch []*session.Pending, rulings []ruling) (gone []session.Fact, entries []session.Entry, wakes bool) {
	for i, p := range batch {
		r := rulings[i]
		switch r.what {
		case refuse:
			gone = append(gone, session.Refused{ID: p.ID, Hook: r.hook, Reason: r.reason})
		case take:
			gone = append(gone, session.Taken{ID: p.ID, Hook: r.hook, Reason: r.reason})
		case enter:
			entries = append(entries, session.Entry{ID: p.ID, From: p.From, Parts: r.parts})
			wakes = wakes || p.Verb.Wakes()
		}
	}
	return gone, entries, wakes
}

// enter begins the step with the messages that enter, the hooks' own around
// them.
func (m *machine) enter(in consulted, entries []session.Entry) session.Entered {
	all := make([]session.Entry, 0, len(in.before)+len(entries)+len(in.after))
	for i := range in.before {
		all = append(all, session.Entry{ID: in.before[i].ID, Added: &in.before[i]})
	}
	all = append(all, entries...)
	for i := range in.after {
		all = append(all, session.Entry{ID: in.after[i].ID, Added: &in.after[i]})
	}
	return session.Entered{Turn: m.Turns, Step: m.Turn.Step + 1, Due: m.Turn.Due, Messages: all}
}

// kept is what follows when nothing that asks for a step enters: a turn that
// was opening ends, one that was about to end goes on doing so.
func (m *machine) kept(gone []session.Fact) []session.Fact {
	if !m.Turn.opening() {
		return gone
	}
	reason := session.EndCompleted
	for _, f := range gone {
		if _, refused := f.(session.Refused); refused {
			reason = session.EndBlocked
		}
	}
	return append(gone, m.end(reason)...)
}

// broken deals with hooks that failed on a batch. Messages on which they failed
// before are refused; for the others the turn fails, and the next failure is
// their second.
func (m *machine) broken(batch []*session.Pending, why session.Failure) []session.Fact {
	var gone []session.Fact
	var struck []string
	for _, p := range batch {
		if p.Struck {
			gone = append(gone, session.Refused{ID: p.ID, Hook: why.Hook, Reason: why.Text})
		} else {
			struck = append(struck, p.ID)
		}
	}
	if len(gone) > 0 && len(struck) == 0 && !m.Turn.Results {
		return m.kept(gone)
	}
	return append(gone, session.TurnEnded{Turn: m.Turns, Reason: session.EndFailed, Failure: &why, Struck: struck})
}

// halt ends the turn because a hook wants no step, and holds back what asked
// for it, so that it doesn't ask again at once.
func (m *machine) halt(batch []*session.Pending, by stop) []session.Fact {
	ids := wakingIDs(batch)
	var out []session.Fact
	if len(ids) > 0 {
		out = facts(session.Parked{Reason: session.ParkedStopped, Hook: by.hook, IDs: ids})
	}
	return append(out, session.TurnEnded{
		Turn: m.Turns, Reason: session.EndCancelled, Cause: session.CauseHook,
		Detail: by.hook + ": " + by.reason,
	})
}
