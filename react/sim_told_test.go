package react

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// What callers are told.

func (r *reference) told(in input, events []session.Event, out outcome) {
	switch in := in.(type) {
	case deliver:
		r.toldReceipt(in, events, out)
	case cancel:
		r.must(out.err == nil && len(events) > 0, "C3", "a cancel never an error, got %v", out.err)
		f, _ := events[0].Fact.(session.Cancelled)
		want := agent.Stopped{Seq: events[0].Seq, Turn: f.Turn, Cleared: f.Cleared, Kept: f.Kept}
		r.must(fmt.Sprint(out.stopped) == fmt.Sprint(want), "C2", "%v, got %v", want, out.stopped)
	case withdraw:
		r.toldFate(in.id, events, out)
	case amend:
		if !errors.Is(out.err, agent.ErrFull) {
			r.toldFate(in.id, events, out)
			break
		}
		m := r.pending(in.id, "C10")
		r.must(!r.room(m.verb, m.amended(in.parts), m.source, m), "D16", "%s amended: there is room for it", m.id)
		r.saw("full for an amendment")
	case maintained:
		r.must(out.stale || len(events) > 0 || out.err != nil, "R3", "an error, if nothing comes of a replacement")
		r.sawReplacement("maintenance", out, events)
		if r.unit.wish != "" && !r.unit.has("replaced") {
			r.must(r.unit.wish == r.happened(), "F6", "%s\n  got      %s", r.unit.wish, r.happened())
		}
	case failed:
		if in.replaced != nil {
			r.sawReplacement("a failed request", out, events)
		}
	case resume:
		r.must(out.err == nil, "C9", "no error, got %v", out.err)
	case reply:
		r.toldReply(in, events, out)
	case replace:
		r.must((out.err != nil) == (r.unit.wish != "") || r.unit.open, "R3", "an error only if it can't be (%s), got %v", r.unit.wish, out.err)
		r.must((out.err == nil) == (len(events) > 0), "R3", "an error or a fact, got %v and %d facts", out.err, len(events))
		if out.err != nil {
			r.saw("replacement refused")
		}
	case consulted:
		if !out.stale {
			r.must(r.unit.wish == r.happened(), "F2", "%s\n  got      %s", r.unit.wish, r.happened())
		}
	}
}

// toldReceipt is D2, D3, D6 and D16.
func (r *reference) toldReceipt(in deliver, events []session.Event, out outcome) {
	m := r.messages[in.message.ID]
	switch {
	case len(events) > 0:
		want := agent.Receipt{ID: in.message.ID, Seq: events[0].Seq, Verb: in.verb}
		r.must(out.err == nil && out.receipt == want, "D6", "%v, got %v and %v", want, out.receipt, out.err)
	case m != nil && m.fate != "" && errors.Is(out.err, agent.ErrFull):
		r.saw("full for an old message") // the owner looks it up before it tells the caller
	case m == nil:
		r.must(errors.Is(out.err, agent.ErrFull), "D5", "no error but a full inbox, got %v", out.err)
		r.must(!r.room(in.verb, in.message.Size(), in.message.Source, nil), "D16", "%s accepted: there is room for it", in.message.ID)
		r.saw("full for " + string(in.verb) + " of " + whose(in.message.Source))
	case out.err != nil:
		r.must(errors.Is(out.err, agent.ErrConflict) && (m.verb != in.verb || m.digest != in.digest), "D3", "a conflict only with another message, got %v", out.err)
		r.saw("conflict with a pending message")
	default:
		want := agent.Receipt{ID: m.id, Seq: m.seq, Verb: m.verb, Replayed: true}
		r.must(out.receipt == want && m.verb == in.verb && m.digest == in.digest, "D3", "%v, got %v", want, out.receipt)
		r.saw("replay of a pending message")
	}
}

func (r *reference) sawReplacement(by string, out outcome, events []session.Event) {
	if !out.stale && !r.unit.has("replaced") {
		what := "an error"
		if len(events) > 0 {
			what = events[0].Fact.Type()
		}
		r.saw("invalid replacement by " + by + ": " + what)
	}
}

// toldReply is Q1: the first reply wins, another is harmless.
func (r *reference) toldReply(in reply, events []session.Event, out outcome) {
	q := r.question(in.fact.ID)
	if len(events) > 0 {
		r.must(out.err == nil && !out.absent, "Q1", "no error, got %v", out.err)
		r.saw("question answered")
		return
	}
	r.must(q.fate != "open", "Q1", "question %s answered: it is open", q.id)
	r.saw("reply too late: " + q.fate)
}

func whose(s chat.Source) string {
	if s.Kind == chat.SourceUser {
		return "a person"
	}
	return "another"
}

// toldFate is C10: what was pending is taken back or changed, else the true
// fate is in the log.
func (r *reference) toldFate(id string, events []session.Event, out outcome) {
	if len(events) > 0 {
		r.must(out.err == nil && !out.absent, "C10", "no error for %s, got %v", id, out.err)
		r.saw(fmt.Sprintf("%T", r.unit.in))
		return
	}
	m := r.messages[id]
	r.must(out.absent && (m == nil || m.fate != ""), "C10", "%s withdrawn or amended: it is pending", id)
	r.saw(fmt.Sprintf("%T too late", r.unit.in))
}

// wished is F2 and F6: what is to come of what the hooks said, in words.
func (r *reference) wished(in consulted) string {
	var refused, taken, entered, struck []string
	batch, waking := r.unit.batch, false
	if in.failure != nil || !r.covers(in.rulings) {
		return r.wishedBroken()
	}
	if in.stop != nil {
		r.saw("a hook says stop")
		return words(nil, nil, nil, nil, "cancelled")
	}
	for i, m := range batch {
		switch in.rulings[i].what {
		case refuse:
			refused = append(refused, m.id)
		case take:
			taken = append(taken, m.id)
		default:
			entered = append(entered, m.id)
			waking = waking || m.verb.Wakes()
		}
	}
	switch {
	case waking || r.unit.turn.results:
		if len(refused)+len(taken) > 0 {
			r.saw("some enter, some don't")
		}
		added := func(list []chat.Message) (ids []string) {
			for _, m := range list {
				ids = append(ids, m.ID)
			}
			return ids
		}
		return words(refused, taken, slices.Concat(added(in.before), entered, added(in.after)), struck, "")
	case len(refused) > 0:
		r.unit.end = "blocked"
	default:
		r.unit.end = "done"
	}
	return words(refused, taken, nil, nil, r.unit.end)
}

func (r *reference) wishedBroken() string {
	var refused, struck []string
	for _, m := range r.unit.batch {
		if m.struck {
			refused = append(refused, m.id)
		} else {
			struck = append(struck, m.id)
		}
	}
	r.saw("hooks break")
	if len(refused) > 0 {
		r.saw("hooks break twice on a message")
	}
	if r.unit.end = "failed"; len(struck) == 0 && len(refused) > 0 && !r.unit.turn.results {
		r.unit.end = "blocked"
		return words(refused, nil, nil, nil, "blocked")
	}
	return words(refused, nil, nil, struck, "failed")
}

func (r *reference) covers(rulings []ruling) bool {
	return slices.EqualFunc(rulings, r.unit.batch, func(a ruling, m *expected) bool { return a.id == m.id })
}

// happened is the outcome of a consultation as the log has it.
func (r *reference) happened() string {
	var refused, taken, entered, struck []string
	end := ""
	for _, e := range r.unit.events {
		switch f := e.Fact.(type) {
		case session.Refused:
			refused = append(refused, f.ID)
		case session.Taken:
			taken = append(taken, f.ID)
		case session.Entered:
			for _, entry := range f.Messages {
				entered = append(entered, entry.ID)
			}
		case session.TurnEnded:
			struck, end = f.Struck, string(f.Reason)
		}
	}
	switch session.EndReason(end) {
	case session.EndCompleted, session.EndMaxTokens, session.EndRefused:
		end = "done"
	case "":
		switch _, batch := r.batch(); {
		case r.natural():
			end = r.unit.end // the stopping hooks are asked first
			r.turn.blocked = r.turn.blocked || end == "blocked"
		case r.turn.phase == boundary && len(batch) > 0 && batch[0] != nil && r.unit.turn.steps > 0:
			end = r.unit.end // D9: another steer keeps the turn from ending
			r.turn.blocked = r.turn.blocked || end == "blocked"
			r.saw("another steer keeps a turn from ending")
		}
	}
	return words(refused, taken, entered, struck, end)
}

func words(refused, taken, entered, struck []string, end string) string {
	list := func(ids []string) string { return strings.Join(ids, " ") }
	return fmt.Sprintf("refused [%s] taken [%s] entered [%s] struck [%s] end %q",
		list(refused), list(taken), list(entered), list(struck), end)
}

func says(id, text string) string { return id + ": " + text }

// What the world owes.

