package react

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// world is all that is around a machine: its owner, the log, a store that
// knows the claims, senders, hooks, a model, tools and a clock.
type world struct {
	seed   uint64
	length int // steps of the history
	temper temper
	limits Limits
	now    time.Time

	live   *machine // settles, and is undone
	shadow *machine // only folds the log
	ref    *reference
	log    []session.Event
	read   []session.Event // the log as it comes back from a store
	claims map[string]session.Event
	late   []input // answers that come late, or twice
	asked  session.Seq
	same   equals
	minted int

	units []told
	met   map[string]int
}

// told is a settled input, for the story.
type told struct {
	in     input
	events []session.Event
	out    outcome
	work   work
	note   string // what became of it, if it wasn't stored
}

func newWorld(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &world{
		seed: seed, length: 60 + r.IntN(90), temper: newTemper(r), limits: someLimits(r),
		now: time.Unix(1_700_000_000, 0).UTC(), claims: map[string]session.Event{}, met: map[string]int{},
		same: newEquals(),
	}
	w.live, w.shadow = newMachine(w.limits), newMachine(w.limits)
	w.ref = newReference(w.limits)
	w.ref.saw = w.saw
	w.ref.broken = func(clause, expected string) { w.fail(clause, "%s", expected) }
	return w
}

func someLimits(r *rand.Rand) Limits {
	var l Limits
	switch r.IntN(4) {
	case 0:
		l.Injects, l.Waking = Room{Count: 4}, Room{Count: 8}
	case 1:
		l.Injects, l.Waking, l.Message = Room{Bytes: 120}, Room{Bytes: 200}, 60
	}
	if chance(r, 70) {
		l.Attempts = 2 + r.IntN(3)
	}
	if chance(r, 50) {
		l.Beside = 1 + r.IntN(3)
	}
	return l
}

func (w *world) saw(situation string) { w.met[situation]++ }

func (w *world) fail(clause, format string, args ...any) {
	panic(&failure{clause: clause, text: fmt.Sprintf(format, args...)})
}

// step is the i-th of the history. It depends on the seed, i and the state
// alone, so that others can be left out.
func (w *world) step(i int) {
	r := rand.New(rand.NewPCG(w.seed, uint64(i)+1))
	w.now = w.now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
	if i == 0 && chance(r, 15) {
		w.tell(r, begin{fact: session.Parent{Session: "parent", Turn: 1}})
	}
	w.pick(r)(w, r)
}

// tell settles inputs and stores their facts as one append, which may fail.
func (w *world) tell(r *rand.Rand, inputs ...input) {
	w.live.mark()
	var units []told
	stored := map[string]session.Event{}
	for _, in := range inputs {
		u := w.settle(in)
		units = append(units, u)
		for _, e := range u.events {
			key := claimOf(e.Fact)
			if key == "" {
				continue
			}
			_, before := stored[key]
			old, taken := w.claims[key]
			if taken || before {
				w.undo(units, "its claim is taken")
				w.collided(r, inputs, in, old, taken)
				return
			}
			stored[key] = e
		}
	}
	if chance(r, 3) {
		w.saw("append failed")
		w.undo(units, "the append failed")
		return
	}
	for key, e := range stored {
		w.claims[key] = e
	}
	w.store(units)
}

// settle decides one input, and checks that it is stale only if it answers
// work that isn't owed.
func (w *world) settle(in input) told {
	before := w.live.owed()
	owed, sure := answers(before, w.now, in)
	events, out := w.live.settle(w.now, in)
	u := told{in: in, events: events, out: out, work: w.live.owed()}
	if sure && owed == out.stale || out.stale && len(events) > 0 {
		w.units = append(w.units, u)
		w.fail("owed", "stale %v for %T, got %v and %d facts", !owed, in, out.stale, len(events))
	}
	if out.stale {
		w.saw(fmt.Sprintf("stale %T", in))
	}
	w.checkVoided(before, u)
	return u
}

func (w *world) undo(units []told, why string) {
	w.live.undo()
	for _, u := range units {
		u.note = why
		w.units = append(w.units, u)
	}
	w.compare(w.live, "after an undo")
}

