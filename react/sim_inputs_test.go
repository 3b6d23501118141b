package react

import (
	"fmt"
	"math/rand/v2"
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
		{more(w.temper.crashing, 1, 4) + more(w.ref.turn.phase == pausing, 0, 12), (*world).crash},
		{2, func(w *world, _ *rand.Rand) { w.snapshot() }},
		{1, func(w *world, r *rand.Rand) {
			if chance(r, 20) {
				w.fork(r)
			}
		}},
		{4, (*world).group},
		{more(w.temper.poor, 0, 3), (*world).outrun},
		{1, (*world).untimely},
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

// untimely says of a request that it was stopped, although it wasn't.
func (w *world) untimely(r *rand.Rand) {
	if ask := w.live.owed().ask.cause; ask != 0 {
		w.tell(r, w.halted(r, ask))
	}
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
	"conflict with a pending message", "conflict with an old message", "full for an old message", "full for an amendment",
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
