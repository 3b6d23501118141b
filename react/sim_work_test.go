package react

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// The world's work.

// answer is the end of some piece of owed work; nil if none is owed.
func (w *world) answer(r *rand.Rand) input {
	owed := w.live.owed()
	var ways []func() input
	add := func(is bool, way func() input) {
		if is {
			ways = append(ways, way)
		}
	}
	add(owed.consult.cause != 0, func() input { return w.consulted(r, owed.consult) })
	add(owed.ask.cause != 0, func() input { return w.answered(r, owed.ask) })
	for _, c := range owed.calls {
		add(true, func() input { return w.called(r, c) })
	}
	add(owed.wait.cause != 0, func() input { return w.waited(owed.wait) })
	add(owed.end.cause != 0, func() input { return w.ended(r, owed.end) })
	add(owed.halt.ask != 0, func() input { return w.halted(r, owed.halt.ask) })
	for _, c := range owed.halt.calls {
		add(true, func() input { return w.result(r, c) })
	}
	add(owed.alarm.cause != 0 && !w.temper.calm && chance(r, 25), func() input { return w.waited(owed.alarm) })
	if len(ways) == 0 {
		return nil
	}
	return ways[r.IntN(len(ways))]()
}

func (w *world) consulted(r *rand.Rand, c consultation) input {
	in := consulted{cause: c.cause}
	for _, p := range c.batch {
		in.rulings = append(in.rulings, w.ruling(r, p.ID))
	}
	switch {
	case w.temper.calm:
	case often(r, w.temper.broken, 3, 35):
		in.failure = &session.Failure{Kind: "hook", Hook: "careless"}
	case chance(r, 3):
		in.stop = &stop{hook: "guard", reason: "not now"}
	case chance(r, 6):
		return maintained{cause: c.cause, fact: w.replacement(r)}
	case chance(r, 10):
		in.before = []chat.Message{w.message(chat.Plugin("time"), w.id("added"), 5)}
	case chance(r, 10):
		in.after = []chat.Message{w.message(chat.Plugin("git"), w.id("added"), 5)}
	case chance(r, 10):
		in.header = &session.Header{System: chat.BlobOf([]byte{byte(r.IntN(2))})}
	case chance(r, 2) && len(in.rulings) > 0:
		in.rulings = in.rulings[1:]
		w.saw("hooks leave a message out")
	}
	return in
}

func (w *world) ruling(r *rand.Rand, id string) ruling {
	g := ruling{id: id}
	switch n := r.IntN(100); {
	case w.temper.calm:
	case n < 8:
		g.what, g.hook, g.reason = refuse, "guard", "no"
	case n < 16:
		g.what, g.hook = take, "commands"
	case n < 24:
		g.parts = []chat.Part{chat.Text("rewritten " + id)}
	}
	return g
}

func (w *world) answered(r *rand.Rand, a asking) input {
	if !w.temper.calm && often(r, w.temper.flaky, 8, 40) {
		return w.failed(r, a)
	}
	in := answered{cause: a.cause, cost: int64(r.IntN(5))}
	in.answer = chat.Answer{Finish: chat.FinishStop, Usage: chat.Usage{Input: int64(r.IntN(40)), Output: int64(r.IntN(20))}}
	in.answer.Blocks = []chat.Block{{Kind: chat.BlockText, Text: "so be it"}}
	calls := 0
	switch n := r.IntN(100); {
	case w.temper.calm:
	case n < 5:
		in.answer.Finish = chat.FinishRefused
	case n < 12:
		in.answer.Finish = chat.FinishMaxTokens
		calls = r.IntN(3)
	case n < 60:
		in.answer.Finish = chat.FinishCalls
		calls = 1 + r.IntN(2)
		if w.temper.busy {
			calls = 1 + r.IntN(5)
		}
	}
	beside := 30 + 40*r.IntN(2)
	for i := range calls {
		call := chat.Call{ID: fmt.Sprint("call", i), Name: "shell"}
		in.answer.Blocks = append(in.answer.Blocks, chat.Block{Kind: chat.BlockCall, Call: &call})
		in.traits = append(in.traits, session.Trait{Beside: chance(r, beside), Repeatable: chance(r, 40)})
	}
	return in
}

func (w *world) failed(r *rand.Rand, a asking) input {
	in := failed{cause: a.cause, failure: session.Failure{Kind: "rate-limit"}}
	switch r.IntN(5) {
	case 0:
		w.saw("request fails for good")
	case 1:
		in.again = true
		in.at = w.now.Add(time.Duration(1+r.IntN(10)) * time.Second)
		w.saw("request fails, again later")
	case 2:
		f := w.replacement(r)
		in.again, in.replaced = true, &f
		in.failure.Kind = "context-too-long"
		w.saw("request fails, again with a replacement")
	default:
		in.again = true
		w.saw("request fails, again at once")
	}
	return in
}

