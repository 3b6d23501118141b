package react

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// temper is how a world behaves, so that some histories go deep where others
// go wide.
type temper struct {
	calm     bool // everything goes well; for the end
	broken   bool // hooks often break
	busy     bool // answers have many calls
	flaky    bool // requests often fail
	poor     bool // budgets are set
	stopping bool // there are many cancels
	crashing bool // there are many crashes
	bulky    bool // senders are faster than the agent
}

func newTemper(r *rand.Rand) temper {
	return temper{
		broken: chance(r, 20), busy: chance(r, 40), flaky: chance(r, 25), poor: chance(r, 25),
		stopping: chance(r, 30), crashing: chance(r, 30), bulky: chance(r, 20),
	}
}

// often is a chance that depends on the temper.
func often(r *rand.Rand, much bool, rarely, mostly int) bool {
	if much {
		return chance(r, mostly)
	}
	return chance(r, rarely)
}

type act struct {
	weight int
	do     func(*world, *rand.Rand)
}

// pick chooses what happens next.
func (w *world) pick(r *rand.Rand) func(*world, *rand.Rand) {
	more := func(yes bool, few, many int) int {
		if yes {
			return many
		}
		return few
	}
	acts := []act{
		{45, (*world).work},
		{more(w.temper.bulky, 20, 50), one((*world).deliver)},
		{more(w.temper.stopping, 2, 7), one((*world).cancel)},
		{3, one((*world).resume)},
		{3, one((*world).withdraw)},
		{3, one((*world).amend)},
		{5, one((*world).reply)},
		{more(w.temper.poor, 1, 4), one((*world).configure)},
		{1, one((*world).note)},
		{2, one((*world).replace)},
		{2, one((*world).spawn)},
		{5, (*world).tellLate},
		{more(w.temper.crashing, 1, 4), (*world).crash},
		{2, func(w *world, _ *rand.Rand) { w.snapshot() }},
		{1, func(w *world, r *rand.Rand) {
			if chance(r, 20) {
				w.fork(r)
			}
		}},
		{4, (*world).group},
		{more(w.temper.poor, 0, 3), (*world).outrun},
	}
	total := 0
	for _, a := range acts {
		total += a.weight
	}
	n := r.IntN(total)
	for _, a := range acts {
		if n -= a.weight; n < 0 {
			return a.do
		}
	}
	panic("unreachable")
}

// one tells a single input.
func one(make func(*world, *rand.Rand) input) func(*world, *rand.Rand) {
	return func(w *world, r *rand.Rand) {
		if in := make(w, r); in != nil {
			w.tell(r, in)
		}
	}
}

// group settles several inputs in one append.
func (w *world) group(r *rand.Rand) {
	wishes := []func(*world, *rand.Rand) input{
		(*world).deliver, (*world).deliver, (*world).deliver, (*world).cancel, (*world).withdraw,
		(*world).amend, (*world).answer, (*world).answer, (*world).resume, (*world).reply,
	}
	var inputs []input
	for range 2 + r.IntN(3) {
		if in := wishes[r.IntN(len(wishes))](w, r); in != nil {
			inputs = append(inputs, in)
		}
	}
	if len(inputs) > 1 {
		w.saw("group")
	}
	w.tell(r, inputs...)
}

// outrun gives the turn more time while its alarm is on its way.
func (w *world) outrun(r *rand.Rand) {
	alarm := w.live.owed().alarm
	if alarm.cause == 0 {
		return
	}
	in := w.waited(alarm)
	f := w.ref.settings
	f.Budget.Turn.Wall *= 2
	w.tell(r, configure{fact: f})
	w.tell(r, in)
	w.saw("alarm outrun")
}

// work lets a piece of owed work end, now or later.
func (w *world) work(r *rand.Rand) {
	in := w.answer(r)
	switch {
	case in == nil:
		w.tell(r, w.deliver(r))
	case chance(r, 6):
		w.late = append(w.late, in)
	default:
		w.tell(r, in)
		if chance(r, 10) {
			w.late = append(w.late, in)
		}
	}
}

