package react

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// reference is what the contract makes of a session, written from the page and
// from nothing else. It reads what anybody may read: the log, and what callers
// were told. Its checks, fact by fact, are in sim_clauses_test.go,
// and sim_steps_test.go, what callers and the model are told in sim_told_test.go.
type reference struct {
	limits Limits
	broken func(clause, expected string) // reports a broken clause; doesn't return
	saw    func(situation string)

	head      session.Seq
	parent    *session.Parent
	settings  session.Configured
	header    session.Header
	messages  map[string]*expected // every id ever accepted
	waiting   []*expected          // those that are pending, by sequence
	shown     []shownItem          // what the model sees, in order
	questions []*expectedQuestion  // in the order asked
	turns     int
	turn      expectedTurn
	session   spending
	unit      unit // the input being read, and what was so before it
}

// expected is a message as the contract sees it.
type expected struct {
	id     string
	verb   session.Verb
	source chat.Source
	text   string
	digest chat.Digest // as accepted
	size   int64
	seq    session.Seq
	from   session.Seq // of the fact with its parts
	since  session.Seq // runnable, or pending, since this fact
	parked session.ParkReason
	struck bool
	fate   string       // empty: pending
	group  *session.Seq // of an objection: the last one against the same end
}

// amended is the size of the message with other parts.
func (m *expected) amended(parts []chat.Part) int64 {
	return m.size + chat.PartsSize(parts) - int64(len(m.text))
}

// shownItem stands for the facts from and to: a message, an answer or a result.
type shownItem struct {
	what     string
	from, to session.Seq
	calls    int  // of an answer
	open     int  // of an answer: calls without a result
	unseen   bool // no answered request has held it
	summary  bool // of what was replaced
	result   int  // 1 and up for the results of an answer
}

type expectedQuestion struct {
	id    string
	index int
	fate  string // open, answered, closed
}

type stage string

const (
	boundary  stage = "boundary" // a step is due, or the turn's natural end
	requested stage = "asking"
	pausing   stage = "waiting"
	running   stage = "calls"
)

type expectedTurn struct {
	open      bool
	began     time.Time
	phase     stage
	steps     int
	due       session.Seq // the fact that made the step due, or would have
	results   bool        // results are owed to the model
	cause     session.Seq // of the request
	tries     int
	stop      *session.TurnEnded // how it will end
	last      chat.Finish
	truncated bool
	blocked   bool // what would have kept it from ending was refused
	answer    session.Seq
	calls     []expectedCall
	until     time.Time // of the wait
	children  []session.ID
	settings  session.Configured
	spent     spending
}

type expectedCall struct {
	chat.Call
	session.Trait
	started, done, concludes bool
}

// spending is counted from below and from above: the page doesn't say whether
// a step without an answer counts, nor when a child's spending does.
type spending struct{ least, most session.Spent }

// unit is an input with the facts that followed, and the batch before it.
type unit struct {
	in     input
	events []session.Event
	due    session.Seq
	batch  []*expected
	turn   expectedTurn
	wish   string       // what is to come of a consultation, or is wrong with a replacement
	end    string       // and how the turn is to end
	group  *session.Seq // the last objection among the facts
	open   bool         // the page doesn't say whether a summary can be unseen
}

func newReference(limits Limits) *reference {
	return &reference{limits: limits.orDefaults(), messages: map[string]*expected{}}
}

// read takes in one settled input: the facts that followed and what the caller
// was told.
func (r *reference) read(in input, events []session.Event, out outcome) {
	due, batch := r.batch()
	r.unit = unit{in: in, events: events, due: due, batch: batch, turn: r.turn}
	if c, is := in.(consulted); is && !out.stale {
		r.unit.wish = r.wished(c)
	}
	if f, is := in.(maintained); is && !out.stale {
		if _, _, wrong := r.span(f.fact); wrong != "" {
			r.unit.wish = r.wishedBroken() // F6: a replacement that can't be made is the hook's failure
		}
	}
	if f, is := in.(replace); is {
		from, to, wrong := r.span(f.fact)
		r.unit.wish = wrong
		r.unit.open = wrong == "" && slices.ContainsFunc(r.shown[from:to], func(s shownItem) bool { return s.summary })
	}
	for i, e := range events {
		r.must(e.Seq == r.head+1, "D7", "event %d, got %d", r.head+1, e.Seq)
		r.head = e.Seq
		var before session.Fact
		if i > 0 {
			before = events[i-1].Fact
		}
		r.apply(e, before)
	}
	r.checkReleases()
	r.checkReopened()
	r.told(in, events, out)
	r.must(r.turn.open || len(r.runnable("", r.head)) == 0, "D13", "a turn, for %s may run", names(r.runnable("", r.head)))
}