func (w *world) called(r *rand.Rand, c calling) input {
	open := slices.ContainsFunc(c.questions, func(q *session.Asked) bool { return q.Reply == nil })
	switch {
	case w.temper.calm && open:
		for _, q := range c.questions {
			if q.Reply == nil {
				return reply{fact: session.Reply{ID: q.ID, By: chat.User(), Allow: true}}
			}
		}
	case !w.temper.calm && chance(r, 20):
		id := w.id("q")
		if chance(r, 10) && len(w.ref.questions) > 0 {
			id = w.ref.questions[0].id
		}
		return pose{fact: session.Question{
			ID: id, Kind: session.QuestionApproval, Turn: w.ref.turns, Answer: c.answer, Index: c.index,
		}}
	case !c.trait.Repeatable && !c.started && chance(r, 75):
		return started{fact: session.CallStarted{Answer: c.answer, Index: c.index, Arguments: "{}"}}
	}
	return w.result(r, c)
}

func (w *world) result(r *rand.Rand, c calling) input {
	f := session.Resulted{Answer: c.answer, Index: c.index, Result: chat.Result{Call: c.call.ID, Name: c.call.Name}}
	f.Result.Parts = []chat.Part{chat.Text("done")}
	switch n := r.IntN(100); {
	case w.temper.calm:
	case n < 10:
		f.Concludes = true
	case n < 14:
		f.Concludes, f.Result.Code = true, chat.CodeError
	case n < 24:
		f.Result.Code = chat.CodeError
	case n < 30:
		f.Spent = session.Spent{Steps: 1, Tokens: 10, Cost: 1}
	}
	return resulted{fact: f}
}

// waited lets the time pass until then.
func (w *world) waited(until waiting) input {
	if w.now.Before(until.until) {
		w.now = until.until
	}
	return elapsed{cause: until.cause}
}

func (w *world) ended(r *rand.Rand, e ending) input {
	in := ended{cause: e.cause}
	if !w.temper.calm && chance(r, 20) {
		for range 1 + r.IntN(2) {
			in.objections = append(in.objections, w.message(chat.Plugin("tests"), w.id("objection"), 20))
		}
		w.saw(fmt.Sprint("stopping hooks object ", len(in.objections)))
	}
	return in
}

// halted ends a request that was stopped.
func (w *world) halted(r *rand.Rand, ask session.Seq) input {
	if chance(r, 40) {
		w.saw("stopped request dropped")
		return dropped{cause: ask}
	}
	in := answered{cause: ask, answer: chat.Answer{Interrupted: true}}
	in.answer.Blocks = []chat.Block{{Kind: chat.BlockText, Text: "so b"}}
	if chance(r, 30) {
		in.answer.Interrupted, in.answer.Finish = false, chat.FinishStop
		if chance(r, 50) {
			in.answer.Finish = chat.FinishCalls
			in.answer.Blocks = append(in.answer.Blocks, chat.Block{Kind: chat.BlockCall, Call: &chat.Call{ID: "call0", Name: "shell"}})
			in.traits = []session.Trait{{}}
		}
	}
	return in
}

// answers says whether in answers what is owed, if that can be told.
func answers(owed work, now time.Time, in input) (is, sure bool) {
	call := func(calls []calling, answer session.Seq, index int) bool {
		return slices.ContainsFunc(calls, func(c calling) bool { return c.answer == answer && c.index == index })
	}
	switch in := in.(type) {
	case consulted:
		return owed.consult.cause == in.cause, true
	case maintained:
		return owed.consult.cause == in.cause, true
	case answered: // cut off only by a stop
		return owed.ask.cause == in.cause && !in.answer.Interrupted || owed.halt.ask == in.cause, true
	case failed:
		return owed.ask.cause == in.cause, owed.halt.ask != in.cause
	case dropped:
		return owed.halt.ask == in.cause, true
	case elapsed:
		early := owed.alarm.cause == in.cause && now.Before(owed.alarm.until)
		return owed.wait.cause == in.cause || owed.alarm.cause == in.cause, !early
	case ended:
		return owed.end.cause == in.cause, true
	case resulted:
		return call(slices.Concat(owed.calls, owed.halt.calls), in.fact.Answer, in.fact.Index), true
	case started:
		return call(owed.calls, in.fact.Answer, in.fact.Index), !slices.ContainsFunc(owed.calls, func(c calling) bool { return c.started })
	default:
		return false, false
	}
}

// checkVoided is D14: a consultation is void once a message of its batch is
// touched, or settings are new, and not for less (D10).
func (w *world) checkVoided(before work, u told) {
	var touched string
	switch in := u.in.(type) {
	case amend:
		touched = in.id
	case withdraw:
		touched = in.id
	case configure:
	default:
		return
	}
	if len(u.events) == 0 {
		return
	}
	peeked := slices.ContainsFunc(before.consult.batch, func(p *session.Pending) bool { return p.ID == touched })
	kept := before.consult.cause == u.work.consult.cause
	fail := func(clause, expected string) {
		w.units = append(w.units, u)
		w.fail(clause, "%s", expected)
	}
	switch {
	case before.consult.cause != 0 && kept && (peeked || touched == ""):
		fail("D14", "the hooks to be asked again")
	case before.consult.cause != 0 && !kept && !peeked && touched != "":
		fail("D14", "the hooks' answer to count: "+touched+" wasn't in the batch")
	case before.end.cause != 0 && before.end.cause != u.work.end.cause && touched != "":
		fail("D10", "the stopping hooks' answer to count: no step is due, so nobody looks at an inject")
	}
}