// store is a successful append: the shadow folds it, the reference reads it.
func (w *world) store(units []told) {
	for _, u := range units {
		w.units = append(w.units, u)
		w.log = append(w.log, u.events...)
		for _, e := range u.events {
			if err := w.shadow.apply(e); err != nil {
				w.fail("fold", "event %d to be folded: %v", e.Seq, err)
			}
		}
		w.ref.read(u.in, u.events, u.out)
		w.ref.owes(u.work)
	}
	w.compare(w.live, "after an append")
	w.ref.views(w.live.talk.Inbox.Pending())
	if ask := w.live.owed().ask.cause; ask != 0 && ask != w.asked {
		w.asked = ask
		w.ref.sees(w.live.talk.Transcript.Items())
	}
}

// compare holds a machine against the one that only folded the log.
func (w *world) compare(m *machine, when string) {
	if d := w.same.difference(w.shadow, m); d != "" {
		w.fail("F3", "the same state as the fold of the log %s: %s", when, d)
	}
	if d := w.same.difference(w.shadow.owed(), m.owed()); d != "" {
		w.fail("F3", "the same work as the fold of the log owes %s: %s", when, d)
	}
}

// collided is a store whose claim exists already: it answers for old ids. What
// came with the input is settled again by itself.
func (w *world) collided(r *rand.Rand, inputs []input, in input, old session.Event, taken bool) {
	if len(inputs) > 1 {
		w.saw("collision in a group")
		for _, in := range inputs {
			w.tell(r, in)
		}
		return
	}
	switch in := in.(type) {
	case deliver:
		f := old.Fact.(session.Accepted)
		if f.Verb == in.verb && f.Digest == in.digest {
			w.saw("replay of an old message")
		} else {
			w.saw("conflict with an old message")
		}
	case pose, note:
		w.saw(fmt.Sprintf("claim of a %T taken", in))
	default:
		w.fail("S1", "no claim of %T to be taken by event %d (stored: %v)", in, old.Seq, taken)
	}
}

func claimOf(f session.Fact) string {
	if c, claims := f.(interface{ Claim() string }); claims {
		return c.Claim()
	}
	return ""
}

// crash loses all that isn't in the log: a fresh machine folds the records.
func (w *world) crash(r *rand.Rand) {
	w.live = w.folded()
	w.compare(w.live, "after a crash")
	w.shadow = w.folded()
	w.asked = 0
	mode := session.OpenContinue
	if chance(r, 25) {
		mode = session.OpenHold
	}
	w.tell(r, reopen{mode: mode})
	switch alarm := w.live.owed().alarm; {
	case chance(r, 30):
		w.saw("crash after reopening")
		w.crash(r)
	case alarm.cause != 0 && chance(r, 30):
		w.saw("alarm right after reopening")
		w.tell(r, w.waited(alarm))
	}
}

// fork goes on in a fork of the session, cut at a step boundary.
func (w *world) fork(r *rand.Rand) {
	if t := &w.ref.turn; len(w.log) == 0 || t.open && (t.phase != boundary || t.stop != nil) {
		return
	}
	w.saw("fork")
	for _, m := range w.ref.waiting {
		delete(w.claims, session.MessageKey(m.id))
	}
	at := session.Seq(len(w.log))
	e := session.Event{Seq: at + 1, Time: w.now, Fact: session.Forked{Parent: "origin", At: at}}
	w.log = append(w.log, e)
	w.units = append(w.units, told{events: []session.Event{e}})
	w.ref.read(nil, w.log[at:], outcome{})
	w.live, w.shadow = w.folded(), w.folded()
	w.asked = 0
	w.tell(r, reopen{mode: session.OpenContinue})
}

// folded is a machine made from the records of the log.
func (w *world) folded() *machine {
	m := newMachine(w.limits)
	for _, e := range w.log[len(w.read):] {
		w.read = append(w.read, w.reread(e))
	}
	for _, e := range w.read {
		if err := m.apply(e); err != nil {
			w.fail("F3", "event %d to be folded: %v", e.Seq, err)
		}
	}
	return m
}