func (r *reference) apply(e session.Event, before session.Fact) {
	switch f := e.Fact.(type) {
	case session.Accepted:
		r.accepted(e.Seq, f)
	case session.Entered:
		r.entered(e.Seq, f)
	case session.Refused:
		r.ruled(f.ID, "refused")
	case session.Taken:
		r.ruled(f.ID, "taken")
	case session.Withdrawn:
		due, batch := r.batch()
		r.end(r.pending(f.ID, "C10"), "withdrawn")
		if len(batch) > 0 && r.turn.steps > 0 && !r.turn.results && len(r.runnable(session.Steer, due)) == 0 {
			r.turn.due = e.Seq // of what is left, as the batch is empty
			r.saw("batch emptied by a withdrawal")
		}
	case session.Amended:
		m := r.pending(f.ID, "C10")
		size := m.amended(f.Parts)
		r.must(r.room(m.verb, size, m.source, m), "D16", "%s kept as it was: there is no room for more", m.id)
		m.size = size
		m.from, m.text = e.Seq, chat.PlainText(f.Parts)
	case session.Cancelled:
		r.cancelled(f)
	case session.Parked:
		r.parked(f)
	case session.Released:
		r.released(e.Seq, f, before)
	case session.TurnStarted:
		r.turnStarted(e, f)
	case session.Halted:
		r.halted(e.Time, f)
	case session.TurnEnded:
		r.turnEnded(f)
	default:
		r.applyStep(e)
	}
}

func (r *reference) applyStep(e session.Event) {
	t := &r.turn
	switch f := e.Fact.(type) {
	case session.Header:
		_, entered := r.unit.in.(consulted)
		r.must(entered && f != r.header, "L1", "a header only with a step, and only when it changes")
		r.header = f
	case session.Until:
		r.must(t.open && t.stop == nil && t.phase == requested, "L9", "waiting only for a request that failed")
		t.phase, t.until = pausing, f.At
	case session.Attempt:
		r.must(t.open && t.stop == nil && (t.phase == requested || t.phase == pausing), "C5", "no request when none is owed")
		r.retried(e.Seq, f.Number)
	case session.Reopened:
		r.reopened(e.Seq, f)
	case session.Answered:
		r.answered(e.Seq, f)
	case session.CallStarted:
		r.callStarted(f)
	case session.Resulted:
		r.resulted(e.Seq, f)
	case session.Question:
		r.asked(f)
	case session.Reply:
		q := r.question(f.ID)
		r.must(q != nil && q.fate == "open", "Q1", "a reply to an open question, got one to %s", f.ID)
		q.fate = "answered"
	case session.Replaced:
		r.replaced(e.Seq, f)
	case session.Configured:
		r.settings = f
	case session.Spawned:
		r.must(t.open && f.Turn == r.turns, "C8", "a child of the open turn")
		if !f.Detached {
			t.children = append(t.children, f.Child)
		}
	case session.Forked:
		r.forked()
	case session.Parent:
		r.must(e.Seq == 1, "C8", "parent as the first fact")
		r.parent = &f
	}
}

// batch is D12 and D14: what enters with the step that is due, and since when
// it is due. Nil: no step is due, or it has nothing but results.
func (r *reference) batch() (session.Seq, []*expected) {
	t := &r.turn
	if !t.open || t.stop != nil || t.phase != boundary {
		return 0, nil
	}
	due, steers := t.due, r.runnable(session.Steer, t.due)
	if t.steps > 0 && !t.results && len(steers) == 0 { // the natural end: the first steer makes it due
		for _, m := range r.runnable(session.Steer, r.head) {
			if due == t.due || m.since < due {
				due = m.since
			}
		}
		for _, m := range r.runnable(session.Steer, due) {
			if m.group != nil && m.since == m.seq { // what was said against one end comes together
				due = max(due, *m.group)
			}
		}
		if steers = r.runnable(session.Steer, due); len(steers) == 0 {
			return 0, nil
		}
	}
	batch := steers
	if t.steps == 0 && len(steers) == 0 {
		if batch = r.runnable(session.Followup, due); len(batch) == 0 {
			return 0, nil
		}
		batch = batch[:1]
	}
	batch = slices.Concat(batch, r.injects(due))
	slices.SortFunc(batch, func(a, b *expected) int { return int(a.seq) - int(b.seq) })
	return due, batch
}

