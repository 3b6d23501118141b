package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func TestAFateGoesFromPendingToSeen(t *testing.T) {
	b := newBook(t)
	if _, err := agent.FateOf(context.Background(), b.store, id, "m"); !errors.Is(err, agent.ErrUnknown) {
		t.Errorf("before it is accepted: %v, want %v", err, agent.ErrUnknown)
	}
	seq := b.write(answered(0, "an older answer"), accepted(session.Steer, "m"))
	b.fate("m", agent.Fate{State: agent.FatePending, Verb: session.Steer, Accepted: seq, Seq: seq})
	b.write(session.Amended{ID: "m", Parts: []chat.Part{chat.Text("changed")}})
	b.fate("m", agent.Fate{State: agent.FatePending, Verb: session.Steer, Accepted: seq, Seq: seq})
	in := b.write(session.TurnStarted{Turn: 1}, entered(1, 2, "m"))
	placed := agent.Fate{State: agent.FatePlaced, Verb: session.Steer, Accepted: seq, Seq: in, Turn: 1, Step: 2}
	b.fate("m", placed)
	b.write(session.TurnEnded{Turn: 1, Reason: session.EndFailed}, accepted(session.Steer, "n"), session.TurnStarted{Turn: 2}, entered(2, 1, "n"))
	b.fate("m", placed)
	b.write(answered(2, "yes"))
	placed.State = agent.FateSeen
	b.fate("m", placed)
}

func TestAFateSaysHowAMessageEnded(t *testing.T) {
	for _, end := range []struct {
		fact session.Fact
		want agent.Fate
	}{
		{session.Withdrawn{ID: "m"}, agent.Fate{State: agent.FateWithdrawn}},
		{session.Refused{ID: "m", Hook: "h", Reason: "r"}, agent.Fate{State: agent.FateRefused, Hook: "h", Reason: "r"}},
		{session.Taken{ID: "m", Hook: "h", Reason: "r"}, agent.Fate{State: agent.FateTaken, Hook: "h", Reason: "r"}},
		{
			session.Cancelled{Cause: session.CauseUser, Reason: "r", Cleared: []string{"other", "m"}},
			agent.Fate{State: agent.FateCleared, Cause: session.CauseUser, Reason: "r"},
		},
	} {
		b := newBook(t)
		seq := b.write(accepted(session.Followup, "m"))
		end.want.Verb, end.want.Accepted = session.Followup, seq
		end.want.Seq = b.write(end.fact)
		b.write(accepted(session.Followup, "n"), session.TurnStarted{Turn: 1}, entered(1, 1, "n"), answered(1, "yes"))
		b.fate("m", end.want)
		if !end.want.Final() {
			t.Errorf("%s isn't final", end.want.State)
		}
	}
}

func TestAPendingFateSaysWhyTheMessageIsHeldBack(t *testing.T) {
	b := newBook(t)
	seq := b.write(accepted(session.Inject, "i"), accepted(session.Followup, "m"))
	pending := agent.Fate{State: agent.FatePending, Verb: session.Followup, Accepted: seq, Seq: seq}
	b.write(session.TurnStarted{Turn: 1})
	for _, step := range []struct {
		fact session.Fact
		why  session.ParkReason
	}{
		{session.TurnEnded{Turn: 1, Reason: session.EndFailed}, session.ParkedFailed},
		{session.Cancelled{Cause: session.CauseUser, KeepInbox: true, Kept: []string{"i", "m"}}, session.ParkedStopped},
		{session.Released{By: session.ReleaseCompleted}, session.ParkedStopped},
		{session.Released{By: session.ReleaseResume}, ""},
		{session.Parked{Reason: session.ParkedBudget}, session.ParkedBudget},
		{session.Released{By: session.ReleasePrincipal}, ""},
		{session.Reopened{Mode: session.OpenHold}, session.ParkedHeld},
	} {
		b.write(step.fact)
		pending.Parked = step.why
		b.fate("m", pending)
	}
	b.fate("i", agent.Fate{State: agent.FatePending, Verb: session.Inject, Accepted: 1, Seq: 1})
}

func TestTheFateOfWhatAHookAddedHasNoVerb(t *testing.T) {
	b := newBook(t)
	m := chat.Say("noon").From(chat.Plugin("clock")).As("added")
	seq := b.write(session.TurnStarted{Turn: 1}, session.Entered{Turn: 1, Step: 1, Messages: []session.Entry{{ID: "added", Added: &m}}})
	b.fate("added", agent.Fate{State: agent.FatePlaced, Seq: seq, Turn: 1, Step: 1})
}

func TestAQuestionIsOpenThenAnsweredOrClosed(t *testing.T) {
	for _, end := range []struct {
		fact session.Fact
		want agent.QuestionFate
	}{
		{session.Reply{ID: "q", Text: "this"}, agent.QuestionFate{State: agent.QuestionAnswered}},
		{session.Cancelled{Closed: []string{"q"}}, agent.QuestionFate{State: agent.QuestionClosed, Cause: "cancelled"}},
		{session.Halted{Closed: []string{"q"}}, agent.QuestionFate{State: agent.QuestionClosed, Cause: "halted"}},
		{session.Resulted{Closed: []string{"q"}}, agent.QuestionFate{State: agent.QuestionClosed, Cause: "result"}},
	} {
		b := newBook(t)
		ctx := context.Background()
		if _, err := agent.QuestionFateOf(ctx, b.store, id, "q"); !errors.Is(err, agent.ErrUnknown) {
			t.Errorf("before it is asked: %v, want %v", err, agent.ErrUnknown)
		}
		seq := b.write(session.Question{ID: "q", Kind: session.QuestionText, Text: "which?"})
		got, err := agent.QuestionFateOf(ctx, b.store, id, "q")
		if err != nil || got.State != agent.QuestionOpen || got.Seq != seq || got.Question.Text != "which?" {
			t.Errorf("asked: %+v, %v; want open", got, err)
		}
		end.want.Seq = b.write(end.fact)
		b.write(session.Reply{ID: "q", Text: "too late"})
		got, err = agent.QuestionFateOf(ctx, b.store, id, "q")
		if err != nil || got.State != end.want.State || got.Seq != end.want.Seq || got.Cause != end.want.Cause {
			t.Errorf("after %s: %+v, %v\nwant %+v", end.fact.Type(), got, err, end.want)
		}
		if end.want.State == agent.QuestionAnswered && got.Reply.Text != "this" {
			t.Errorf("the reply that counts is %+v, want the first", got.Reply)
		}
	}
}

func TestAReplayIsTheFirstReceiptOrAConflict(t *testing.T) {
	b := newBook(t)
	f := accepted(session.Steer, "m")
	b.write(session.Noted{Kind: "test/fact", Version: 1, Data: []byte("{}")}, f)
	b.write(session.Amended{ID: "m", Parts: []chat.Part{chat.Text("changed")}})
	first, seq, err := agent.First(context.Background(), b.store, id, "m")
	if err != nil || seq != 2 || first.Verb != f.Verb || first.Digest != f.Digest {
		t.Fatalf("First: %+v, %d, %v; want the acceptance, 2", first, seq, err)
	}
	got, err := agent.Replay(first, seq, session.Steer, f.Digest)
	if want := (agent.Receipt{ID: "m", Seq: 2, Verb: session.Steer, Replayed: true}); err != nil || got != want {
		t.Errorf("Replay: %+v, %v; want %+v", got, err, want)
	}
	for v, digest := range map[session.Verb]chat.Digest{
		session.Followup: f.Digest, session.Steer: chat.Say("changed").Digest(),
	} {
		if got, err := agent.Replay(first, seq, v, digest); !errors.Is(err, agent.ErrConflict) || got != (agent.Receipt{}) {
			t.Errorf("Replay as another %s: %+v, %v; want %v", v, got, err, agent.ErrConflict)
		}
	}
	if _, _, err := agent.First(context.Background(), b.store, id, "nobody"); !errors.Is(err, agent.ErrUnknown) {
		t.Errorf("First of nobody: %v, want %v", err, agent.ErrUnknown)
	}
}

// A fork knows what was placed in its prefix, and not what was pending there.
func TestAForkKnowsTheFatesOfItsPrefix(t *testing.T) {
	b := newBook(t)
	b.write(accepted(session.Followup, "placed"), session.TurnStarted{Turn: 1}, entered(1, 1, "placed"), answered(1, "yes"),
		accepted(session.Followup, "pending"))
	at := b.write(session.TurnEnded{Turn: 1, Reason: session.EndCompleted})
	ctx := context.Background()
	lease, err := b.store.Acquire(ctx, "fork", "p")
	if err != nil {
		t.Fatal(err)
	}
	forked, err := session.Encode(session.Event{Seq: at + 1, Fact: session.Forked{Parent: id, At: at}})
	if err != nil {
		t.Fatal(err)
	}
	err = b.store.Fork(ctx, session.Fork{
		Lease: lease, Parent: id, At: at, Forget: []string{session.MessageKey("pending")}, Record: forked,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := agent.FateOf(ctx, b.store, "fork", "placed"); err != nil || got.State != agent.FateSeen {
		t.Errorf("the fate of what was placed: %+v, %v; want seen", got, err)
	}
	if _, err := agent.FateOf(ctx, b.store, "fork", "pending"); !errors.Is(err, agent.ErrUnknown) {
		t.Errorf("the fate of what was pending: %v, want %v", err, agent.ErrUnknown)
	}
}