// reread is an event after it was written to a store.
func (w *world) reread(e session.Event) session.Event {
	record, err := session.Encode(e)
	if err != nil {
		w.fail("S1", "event %d to be encoded: %v", e.Seq, err)
	}
	e, err = session.Decode("simulated", record)
	if err != nil {
		w.fail("S1", "event %d to be decoded: %v", e.Seq, err)
	}
	return e
}

// snapshot puts the shadow through a snapshot and goes on with what comes out.
func (w *world) snapshot() {
	data, err := w.shadow.Encode()
	if err != nil {
		w.fail("S5", "a snapshot: %v", err)
	}
	m := newMachine(w.limits)
	if err := m.Decode(data); err != nil {
		w.fail("S5", "a snapshot to be read: %v", err)
	}
	for _, seq := range m.Missing() {
		if err := m.Fill(w.log[seq-1]); err != nil {
			w.fail("S5", "event %d to be filled in: %v", seq, err)
		}
	}
	w.compare(m, "after a snapshot")
	w.shadow = m
	w.saw("snapshot")
}

// rest stops all trouble, and the agent must come to rest with every message
// dealt with (D13, D15).
func (w *world) rest() {
	r := rand.New(rand.NewPCG(w.seed, 1<<32))
	calm := w.temper
	w.temper = temper{calm: true}
	defer func() { w.temper = calm }()
	w.sure(r, configure{})
	w.sure(r, resume{})
	for left := 40 + 12*len(w.ref.waiting); w.ref.turn.open || len(w.live.talk.Inbox.Parked()) > 0; left-- {
		if !w.ref.turn.open { // a turn that had been lost failed in the end
			w.sure(r, resume{})
			continue
		}
		if left == 0 {
			w.fail("D13", "rest in bounded steps, still owed: %+v", w.live.owed())
		}
		in := w.answer(r)
		if in == nil {
			w.fail("D13", "something owed while a turn is open")
		}
		w.sure(r, in)
	}
	var placed session.Seq
	for _, m := range w.ref.messages {
		if m.verb.Wakes() && m.fate == "placed" {
			placed = max(placed, m.seq)
		}
	}
	for _, m := range w.ref.waiting {
		if m.verb.Wakes() || m.seq < placed {
			w.fail("D15", "a fate for %s, accepted by event %d", m.id, m.seq)
		}
		w.saw("inject left waiting")
	}
}

// sure tells in again until its append succeeds.
func (w *world) sure(r *rand.Rand, in input) {
	for {
		w.tell(r, in)
		if w.units[len(w.units)-1].note == "" {
			return
		}
	}
}

// story tells the last n inputs, with the facts that followed.
func (w *world) story(n int) string {
	var b strings.Builder
	for _, u := range w.units[max(0, len(w.units)-n):] {
		fmt.Fprintf(&b, "> %s", tellInput(u.in))
		if u.note != "" {
			fmt.Fprintf(&b, "  (undone: %s)", u.note)
		}
		if u.out.stale || u.out.absent || u.out.err != nil {
			fmt.Fprintf(&b, "  (stale %v, absent %v, error %v)", u.out.stale, u.out.absent, u.out.err)
		}
		b.WriteByte('\n')
		for _, e := range u.events {
			fmt.Fprintf(&b, "    %d %s\n", e.Seq, tellFact(e.Fact))
		}
	}
	return b.String()
}

func tellInput(in input) string {
	if d, is := in.(deliver); is {
		return fmt.Sprintf("%s %s from %s %s: %s", d.verb, d.message.ID, d.message.Source.Kind, d.message.Source.Name, chat.PlainText(d.message.Parts))
	}
	return clipped(fmt.Sprintf("%s %+v", strings.TrimPrefix(fmt.Sprintf("%T", in), "react."), in))
}

func tellFact(f session.Fact) string {
	if a, is := f.(session.Accepted); is {
		return fmt.Sprintf("accepted %s %s", a.Verb, a.Message.ID)
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return clipped(f.Type() + " " + string(data))
}

func clipped(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }
