package react

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// What becomes of messages.

func (r *reference) accepted(seq session.Seq, f session.Accepted) {
	m := f.Message
	r.must(r.messages[m.ID] == nil, "S1", "%s accepted once", m.ID)
	r.must(f.Digest == m.Digest(), "D3", "the digest of %s as accepted", m.ID)
	_, objection := r.unit.in.(ended)
	r.must(objection == f.Objects, "L6", "objects %v, got %v", objection, f.Objects)
	if !objection { // these need no room
		r.must(r.room(f.Verb, m.Size(), m.Source, nil), "D16", "%s refused: there is no room for it", m.ID)
	}
	e := &expected{
		id: m.ID, verb: f.Verb, source: m.Source, text: chat.PlainText(m.Parts), size: m.Size(),
		digest: f.Digest,
		seq:    seq, from: seq, since: seq,
	}
	if objection {
		if r.unit.group == nil {
			r.unit.group = new(session.Seq)
		}
		*r.unit.group = seq
		e.group = r.unit.group
	}
	r.messages[m.ID] = e
	r.waiting = append(r.waiting, e)
}

// entered checks L2, C5, D8 to D12, D14 and F2 against the batch as it was
// before the hooks answered.
func (r *reference) entered(seq session.Seq, f session.Entered) {
	t := &r.turn
	r.must(t.open && f.Turn == r.turns && f.Step == t.steps+1, "L2", "step %d of turn %d", t.steps+1, r.turns)
	r.must(t.stop == nil, "C5", "no step after a stop")
	r.must(t.phase == boundary && !r.natural(), "D10", "no step: none is due")
	r.must(f.Due == r.unit.due, "D14", "due since %d, got %d", r.unit.due, f.Due)
	r.must(r.left(false) >= 0, "L10", "no step: the budget is spent")
	t.steps++
	t.spent.most.Steps++
	r.session.most.Steps++
	t.phase, t.cause, t.tries, t.results, t.blocked, t.settings = requested, seq, 1, false, false, r.settings
	r.saw("step entered")
	for _, entry := range f.Messages {
		if entry.Added != nil {
			r.shown = append(r.shown, shownItem{what: says(entry.ID, chat.PlainText(entry.Added.Parts)), from: seq, to: seq, unseen: true})
			continue
		}
		m := r.pending(entry.ID, "D15")
		r.must(entry.From == m.from, "C10", "content of %s from %d, got %d", m.id, m.from, entry.From)
		text := m.text
		if entry.Parts != nil {
			text = chat.PlainText(entry.Parts)
		}
		r.end(m, "placed")
		r.shown = append(r.shown, shownItem{what: says(m.id, text), from: seq, to: seq, unseen: true})
		r.sawEntering(m, f)
	}
}

func (r *reference) sawEntering(m *expected, f session.Entered) {
	switch {
	case m.verb == session.Steer && f.Step > 1 && r.unit.turn.results:
		r.saw("steer after results")
	case m.verb == session.Steer && f.Step > 1 && r.unit.due == m.seq:
		r.saw("steer at the natural end")
	case m.verb == session.Steer && f.Step > 1:
		r.saw("steer keeps a turn from ending")
	case m.verb == session.Steer:
		r.saw("steer opens a turn")
	case m.verb == session.Inject && f.Step > 1:
		r.saw("inject enters a running turn")
	case m.verb == session.Inject:
		r.saw("inject enters with a new turn")
	}
	if m.from != m.seq {
		r.saw("amended message enters")
	}
}

func (r *reference) ruled(id, fate string) {
	m := r.pending(id, "F2")
	r.must(slices.Contains(r.unit.batch, m), "F2", "only messages of the batch %s %s, got %s", names(r.unit.batch), fate, id)
	r.end(m, fate)
	if m.verb.Wakes() {
		r.turn.due = r.head // of what is left, should nothing of the batch enter
	}
	r.saw("message " + fate)
}

func (r *reference) cancelled(f session.Cancelled) {
	waiting := make([]string, 0, len(r.waiting))
	for _, m := range slices.Clone(r.waiting) {
		waiting = append(waiting, m.id)
		switch {
		case !f.KeepInbox:
			r.end(m, "cleared")
		case m.verb.Wakes():
			m.parked = session.ParkedStopped
		}
	}
	said := f.Cleared
	if f.KeepInbox {
		said = f.Kept
	}
	r.must(slices.Equal(said, waiting) && len(f.Cleared)+len(f.Kept) == len(said), "C1", "%v cleared or kept, got %v and %v", waiting, f.Cleared, f.Kept)
	t := &r.turn
	if !t.open {
		r.must(f.Turn == 0, "C2", "no turn stopped, got %d", f.Turn)
		r.saw("cancel while idle")
		return
	}
	r.must(f.Turn == r.turns, "C2", "turn %d stopped, got %d", r.turns, f.Turn)
	r.must(slices.Equal(f.Children, t.children), "C8", "children %v, got %v", t.children, f.Children)
	r.close(-1, f.Closed)
	if t.stop != nil && t.stop.Reason == session.EndCancelled {
		r.saw("cancel twice")
		return
	}
	if t.stop != nil {
		r.saw("cancel after a halt")
	} else {
		r.saw("cancel during " + string(r.doing()))
	}
	t.stop = &session.TurnEnded{Reason: session.EndCancelled, Cause: f.Cause}
}

