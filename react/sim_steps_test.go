package react

import (
	"fmt"
	"slices"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func (r *reference) retried(seq session.Seq, number int) {
	t := &r.turn
	t.tries++
	r.must(number == t.tries, "F3", "attempt %d, got %d", t.tries, number)
	r.must(r.leftBut(false, true) >= 0, "L10", "no request: the budget is spent")
	t.phase, t.cause = requested, seq
	r.must(t.tries <= r.limits.Attempts, "F3", "at most %d attempts, this is %d", r.limits.Attempts, t.tries)
	r.saw("attempt again")
}

func (r *reference) reopened(seq session.Seq, f session.Reopened) {
	t := &r.turn
	_, is := r.unit.in.(reopen)
	r.must(is, "F3", "reopened by reopening, got %T", r.unit.in)
	if t.open {
		r.must(f.Turn == r.turns, "F3", "turn %d, got %d", r.turns, f.Turn)
		r.saw("reopened on " + string(f.Mode) + " during " + string(r.doing()))
		t.tries++
		if t.stop != nil {
			r.saw("reopened a stopped turn")
		} else {
			r.must(f.Attempt == t.tries, "F3", "attempt %d, got %d", t.tries, f.Attempt)
		}
		if t.phase == requested {
			t.cause = seq
		}
	}
	if f.Mode == session.OpenHold {
		for _, m := range r.runnable("", r.head) {
			m.parked = session.ParkedHeld
		}
	}
}

// checkReopened is F3 for what had begun: it isn't begun again unless it may.
func (r *reference) checkReopened() {
	t := &r.turn
	if _, is := r.unit.in.(reopen); !is || !t.open {
		return
	}
	r.must(t.stop != nil || t.tries <= r.limits.Attempts, "F3", "a failed turn after %d attempts, this is %d", r.limits.Attempts, t.tries)
	for i, c := range t.calls {
		r.must(c.done || !c.started, "F3", "an unknown outcome of call %d, which had started", i)
	}
}

// answered is L5 and C6.
func (r *reference) answered(seq session.Seq, f session.Answered) {
	t := &r.turn
	calls := f.Answer.Calls()
	r.must(t.open && t.phase == requested && f.Ask == t.cause, "F3", "an answer to request %d, got one to %d", t.cause, f.Ask)
	r.must(!f.Answer.Interrupted || t.stop != nil && len(calls) == 0, "C6", "interrupted only after a stop, and without calls")
	r.must(f.Answer.Finish != chat.FinishMaxTokens || len(calls) == 0, "L5", "a truncated answer without its calls")
	for i := range r.shown {
		r.shown[i].unseen = false
	}
	r.shown = append(r.shown, shownItem{what: fmt.Sprint("answer ", seq), from: seq, to: seq, calls: len(calls), open: len(calls)})
	t.phase, t.due, t.answer, t.calls, t.tries = boundary, seq, seq, nil, 1
	t.last = f.Answer.Finish
	t.truncated = t.truncated || t.last == chat.FinishMaxTokens
	for i, c := range calls {
		t.calls = append(t.calls, expectedCall{Call: c, Trait: f.Traits[i]})
		t.phase = running
	}
	spent := session.Spent{Tokens: f.Answer.Usage.Total(), Cost: f.Cost}
	for _, s := range []*spending{&t.spent, &r.session} {
		s.least = s.least.Add(spent)
		s.least.Steps++
		s.most = s.most.Add(spent)
	}
	if f.Answer.Interrupted {
		r.saw("interrupted answer kept")
	} else if t.stop != nil {
		r.saw("whole answer after a stop")
	}
}

// Calls and questions.

func (r *reference) callStarted(f session.CallStarted) {
	t := &r.turn
	r.must(t.open && t.stop == nil, "C5", "no call starts after a stop")
	r.must(f.Answer == t.answer && slices.Contains(t.scheduled(r.limits.Beside), f.Index), "T2", "one of the calls %v to start, got %d", t.scheduled(r.limits.Beside), f.Index)
	c := &t.calls[f.Index]
	r.must(!c.Repeatable && !c.started, "T2", "started stored once, and for what isn't repeatable")
	c.started = true
}

func (r *reference) resulted(seq session.Seq, f session.Resulted) {
	t := &r.turn
	r.must(t.open && t.phase == running && f.Answer == t.answer && f.Index < len(t.calls), "C5", "a result of an open call")
	c := &t.calls[f.Index]
	r.must(!c.done && f.Result.Call == c.ID, "S1", "one result for call %d", f.Index)
	if _, live := r.unit.in.(resulted); !live {
		r.must(r.unit.brings("reopen", "answered"), "C5", "call %d, which may be running, to come back by itself", f.Index)
		want := chat.CodeNotStarted
		if c.started {
			want = chat.CodeOutcome
		}
		r.must(f.Result.Code == want, "F3", "%s for call %d, got %q", want, f.Index, f.Result.Code)
		r.saw("result " + string(want))
	}
	r.close(f.Index, f.Closed)
	c.done = true
	c.concludes = f.Concludes && f.Result.Code == chat.CodeOK
	r.placeResult(seq, f.Index)
	t.spent.most = t.spent.most.Add(f.Spent)
	r.session.most = r.session.most.Add(f.Spent)
	t.results = true
	for _, c := range t.calls {
		if !c.done {
			return
		}
		t.results = t.results && !c.concludes
	}
	if !t.results {
		r.saw("a result concludes the turn")
	}
	t.phase, t.due, t.tries = boundary, seq, 1
}

// placeResult shows a result behind its answer, in the model's order.
func (r *reference) placeResult(seq session.Seq, index int) {
	at := slices.IndexFunc(r.shown, func(s shownItem) bool { return s.what == fmt.Sprint("answer ", r.turn.answer) })
	r.must(at >= 0, "R3", "the answer of an open call to stay")
	r.shown[at].open--
	for at++; at < len(r.shown) && r.shown[at].result > 0 && r.shown[at].result <= index; at++ {
	}
	r.shown = slices.Insert(r.shown, at, shownItem{what: fmt.Sprint("result ", seq), from: seq, to: seq, result: index + 1, unseen: true})
}

func (r *reference) asked(f session.Question) {
	t := &r.turn
	r.must(r.question(f.ID) == nil, "S1", "question %s asked once", f.ID)
	r.must(t.open && t.stop == nil && f.Answer == t.answer && !t.calls[f.Index].done, "Q1", "a question for an open call")
	r.questions = append(r.questions, &expectedQuestion{id: f.ID, index: f.Index, fate: "open"})
}

// replaced is R3.
func (r *reference) replaced(seq session.Seq, f session.Replaced) {
	from, to, err := r.span(f)
	r.must(err == "", "R3", "no replacement of %d to %d: %s", f.From, f.To, err)
	var made []shownItem
	for _, m := range f.Messages {
		made = append(made, shownItem{what: says(m.ID, chat.PlainText(m.Parts)), from: r.shown[from].from, to: r.shown[to-1].to, summary: true})
	}
	r.shown = slices.Concat(r.shown[:from], made, r.shown[to:])
	r.session.most = r.session.most.Add(f.Spent)
	r.turn.spent.most = r.turn.spent.most.Add(f.Spent)
	if r.turn.phase == boundary && r.turn.open {
		r.turn.due = seq
	}
	r.saw(fmt.Sprintf("replaced by %T", r.unit.in))
}

// span finds what a replacement stands for, or says what is wrong with it.
func (r *reference) span(f session.Replaced) (from, to int, wrong string) {
	from = -1
	for i, s := range r.shown {
		if s.to < f.From || s.from > f.To {
			continue
		}
		if from < 0 {
			from = i
		}
		if to > 0 && to < i {
			return 0, 0, "it parts results"
		}
		to = i + 1
		switch {
		case s.from < f.From || s.to > f.To:
			return 0, 0, "it cuts " + s.what
		case s.unseen:
			return 0, 0, s.what + " wasn't seen yet"
		case s.open > 0:
			return 0, 0, s.what + " has open calls"
		}
	}
	switch {
	case from < 0:
		return 0, 0, "nothing is there"
	case r.shown[from].result > 0, to < len(r.shown) && r.shown[to].result > 0:
		return 0, 0, "it parts calls and results"
	}
	return from, to, ""
}

// left is what the budget leaves: 0 or less is nothing. Counted generously it
// says that the agent may stop, else that it must.
func (r *reference) left(generous bool) int64 { return r.leftBut(generous, false) }

// leftBut may leave steps out of account: asking again is inside a step.
func (r *reference) leftBut(generous, again bool) int64 {
	pick := func(s spending) session.Spent {
		if generous {
			return s.most
		}
		return s.least
	}
	left := int64(1)
	b := r.settings.Budget
	for _, l := range []struct{ limit, used session.Spent }{
		{b.Turn.Spent, pick(r.turn.spent)}, {b.Session.Spent, pick(r.session)}, {b.Tree.Spent, pick(r.session)},
	} {
		if again {
			l.limit.Steps = 0
		}
		for _, c := range [][2]int64{
			{int64(l.limit.Steps), int64(l.used.Steps)}, {l.limit.Tokens, l.used.Tokens}, {l.limit.Cost, l.used.Cost},
		} {
			if c[0] > 0 && c[1] >= c[0] && generous {
				left = 0
			} else if c[0] > 0 && c[1] >= c[0] {
				left = -1
			}
		}
	}
	return left
}
