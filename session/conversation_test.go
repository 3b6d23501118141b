package session

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tack-agent/tack/chat"
)

// log builds a history and folds it.
type log struct {
	t      *testing.T
	events []Event
	c      Conversation
}

func newLog(t *testing.T) *log { return &log{t: t} }

// add appends facts and returns the sequence of the last one.
func (l *log) add(facts ...Fact) Seq {
	l.t.Helper()
	for _, f := range facts {
		e := Event{Seq: Seq(len(l.events) + 1), Time: time.Unix(int64(len(l.events)), 0).UTC(), Fact: f}
		if err := l.c.Apply(e); err != nil {
			l.t.Fatalf("apply %s at %d: %v", f.Type(), e.Seq, err)
		}
		l.events = append(l.events, e)
	}
	return Seq(len(l.events))
}

func accepted(v Verb, id string, from chat.Source) Accepted {
	m := chat.Say("text of " + id).As(id).From(from)
	return Accepted{Verb: v, Message: m, Digest: m.Digest()}
}

// waits describes the inbox, one message a word: f:id for a followup, with a
// reason if it is parked.
func waits(b *Inbox) string {
	var words []string
	for _, p := range b.Pending() {
		w := string(p.Verb[0]) + ":" + p.ID
		if p.Parked != "" {
			w += "(" + string(p.Parked) + ")"
		}
		if p.Struck {
			w += "!"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// shows describes the transcript, one item a word.
func shows(t *Transcript) string {
	var words []string
	for _, it := range t.Items() {
		switch {
		case it.Message != nil:
			words = append(words, it.Message.ID+"="+chat.PlainText(it.Message.Parts))
		case it.Answer != nil:
			words = append(words, "answer="+it.Answer.Text())
		case it.Result != nil:
			words = append(words, "result="+it.Result.Call)
		default:
			words = append(words, string(it.Kind)+"=?")
		}
	}
	return strings.Join(words, "; ")
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got %s\nwant %s", what, got, want)
	}
}

func TestEveryVerbWaitsUntilItEntersOrEnds(t *testing.T) {
	l := newLog(t)
	l.add(
		accepted(Followup, "a", chat.User()), accepted(Steer, "b", chat.User()),
		accepted(Inject, "c", chat.Plugin("clock")), accepted(Followup, "d", chat.User()),
		accepted(Followup, "e", chat.User()), accepted(Followup, "f", chat.User()),
	)
	same(t, "after accepting", waits(&l.c.Inbox), "f:a s:b i:c f:d f:e f:f")
	l.add(
		Withdrawn{ID: "d"}, Refused{ID: "e", Hook: "h"}, Taken{ID: "f", Hook: "h"},
		Entered{Turn: 1, Step: 1, Messages: []Entry{{ID: "b", From: 2}, {ID: "c", From: 3}}},
	)
	same(t, "after entering", waits(&l.c.Inbox), "f:a")
	same(t, "the transcript", shows(&l.c.Transcript), "b=text of b; c=text of c")
	if got := l.c.Inbox.Room(Inject); got != (Room{}) {
		t.Errorf("room of injects after the last one left: %+v, want none", got)
	}
}

func TestParkingKeepsTheOrderAndSaysWhy(t *testing.T) {
	l := newLog(t)
	l.add(accepted(Followup, "a", chat.User()), accepted(Inject, "b", chat.User()), TurnStarted{Turn: 1})
	l.add(TurnEnded{Turn: 1, Reason: EndFailed, Struck: []string{"a"}}, accepted(Steer, "c", chat.Agent("x")))
	same(t, "F1: a failure parks what woke", waits(&l.c.Inbox), "f:a(failed)! i:b s:c")
	l.add(Reopened{Mode: OpenHold})
	same(t, "F3: hold parks what was runnable, a reason stays", waits(&l.c.Inbox), "f:a(failed)! i:b s:c(held)")
	l.add(Released{By: ReleaseCompleted})
	same(t, "C9: a completed turn releases what failed", waits(&l.c.Inbox), "f:a! i:b s:c(held)")
	l.add(Cancelled{Cause: CauseUser, KeepInbox: true})
	same(t, "C1: a cancel that keeps parks all that wakes", waits(&l.c.Inbox), "f:a(stopped)! i:b s:c(stopped)")
	seq := l.add(Released{By: ReleaseResume})
	same(t, "C9: resume releases all", waits(&l.c.Inbox), "f:a! i:b s:c")
	if got := l.c.Inbox.Get("a").Since; got != seq {
		t.Errorf("a is runnable since %d, want %d: the release", got, seq)
	}
	l.add(Parked{Reason: ParkedBudget, IDs: []string{"c", "gone", "b"}})
	same(t, "parked by id: only what wakes", waits(&l.c.Inbox), "f:a! i:b s:c(budget)")
	l.add(Cancelled{Cause: CauseUser})
	same(t, "C1: a cancel clears all, injects too", waits(&l.c.Inbox), "")
	if got := l.c.Inbox.Room(Followup); got != (Room{}) {
		t.Errorf("room after all was cleared: %+v, want none", got)
	}
}

func TestAmendKeepsIDAndPlaceAndCountsTheNewSize(t *testing.T) {
	l := newLog(t)
	l.add(accepted(Followup, "a", chat.Plugin("p")), accepted(Followup, "b", chat.User()))
	l.add(Amended{ID: "a", Parts: []chat.Part{chat.Text("longer than it was before")}})
	same(t, "C10: the place stays", waits(&l.c.Inbox), "f:a f:b")
	p := l.c.Inbox.Get("a")
	if p.Seq != 1 || p.From != 3 || p.Size != p.Message.Size() {
		t.Errorf("amended: seq %d from %d size %d, want 1, 3 and %d", p.Seq, p.From, p.Size, p.Message.Size())
	}
	want := Room{Count: 2, Bytes: p.Size + l.c.Inbox.Get("b").Size, OtherCount: 1, OtherBytes: p.Size}
	if got := l.c.Inbox.Room(Steer); got != want {
		t.Errorf("room %+v, want %+v", got, want)
	}
	l.add(Entered{Turn: 1, Step: 1, Messages: []Entry{{ID: "a", From: 3}}})
	same(t, "what enters is what was amended", shows(&l.c.Transcript), "a=longer than it was before")
}

func TestResultsAreShownInTheModelsOrder(t *testing.T) {
	l := newLog(t)
	l.add(accepted(Followup, "a", chat.User()), Entered{Turn: 1, Step: 1, Messages: []Entry{{ID: "a", From: 1}}})
	seq := l.add(withCalls("x", "y", "z"))
	l.add(resultFor(seq, 2, "z"), resultFor(seq, 0, "x"))
	same(t, "D11: before the last result", shows(&l.c.Transcript), "a=text of a; answer=")
	l.add(resultFor(seq, 1, "y"))
	same(t, "after it", shows(&l.c.Transcript), "a=text of a; answer=; result=x; result=y; result=z")
}

func withCalls(ids ...string) Answered {
	f := Answered{Turn: 1, Step: 1, Answer: chat.Answer{Finish: chat.FinishCalls}}
	for _, id := range ids {
		f.Answer.Blocks = append(f.Answer.Blocks, chat.Block{Kind: chat.BlockCall, Call: &chat.Call{ID: id, Name: "tool"}})
		f.Traits = append(f.Traits, Trait{})
	}
	return f
}

func resultFor(answer Seq, index int, call string) Resulted {
	return Resulted{Answer: answer, Index: index, Result: chat.Result{Call: call, Name: "tool"}}
}

func saying(text string) Answered {
	return Answered{Answer: chat.Answer{Finish: chat.FinishStop, Blocks: []chat.Block{{Kind: chat.BlockText, Text: text}}}}
}

func TestAReplacementStandsForWholeStepsThatWereSeen(t *testing.T) {
	l := newLog(t)
	summary := func(from, to Seq) Replaced {
		return Replaced{From: from, To: to, Messages: []chat.Message{chat.Say("so far").As("sum")}}
	}
	l.add(accepted(Followup, "a", chat.User()), Entered{Messages: []Entry{{ID: "a", From: 1}}}) // 1 2
	seq := l.add(withCalls("x", "y"))                                                           // 3
	l.add(resultFor(seq, 1, "y"))                                                               // 4
	for _, bad := range []Replaced{summary(2, 3), summary(2, 4), {From: 2, To: 2}, summary(5, 4), summary(7, 9)} {
		if err := l.c.Transcript.Replaceable(bad); err == nil {
			t.Errorf("R3: replacing %d to %d by %d messages while a call is open: allowed, want refused", bad.From, bad.To, len(bad.Messages))
		}
	}
	l.add(resultFor(seq, 0, "x")) // 5
	for _, bad := range []Replaced{summary(2, 3), summary(2, 4), summary(4, 5), summary(5, 5), summary(2, 5)} {
		if err := l.c.Transcript.Replaceable(bad); err == nil {
			t.Errorf("R3: replacing %d to %d, which cuts or was not seen: allowed, want refused", bad.From, bad.To)
		}
	}
	l.add(saying("done"))                                                                         // 6
	l.add(accepted(Followup, "b", chat.User()), Entered{Messages: []Entry{{ID: "b", From: 7}}})   // 7 8
	l.add(summary(1, 6))                                                                          // 9
	same(t, "R3: the summary stands in front", shows(&l.c.Transcript), "sum=so far; b=text of b") //
	if got := l.c.Transcript.Epoch(); got != 1 {
		t.Errorf("epoch %d after a replacement, want 1", got)
	}
	if err := l.c.Transcript.Replaceable(summary(3, 8)); err == nil {
		t.Error("R3: a range that cuts an older replacement: allowed, want refused")
	}
	l.add(saying("and on")) // 10
	l.add(summary(1, 8))
	again := summary(1, 10)
	l.add(again)
	l.add(again) // tighter, before anything was answered: what it stands for was seen
	l.add(saying("still on"))
	same(t, "a replacement of a replacement of a replacement", shows(&l.c.Transcript), "sum=so far; answer=still on")
	l = newLog(t)
	l.add(accepted(Followup, "a", chat.User()), Entered{Messages: []Entry{{ID: "a", From: 1}}}, saying("done"))
	l.add(accepted(Followup, "b", chat.User()), Entered{Messages: []Entry{{ID: "b", From: 4}}}, saying("and on"))
	l.add(summary(1, 3))
	l.add(summary(1, 5))
	same(t, "a replacement of a replacement", shows(&l.c.Transcript), "sum=so far; answer=and on")
}

func TestQuestionsAreOpenUntilAnsweredOrTheirCallIsOver(t *testing.T) {
	l := newLog(t)
	open := func() string { return strings.Join(l.c.Inbox.Open(), " ") }
	l.add(Question{ID: "q1", Answer: 7, Index: 0}, Question{ID: "q2", Answer: 7, Index: 1}, Question{ID: "q3", Answer: 7, Index: 2})
	l.add(Reply{ID: "q1", Allow: true}, Reply{ID: "q1", Allow: false})
	same(t, "Q1: after the first reply", open(), "q2 q3")
	if q := l.c.Inbox.Question("q1"); q == nil || !q.Reply.Allow {
		t.Errorf("Q1: the first reply counts: got %+v", q)
	}
	l.add(resultFor(7, 1, "y"))
	same(t, "after its call is over", open(), "q3")
	l.add(Cancelled{Cause: CauseUser})
	same(t, "C5: after a cancel", open(), "")
	if l.c.Inbox.Question("q1") == nil {
		t.Error("an answered question is kept until its call is over")
	}
}

func TestAForkForgetsWhatWaited(t *testing.T) {
	l := newLog(t)
	l.add(accepted(Followup, "a", chat.User()), accepted(Inject, "b", chat.User()), Forked{Parent: "p", At: 2})
	same(t, "S3: what waits in the fork", waits(&l.c.Inbox), "")
}

func TestALogThatContradictsItselfIsAnError(t *testing.T) {
	var c Conversation
	err := c.Apply(Event{Seq: 1, Fact: Entered{Messages: []Entry{{ID: "ghost", From: 9}}}})
	if err == nil || !strings.Contains(err.Error(), "ghost") {
		t.Errorf("a message that never waited enters: got %v, want an error naming it", err)
	}
}

// history applies n random facts that may follow one another.
func history(l *log, r *rand.Rand, n int) {
	for range n {
		l.add(randomFacts(&l.c, r, len(l.events)+1)...)
	}
}

func randomFacts(c *Conversation, r *rand.Rand, seq int) []Fact {
	pending := c.Inbox.Pending()
	switch k := r.IntN(12); {
	case k < 4 || len(pending) == 0:
		verbs := []Verb{Followup, Steer, Inject}
		sources := []chat.Source{chat.User(), chat.Plugin("p"), chat.Agent("a")}
		return []Fact{accepted(verbs[r.IntN(3)], fmt.Sprint("m", seq), sources[r.IntN(3)])}
	case k < 7:
		return []Fact{entering(pending, r), saying("answer"), TurnEnded{Reason: EndCompleted}}
	default:
		return []Fact{disturbance(pending[r.IntN(len(pending))], r, c)}
	}
}

func entering(pending []*Pending, r *rand.Rand) Entered {
	p := pending[r.IntN(len(pending))]
	entry := Entry{ID: p.ID, From: p.From}
	if r.IntN(3) == 0 {
		entry.Parts = []chat.Part{chat.Text("reworded")}
	}
	added := chat.Say("the time").As("added-" + p.ID)
	return Entered{Messages: []Entry{{ID: added.ID, Added: &added}, entry}}
}

func disturbance(p *Pending, r *rand.Rand, c *Conversation) Fact {
	switch r.IntN(9) {
	case 0:
		return Withdrawn{ID: p.ID}
	case 1:
		return Amended{ID: p.ID, Parts: []chat.Part{chat.Text(strings.Repeat("x", r.IntN(20)+1))}}
	case 2:
		return Parked{Reason: ParkedBudget, IDs: []string{p.ID}}
	case 3:
		return Released{By: []Release{ReleaseResume, ReleaseCompleted}[r.IntN(2)]}
	case 4:
		return TurnEnded{Reason: EndFailed, Struck: []string{p.ID}}
	case 5:
		return Reopened{Mode: OpenHold}
	case 6:
		return Cancelled{Cause: CauseUser, KeepInbox: r.IntN(4) > 0}
	case 7:
		return Question{ID: fmt.Sprint("q", r.Int()), Answer: 1, Index: r.IntN(3)}
	default:
		items := c.Transcript.Items()
		if len(items) < 4 {
			return Taken{ID: p.ID, Hook: "h"}
		}
		f := Replaced{From: items[0].From, To: items[len(items)/2].To, Messages: []chat.Message{chat.Say("sum").As("sum")}}
		if c.Transcript.Replaceable(f) != nil {
			return Refused{ID: p.ID, Hook: "h"}
		}
		return f
	}
}

// portrait is all a conversation shows.
func portrait(c *Conversation) string {
	var b strings.Builder
	fmt.Fprintln(&b, waits(&c.Inbox), c.Inbox.Open(), c.Inbox.Room(Steer), c.Inbox.Room(Inject))
	for _, p := range c.Inbox.Pending() {
		fmt.Fprintln(&b, p.ID, p.Seq, p.From, p.Since, p.Size, p.Source, p.Message, c.Inbox.Get(p.ID) == p)
	}
	for _, q := range c.Inbox.Questions() {
		fmt.Fprintln(&b, q.Question, q.Seq, q.Reply, q.Replied)
	}
	fmt.Fprintln(&b, shows(&c.Transcript), c.Transcript.Epoch(), c.Transcript.Answered(), c.Transcript.open)
	return b.String()
}

func TestUndoGoesBackToTheMark(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := newLog(t)
		history(l, r, r.IntN(60))
		before := portrait(&l.c)
		mark, events := l.c.Mark(), len(l.events)
		history(l, r, 1+r.IntN(8))
		l.c.Undo(mark)
		if after := portrait(&l.c); after != before {
			t.Fatalf("seed %d: undo left a trace\nbefore %s\nafter  %s", seed, before, after)
		}
		l.events = l.events[:events]
		history(l, r, 20)
		if got, want := portrait(&l.c), portrait(folded(t, l.events)); got != want {
			t.Fatalf("seed %d: after undo, the same facts fold to something else\n got %s\nwant %s", seed, got, want)
		}
	}
}

func folded(t *testing.T, events []Event) *Conversation {
	t.Helper()
	var c Conversation
	for _, e := range events {
		if err := c.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return &c
}

func TestASnapshotHoldsSequencesAndOpensToTheSame(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := newLog(t)
		history(l, r, r.IntN(60))
		data, err := l.c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "text of") || strings.Contains(string(data), "answer\":{") {
			t.Fatalf("S5: the snapshot holds content: %s", data)
		}
		var opened Conversation
		if err := opened.Decode(data); err != nil {
			t.Fatal(err)
		}
		for _, seq := range opened.Missing() {
			if err := opened.Fill(l.events[seq-1]); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := portrait(&opened), portrait(&l.c); got != want {
			t.Fatalf("S5, seed %d: opened from a snapshot\n got %s\nwant %s", seed, got, want)
		}
		from := len(l.events)
		history(l, r, 20)
		for _, e := range l.events[from:] {
			if err := opened.Apply(e); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if got, want := portrait(&opened), portrait(&l.c); got != want {
			t.Fatalf("S5, seed %d: with the tail\n got %s\nwant %s", seed, got, want)
		}
	}
}

func TestACloneGoesItsOwnWay(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	l := newLog(t)
	history(l, r, 40)
	clone := l.c.Inbox.Clone()
	before := waits(&clone)
	history(l, r, 40)
	same(t, "a clone after its original went on", waits(&clone), before)
}

func TestUndoGivesBackEachThatWasParked(t *testing.T) {
	l := newLog(t)
	for _, id := range []string{"s0", "s1", "s2", "s3", "s4"} {
		l.add(accepted(Steer, id, chat.User()))
	}
	l.add(Cancelled{Cause: CauseUser, KeepInbox: true}, accepted(Followup, "a", chat.Plugin("p")))
	before := waits(&l.c.Inbox)
	mark := l.c.Mark()
	l.add(Parked{Reason: ParkedBudget})
	l.c.Undo(mark)
	l.events = l.events[:len(l.events)-1]
	same(t, "after undoing", waits(&l.c.Inbox), before)
	l.add(accepted(Followup, "b", chat.Plugin("p")), Parked{Reason: ParkedBudget})
	l.add(Released{By: ReleaseResume})
	same(t, "all of them", waits(&l.c.Inbox), "s:s0 s:s1 s:s2 s:s3 s:s4 f:a f:b")
}

func TestASummaryThatWasNotSeenStays(t *testing.T) {
	l := newLog(t)
	sum := func(from, to Seq) Replaced {
		return Replaced{From: from, To: to, Messages: []chat.Message{chat.Say("so far").As("sum")}}
	}
	l.add(accepted(Followup, "a", chat.User()), Entered{Messages: []Entry{{ID: "a", From: 1}}}, saying("done"))
	l.add(accepted(Followup, "b", chat.User()), Entered{Messages: []Entry{{ID: "b", From: 4}}})
	if err := l.c.Transcript.Replaceable(sum(1, 5)); err == nil {
		t.Error("R3: a message that no answer has seen may be replaced, want it refused")
	}
	if err := l.c.Transcript.Replaceable(sum(1, 1000)); err == nil {
		t.Error("R3: a range beyond the end takes what was not seen along, want it refused")
	}
	l.add(saying("and on"), sum(1, 1000))
	if got := l.c.Transcript.Items()[0].To; got != 6 {
		t.Errorf("R3: the summary stands for events up to %d, want 6: what there was", got)
	}
}