// tellLate is an answer that was on its way for a while, or comes twice.
func (w *world) tellLate(r *rand.Rand) {
	if len(w.late) > 0 {
		w.tell(r, w.late[r.IntN(len(w.late))])
	}
}

// Callers.

func (w *world) id(kind string) string {
	w.minted++
	return fmt.Sprint(kind, w.minted)
}

// message says something short; size is in bytes.
func (w *world) message(from chat.Source, id string, size int) chat.Message {
	text := id + strings.Repeat(".", max(0, size-len(id)))
	return chat.Message{ID: id, Role: chat.RoleUser, Source: from, Parts: []chat.Part{chat.Text(text)}}
}

func (w *world) deliver(r *rand.Rand) input {
	senders := []chat.Source{
		chat.User(), chat.User(), chat.User(), chat.Plugin("todo"), chat.Agent("parent"), chat.Agent("peer"), chat.Host("editor"),
	}
	m := w.message(senders[r.IntN(len(senders))], w.id("m"), r.IntN(30))
	if chance(r, 2) {
		m = w.message(m.Source, m.ID, 70)
	}
	verbs := []session.Verb{session.Followup, session.Followup, session.Steer, session.Steer, session.Inject}
	verb := verbs[r.IntN(len(verbs))]
	if old := w.known(r); old != nil && chance(r, 8) {
		m = old.Message
		if verb = old.Verb; chance(r, 30) {
			verb = verbs[r.IntN(len(verbs))]
		}
		if chance(r, 30) {
			m = w.message(m.Source, m.ID, 20)
		}
	}
	return deliver{verb: verb, message: m, digest: m.Digest()}
}

// known is a message accepted at some time.
func (w *world) known(r *rand.Rand) *session.Accepted {
	if len(w.log) == 0 {
		return nil
	}
	from := r.IntN(len(w.log))
	for _, e := range w.log[from:] {
		if a, is := e.Fact.(session.Accepted); is {
			return &a
		}
	}
	return nil
}

// anID is mostly of a message that waits.
func (w *world) anID(r *rand.Rand) string {
	if n := len(w.ref.waiting); n > 0 && chance(r, 85) {
		return w.ref.waiting[r.IntN(n)].id
	}
	if old := w.known(r); old != nil {
		return old.Message.ID
	}
	return "nobody's"
}

func (w *world) cancel(r *rand.Rand) input {
	causes := []session.Cause{session.CauseUser, session.CauseUser, session.CauseParent, session.CauseHost, session.CauseTimeout, session.CauseBudget}
	return cancel{cause: causes[r.IntN(len(causes))], reason: "enough", keep: chance(r, 50)}
}

func (w *world) resume(*rand.Rand) input     { return resume{} }
func (w *world) withdraw(r *rand.Rand) input { return withdraw{id: w.anID(r)} }

func (w *world) amend(r *rand.Rand) input {
	id := w.anID(r)
	return amend{id: id, parts: w.message(chat.User(), w.id(id+"-amended"), r.IntN(45)).Parts}
}

func (w *world) reply(r *rand.Rand) input {
	if n := len(w.ref.questions); n > 0 {
		q := w.ref.questions[n-1-r.IntN(min(n, 3))]
		if q.fate == "open" || chance(r, 20) {
			return reply{fact: session.Reply{ID: q.id, By: chat.User(), Allow: chance(r, 50)}}
		}
	}
	return nil
}

func (w *world) configure(r *rand.Rand) input {
	f := session.Configured{Model: []string{"small", "large"}[r.IntN(2)]}
	if w.temper.poor && chance(r, 75) {
		f.Budget = w.budget(r)
	}
	return configure{fact: f}
}