// owes is D14, T2, C5 and L1: what is owed follows from what is in the log.
func (r *reference) owes(w work) {
	t := &r.turn
	due := map[string]bool{
		"consult": w.consult.cause != 0, "ask": w.ask.cause != 0, "calls": len(w.calls) > 0,
		"wait": w.wait.cause != 0, "end": w.end.cause != 0, "halt": w.halt.cause != 0,
	}
	var got []string
	for _, what := range []string{"consult", "ask", "calls", "wait", "end", "halt"} {
		if due[what] {
			got = append(got, what)
		}
	}
	want := r.work()
	r.must(strings.Join(got, " ") == want, "D13", "%q owed, got %q", want, strings.Join(got, " "))
	switch want {
	case "consult":
		r.owesBatch(w.consult)
	case "ask":
		r.must(w.ask.cause == t.cause && w.ask.turn == r.turns && w.ask.step == t.steps && w.ask.attempt == t.tries, "F3",
			"request %d for step %d of turn %d, attempt %d, got %+v", t.cause, t.steps, r.turns, t.tries, w.ask)
		r.must(fmt.Sprint(w.ask.settings) == fmt.Sprint(t.settings), "R2", "settings %v, got %v", t.settings, w.ask.settings)
	case "wait":
		r.must(w.wait.until.Equal(t.until), "L11", "waiting until %v, got %v", t.until, w.wait.until)
	case "halt":
		r.owesHalt(w.halt)
	case "calls":
		var calls []int
		for _, c := range w.calls {
			calls = append(calls, c.index)
		}
		want := t.scheduled(r.limits.Beside)
		r.must(slices.Equal(calls, want), "T2", "calls %v, got %v", want, calls)
		if len(calls) > 1 {
			r.saw("calls beside each other")
		}
	}
	wall := r.settings.Budget.Turn.Wall
	if t.open && t.stop == nil && wall > 0 {
		r.must(w.alarm.cause != 0 && w.alarm.until.Equal(t.began.Add(wall)), "L10", "an alarm at %v, got %v", t.began.Add(wall), w.alarm)
	}
}

// owesHalt is C5: what may be in flight comes back, all else is settled.
func (r *reference) owesHalt(h halting) {
	t := &r.turn
	r.must((h.ask == t.cause) == (t.phase == requested) && (h.ask != 0) == (t.phase == requested), "C5", "request %d stopped while %s, got %d", t.cause, t.phase, h.ask)
	var open, got []int
	for i, c := range t.calls {
		if !c.done {
			open = append(open, i)
		}
	}
	for _, c := range h.calls {
		got = append(got, c.index)
	}
	r.must(slices.Equal(open, got), "C5", "calls %v stopped, got %v", open, got)
	r.must(len(open) > 0 || t.phase == requested, "C7", "the turn to end: nothing is in flight")
	if in, is := r.unit.in.(reopen); is {
		r.must(t.stop.Reason != session.EndCancelled, "F3", "a stopped turn only ended when %s", in.mode)
		r.saw("halt owed after reopening")
	}
}

// views is I1: what waits, and why, as the inbox shows it.
func (r *reference) views(pending []*session.Pending) {
	same := slices.EqualFunc(pending, r.waiting, func(p *session.Pending, m *expected) bool {
		return p.ID == m.id && p.Verb == m.verb && p.Parked == m.parked && p.Since == m.since && p.Struck == m.struck
	})
	if same {
		return
	}
	var got, want []string
	for _, p := range pending {
		got = append(got, fmt.Sprint(p.ID, p.Parked, p.Since, p.Struck))
	}
	for _, m := range r.waiting {
		want = append(want, fmt.Sprint(m.id, m.parked, m.since, m.struck))
	}
	r.must(false, "I1", "waiting %v, got %v", want, got)
}

func (r *reference) work() string {
	switch t := &r.turn; {
	case !t.open:
		return ""
	case t.stop != nil:
		return "halt"
	case t.phase == requested:
		return "ask"
	case t.phase == pausing:
		return "wait"
	case t.phase == running:
		return "calls"
	case r.natural():
		return "end"
	default:
		return "consult"
	}
}

func (r *reference) owesBatch(c consultation) {
	_, batch := r.batch()
	r.must(c.turn == r.turns && c.step == r.turn.steps+1 && c.results == r.turn.results, "L1",
		"step %d of turn %d, results %v, got %+v", r.turn.steps+1, r.turns, r.turn.results, c)
	same := slices.EqualFunc(c.batch, batch, func(p *session.Pending, m *expected) bool {
		return p.ID == m.id && chat.PlainText(p.Message.Parts) == m.text
	})
	var got []string
	for _, p := range c.batch {
		got = append(got, p.ID)
	}
	r.must(same, "D14", "batch %s, got %v", names(batch), got)
}

// sees is D11, D15 and R3: what the model is shown when it is asked.
func (r *reference) sees(items []session.Item) {
	var got, want []string
	for _, it := range items {
		switch {
		case it.Message != nil:
			got = append(got, says(it.Message.ID, chat.PlainText(it.Message.Parts)))
		case it.Answer != nil:
			got = append(got, fmt.Sprint("answer ", it.Base))
		case it.Result != nil:
			got = append(got, fmt.Sprint("result ", it.Base))
		}
	}
	for _, s := range r.shown {
		r.must(s.open == 0, "D11", "no request while %s has open calls", s.what)
		want = append(want, s.what)
	}
	r.must(slices.Equal(got, want), "D11", "the model to see\n  %v, got\n  %v", want, got)
}