// runnable lists the waking messages, of one verb or of both, that were
// runnable at the fact at and still are.
func (r *reference) runnable(verb session.Verb, at session.Seq) []*expected {
	var out []*expected
	for _, m := range r.waiting {
		if m.verb.Wakes() && (verb == "" || m.verb == verb) && m.parked == "" && m.since <= at {
			out = append(out, m)
		}
	}
	return out
}

func (r *reference) injects(at session.Seq) []*expected {
	var out []*expected
	for _, m := range r.waiting {
		if m.verb == session.Inject && m.seq <= at {
			out = append(out, m)
		}
	}
	return out
}

// natural says that nothing is left for the turn but its end.
func (r *reference) natural() bool {
	t := &r.turn
	_, batch := r.batch()
	return t.open && t.stop == nil && t.phase == boundary && t.steps > 0 && !t.results && len(batch) == 0
}

// scheduled is T2: the calls that may run now.
func (t *expectedTurn) scheduled(beside int) []int {
	var out []int
	for i, c := range t.calls {
		switch {
		case c.done:
		case c.Beside && len(out) < beside:
			out = append(out, i)
		case !c.Beside && len(out) == 0:
			return []int{i}
		default:
			return out
		}
	}
	return out
}

// room is D16.
func (r *reference) room(verb session.Verb, size int64, source chat.Source, without *expected) bool {
	limit := r.limits.Injects
	if verb.Wakes() {
		limit = r.limits.Waking
	}
	var all, others Room
	for _, m := range r.waiting {
		if m == without || m.verb.Wakes() != verb.Wakes() {
			continue
		}
		all = Room{all.Count + 1, all.Bytes + m.size}
		if m.source.Kind != chat.SourceUser {
			others = Room{others.Count + 1, others.Bytes + m.size}
		}
	}
	if size > r.limits.Message || all.Count+1 > limit.Count || all.Bytes+size > limit.Bytes {
		return false
	}
	return source.Kind == chat.SourceUser ||
		others.Count+1 <= limit.Count-limit.Count/4 && others.Bytes+size <= limit.Bytes-limit.Bytes/4
}

// principal says whether s is whom the session belongs to.
func (r *reference) principal(s chat.Source) bool {
	if r.parent != nil {
		return s == chat.Agent(string(r.parent.Session))
	}
	return s.Kind == chat.SourceUser
}

// pending finds a message that waits.
func (r *reference) pending(id, clause string) *expected {
	m := r.messages[id]
	r.must(m != nil && m.fate == "", clause, "%s pending", id)
	return m
}

// end gives a message its fate.
func (r *reference) end(m *expected, fate string) {
	r.must(m.fate == "", "D15", "one fate for %s, which was %s, got %s", m.id, m.fate, fate)
	m.fate = fate
	r.waiting = slices.DeleteFunc(r.waiting, func(w *expected) bool { return w == m })
}

func (r *reference) question(id string) *expectedQuestion {
	for _, q := range r.questions {
		if q.id == id {
			return q
		}
	}
	return nil
}

// forked is S3: what was pending was never accepted here, an open turn is
// closed, and the fork belongs to a person.
func (r *reference) forked() {
	for _, m := range r.waiting {
		delete(r.messages, m.id)
	}
	r.waiting, r.parent = nil, nil
	r.turn, r.session = expectedTurn{}, spending{}
}

// close ends the open questions, of one call or of all (-1), and checks that
// the fact said so.
func (r *reference) close(index int, said []string) {
	var closed []string
	for _, q := range r.questions {
		if q.fate == "open" && (index < 0 || q.index == index) {
			q.fate = "closed"
			closed = append(closed, q.id)
		}
	}
	r.must(slices.Equal(closed, said), "C5", "questions %v closed, got %v", closed, said)
	if len(closed) > 0 {
		r.saw(fmt.Sprintf("question closed by %T", r.unit.in))
	}
}

// must reports a broken clause unless ok.
func (r *reference) must(ok bool, clause, format string, args ...any) {
	if !ok {
		r.broken(clause, fmt.Sprintf(format, args...))
	}
}

func names(messages []*expected) string {
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.id
	}
	return "[" + strings.Join(ids, " ") + "]"
}