// doing is the phase, with a boundary told from the natural end.
func (r *reference) doing() stage {
	if r.natural() {
		return "stopping hooks"
	}
	return r.turn.phase
}

func (r *reference) parked(f session.Parked) {
	switch {
	case f.Reason == session.ParkedBudget && r.turn.open:
		r.must(r.turn.steps == 0 && f.IDs != nil && r.unit.has("turn.ended"), "L10", "parked by name when a turn ends before its first step")
		r.saw("parked before the first step")
	case f.Reason == session.ParkedBudget:
		r.must(!r.turn.open && f.IDs == nil && len(r.runnable("", r.head)) > 0 && r.left(true) <= 0,
			"L10", "parked for a spent budget only when a turn would open")
		r.saw("parked for the budget")
	default:
		r.must(f.Reason == session.ParkedStopped && f.IDs != nil, "F2", "parked by a hook's stop, got %v", f)
	}
	for _, m := range r.runnable("", r.head) {
		if f.IDs == nil || slices.Contains(f.IDs, m.id) {
			m.parked = f.Reason
		}
	}
}

func (r *reference) released(seq session.Seq, f session.Released, before session.Fact) {
	var rightful bool
	switch f.By {
	case session.ReleaseResume:
		_, rightful = r.unit.in.(resume)
	case session.ReleasePrincipal:
		a, after := before.(session.Accepted)
		rightful = after && a.Verb.Wakes() && r.principal(a.Message.Source)
		if r.parent != nil {
			r.saw("child of a parent released")
		}
	case session.ReleaseCompleted:
		end, after := before.(session.TurnEnded)
		rightful = after && end.Reason == session.EndCompleted && r.unit.turn.steps > 0
	}
	r.must(rightful, "C9", "no release by %s here", f.By)
	for _, m := range r.waiting {
		if m.parked == "" || f.By == session.ReleaseCompleted && m.parked != session.ParkedFailed {
			continue
		}
		r.saw("released from " + string(m.parked))
		m.parked, m.since = "", seq
	}
	r.saw("released by " + string(f.By))
}

// checkReleases is the other half of C9: what should have been let go is.
func (r *reference) checkReleases() {
	for i, e := range r.unit.events {
		switch f := e.Fact.(type) {
		case session.Accepted:
			if !f.Verb.Wakes() || !r.principal(f.Message.Source) {
				continue
			}
		case session.TurnEnded:
			if f.Reason != session.EndCompleted || r.unit.turn.steps == 0 {
				continue
			}
		default:
			continue
		}
		for _, m := range r.waiting {
			_, completed := e.Fact.(session.TurnEnded)
			since := m.seq < e.Seq && m.parked != "" && (!completed || m.parked == session.ParkedFailed)
			r.must(!since || r.parkedIn(r.unit.events[i+1:]), "C9", "%s released by event %d, it is still parked (%s)", m.id, e.Seq, m.parked)
		}
	}
}

func (r *reference) parkedIn(events []session.Event) bool {
	return slices.ContainsFunc(events, func(e session.Event) bool { _, is := e.Fact.(session.Parked); return is })
}

// Turns and steps.

func (r *reference) turnStarted(e session.Event, f session.TurnStarted) {
	r.must(!r.turn.open, "C7", "turn %d ended before the next starts", r.turns)
	r.must(f.Turn == r.turns+1, "L2", "turn %d, got %d", r.turns+1, f.Turn)
	r.must(len(r.runnable("", r.head)) > 0, "D10", "no turn: nothing that wakes may run")
	r.must(r.left(false) >= 0, "L10", "no turn: the budget is spent")
	r.turns++
	r.turn = expectedTurn{open: true, began: e.Time, phase: boundary, due: e.Seq, tries: 1}
}

func (r *reference) halted(at time.Time, f session.Halted) {
	t := &r.turn
	end := t.began.Add(r.settings.Budget.Turn.Wall)
	r.must(f.Reason != session.EndBudget || !at.Before(end), "L11", "a halt at %v, not before; it is %v", end, at)
	r.must(t.open && f.Turn == r.turns && t.stop == nil, "L10", "a halt of an open turn that isn't stopped")
	r.close(-1, f.Closed)
	r.saw("halted for " + string(f.Reason))
	t.stop = &session.TurnEnded{Reason: f.Reason}
}