func (w *world) budget(r *rand.Rand) session.Budget {
	used := w.ref.session.least
	limit := session.Limit{Spent: session.Spent{Steps: used.Steps + 1 + r.IntN(6)}}
	if chance(r, 30) {
		limit = session.Limit{Spent: session.Spent{Tokens: used.Tokens + int64(r.IntN(200))}}
	}
	switch r.IntN(4) {
	case 0:
		return session.Budget{Session: limit}
	case 1:
		return session.Budget{Tree: limit}
	case 2:
		return session.Budget{Turn: session.Limit{Spent: session.Spent{Steps: 1 + r.IntN(3)}}}
	default:
		return session.Budget{Turn: session.Limit{Wall: time.Duration(1+r.IntN(40)) * time.Second}}
	}
}

func (w *world) note(r *rand.Rand) input {
	return note{fact: session.Noted{Kind: "todo/changed", Version: 1, Data: []byte(`{}`), Key: fmt.Sprint("todo/", r.IntN(2))}}
}

func (w *world) replace(r *rand.Rand) input { return replace{fact: w.replacement(r)} }

// replacement stands for a range that may or may not be replaced.
func (w *world) replacement(r *rand.Rand) session.Replaced {
	f := session.Replaced{From: 1, To: session.Seq(1 + r.IntN(len(w.log)+1)), Hook: "compact"}
	if n := len(w.ref.shown); n > 0 && chance(r, 80) {
		from := r.IntN(n)
		f.From, f.To = w.ref.shown[from].from, w.ref.shown[from+r.IntN(n-from)].to
	}
	f.Messages = append(f.Messages, w.message(chat.Plugin("compact"), w.id("summary"), 10))
	return f
}

func (w *world) spawn(r *rand.Rand) input {
	if !w.ref.turn.open || w.ref.turn.stop != nil {
		return nil
	}
	return spawn{child: session.ID(w.id("child")), detached: chance(r, 30)}
}

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
	case answered:
		return owed.ask.cause == in.cause || owed.halt.ask == in.cause, true
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

// situations must each happen in the usual number of histories.
var situations = []string{
	"steer opens a turn", "steer after results", "steer at the natural end", "steer keeps a turn from ending",
	"another steer keeps a turn from ending", "batch emptied by a withdrawal", "amended message enters",
	"inject enters a running turn", "inject enters with a new turn", "inject left waiting",
	"a result concludes the turn", "calls beside each other", "turn without a step",
	"cancel during boundary", "cancel during asking", "cancel during waiting", "cancel during calls",
	"cancel during stopping hooks", "cancel while idle", "cancel twice", "cancel after a halt",
	"interrupted answer kept", "stopped request dropped", "whole answer after a stop",
	"reopened on continue during boundary", "reopened on continue during asking", "reopened on continue during waiting",
	"reopened on continue during calls", "reopened on continue during stopping hooks", "reopened on hold during boundary",
	"reopened on hold during asking", "reopened on hold during calls", "reopened on hold during stopping hooks",
	"reopened a stopped turn", "crash after reopening", "result not-started", "result unknown-outcome", "fork", "snapshot",
	"append failed", "group", "collision in a group", "replay of a pending message", "replay of an old message",
	"conflict with a pending message", "conflict with an old message", "full for an old message",
	"full for followup of a person", "full for followup of another", "full for inject of a person", "full for inject of another",
	"message refused", "message taken", "some enter, some don't", "a hook says stop", "hooks leave a message out",
	"hooks break", "hooks break twice on a message", "stopping hooks object 2",
	"parked for the budget", "halted for budget", "halted for failed", "released by resume", "released by principal",
	"released by completed", "released from stopped", "released from failed", "released from budget", "released from held",
	"request fails for good", "request fails, again at once", "request fails, again later", "replaced by react.failed",
	"replaced by react.maintained", "replaced by react.replace", "replacement refused",
	"question answered", "question closed by react.cancel", "question closed by react.resulted",
	"question closed by react.reopen", "reply too late: answered", "reply too late: closed",
	"stale react.consulted", "stale react.answered", "stale react.failed", "stale react.resulted", "stale react.ended",
	"stale react.elapsed", "turn ended blocked", "turn ended budget", "turn ended max-tokens", "turn ended refused",
	"child of a parent released",
}