func (r *reference) turnEnded(f session.TurnEnded) {
	t := &r.turn
	r.must(t.open && f.Turn == r.turns, "L2", "the end of turn %d", r.turns)
	for i, c := range t.calls {
		r.must(c.done, "C5", "a result for call %d before the turn ends", i)
	}
	for _, q := range r.questions {
		r.must(q.fate != "open", "Q1", "question %s closed with its turn", q.id)
	}
	r.checkReason(f)
	r.saw("turn ended " + string(f.Reason))
	for _, id := range f.Struck {
		r.pending(id, "F6").struck = true
	}
	if f.Reason == session.EndFailed {
		for _, m := range r.runnable("", r.head) {
			m.parked = session.ParkedFailed
		}
	}
	r.turn = expectedTurn{}
}

// checkReason is the clause of each way to end.
func (r *reference) checkReason(f session.TurnEnded) {
	t := &r.turn
	if t.stop != nil && t.phase == requested {
		r.must(r.unit.brings("dropped", "failed", "reopen"), "C6", "what was streamed of request %d before the turn ends", t.cause)
	}
	switch f.Reason {
	case session.EndCancelled:
		r.checkCancelled(f)
	case session.EndBudget:
		in, _ := r.unit.in.(ended)
		r.must(t.stop != nil || r.alarmed() || len(in.objections) > 0 || !r.natural(), "L10", "no more than its natural end")
		r.must(t.stop == nil && r.left(true) <= 0 || t.stop != nil && t.stop.Reason == f.Reason || r.alarmed(), "L10", "budget as a reason only when it is spent")
		r.must(t.stop != nil || t.phase == boundary || r.leftBut(true, true) <= 0, "L9", "another attempt: it is no step")
		r.checkUnopened()
	case session.EndFailed:
		switch in := r.unit.in.(type) {
		case consulted, maintained:
		case failed:
			r.must(!in.again || in.replaced != nil || t.tries >= r.limits.Attempts, "L9", "attempt %d of %d", t.tries+1, r.limits.Attempts)
		case reopen:
			tries := r.unit.turn.tries + 1
			r.must(tries > r.limits.Attempts, "F3", "no failure within %d attempts, this is %d", r.limits.Attempts, tries)
		case elapsed:
			r.must(t.tries >= r.limits.Attempts, "F3", "attempt %d of %d", t.tries+1, r.limits.Attempts)
		default:
			r.must(t.stop != nil && t.stop.Reason == f.Reason, "F1", "no failure by %T", in)
		}
		r.must(f.Failure != nil, "F1", "a structured reason")
	case session.EndBlocked:
		r.must((r.unit.has("refused") || t.blocked) && !t.truncated, "F2", "blocked only when a hook refused something")
	default:
		r.checkNatural(f)
	}
}

// checkUnopened is L10 for a budget that was spent before the first step: what
// asked for it doesn't open the next turn at once.
func (r *reference) checkUnopened() {
	if r.turn.steps > 0 {
		return
	}
	for _, m := range r.unit.batch {
		r.must(!m.verb.Wakes() || m.parked == session.ParkedBudget, "L10", "%s parked for the budget", m.id)
	}
}

func (u unit) has(kind string) bool {
	return slices.ContainsFunc(u.events, func(e session.Event) bool { return e.Fact.Type() == kind })
}

// brings says whether the input is of one of the kinds.
func (u unit) brings(kinds ...string) bool {
	return slices.Contains(kinds, strings.TrimPrefix(fmt.Sprintf("%T", u.in), "react."))
}

// alarmed says that the input is the end of the turn's time.
func (r *reference) alarmed() bool {
	_, is := r.unit.in.(elapsed)
	return is && r.settings.Budget.Turn.Wall > 0
}

func (r *reference) checkCancelled(f session.TurnEnded) {
	switch stop := r.turn.stop; {
	case stop != nil:
		r.must(stop.Reason == session.EndCancelled && stop.Cause == f.Cause, "C3", "%s %s, the first cancel, got %s", stop.Reason, stop.Cause, f.Cause)
	case f.Cause == session.CauseHook:
		in, is := r.unit.in.(consulted)
		r.must(is && in.stop != nil, "F2", "cancelled by a hook only when one said stop")
	default:
		in, is := r.unit.in.(reopen)
		r.must(is && in.mode == session.OpenHold && f.Cause == session.CauseHost, "C3", "no cancel by %s is in the log", f.Cause)
	}
}

// checkNatural is L3, L5 and D9: the turn had nothing left to do.
func (r *reference) checkNatural(f session.TurnEnded) {
	t := &r.turn
	r.must(t.stop == nil && t.phase == boundary && !t.results, "L3", "a turn that isn't done yet to go on")
	hooks := r.unit.has("refused") || r.unit.has("taken")
	r.must(!t.blocked || t.truncated, "F2", "blocked, got %s", f.Reason)
	if t.steps > 0 && !hooks {
		steers := r.runnable(session.Steer, r.head)
		r.must(len(steers) == 0, "D9", "%s in this turn", names(steers))
	}
	want := session.EndCompleted
	switch {
	case t.truncated:
		want = session.EndMaxTokens
	case t.last == chat.FinishRefused:
		want = session.EndRefused
	}
	r.must(f.Reason == want, "L5", "%s, got %s", want, f.Reason)
	if t.steps == 0 {
		r.saw("turn without a step")
	}
}
