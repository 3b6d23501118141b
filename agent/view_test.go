package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// I1: the inbox view comes from the log.
func TestI1TheInboxShowsWhatWaitsInOrder(t *testing.T) {
	b := newBook(t)
	ctx := context.Background()
	box, err := agent.InboxOf(ctx, b.store, id)
	if err != nil || box.Head != 0 || box.Messages == nil || box.Questions == nil {
		t.Errorf("the inbox of no session: %+v, %v; want it empty, not null", box, err)
	}
	b.write(
		accepted(session.Followup, "f"), accepted(session.Inject, "i"), accepted(session.Steer, "s"), accepted(session.Steer, "gone"),
		session.Cancelled{Cause: session.CauseUser, KeepInbox: true, Kept: []string{"f", "i", "s", "gone"}},
		session.Withdrawn{ID: "gone"},
		session.Amended{ID: "i", Parts: []chat.Part{chat.Text("amended")}},
		accepted(session.Followup, "n"), session.TurnStarted{Turn: 1}, entered(1, 1, "n"), answered(1, "well"),
		session.Question{ID: "q1", Answer: 11}, session.Question{ID: "q2", Answer: 11},
	)
	head := b.write(session.Reply{ID: "q1"})
	if box, err = agent.InboxOf(ctx, b.store, id); err != nil || box.Head != head {
		t.Fatalf("the inbox rests on event %d, %v; want %d", box.Head, err, head)
	}
	var got []string
	for _, w := range box.Messages {
		got = append(got, fmt.Sprintf("%d %s %s %q %s", w.Seq, w.Verb, w.Message.ID, w.Parked, chat.PlainText(w.Message.Parts)))
	}
	want := []string{
		`1 followup f "stopped" text of f`,
		`2 inject i "" amended`,
		`3 steer s "stopped" text of s`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("waiting\n got %q\nwant %q", got, want)
	}
	if len(box.Questions) != 1 || box.Questions[0].ID != "q2" {
		t.Errorf("open questions are %+v, want q2", box.Questions)
	}
}

// talker is an agent that does one turn with each message.
func talker(b *book) *agent.Fake {
	var n int
	return &agent.Fake{
		Verbs: func(_ context.Context, v session.Verb, m chat.Message) (agent.Receipt, error) {
			seq := b.write(session.Accepted{Verb: v, Message: m, Digest: m.Digest()})
			return agent.Receipt{ID: m.ID, Seq: seq, Verb: v}, nil
		},
		OnID: func() session.ID { return id },
		OnWaitIdle: func(context.Context) error {
			for _, m := range inboxOf(b) {
				n++
				b.write(session.TurnStarted{Turn: n}, entered(n, 1, m), answered(n, "a word"), answered(n, "words on "+m), answered(n, ""),
					session.TurnEnded{Turn: n, Reason: session.EndMaxTokens})
			}
			return nil
		},
	}
}

func inboxOf(b *book) []string {
	box, err := agent.InboxOf(context.Background(), b.store, id)
	if err != nil {
		b.t.Fatal(err)
	}
	var ids []string
	for _, w := range box.Messages {
		if w.Verb.Wakes() {
			ids = append(ids, w.Message.ID)
		}
	}
	return ids
}

// D6: whoever owns an interval gathers it.
func TestD6CollectGathersAnInterval(t *testing.T) {
	b := newBook(t)
	b.write(accepted(session.Followup, "before"))
	a := talker(b)
	got, err := agent.Collect(context.Background(), a, b.store, session.Followup, chat.Say("hi").As("m"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Text != "words on m" || got.Ended == nil || got.Ended.Turn != 2 || got.Ended.Reason != session.EndMaxTokens {
		t.Errorf("collected %q and %+v, want the last words of turn 2 and its end", got.Text, got.Ended)
	}
	if got.Fate.State != agent.FateSeen || got.Fate.Turn != 2 || got.Receipt.ID != "m" {
		t.Errorf("collected the fate %+v and the receipt %+v", got.Fate, got.Receipt)
	}
	if first, last := got.Events[0].Seq, got.Events[len(got.Events)-1].Seq; first != got.Receipt.Seq || last != b.log.Head() {
		t.Errorf("collected events %d to %d, want %d to %d", first, last, got.Receipt.Seq, b.log.Head())
	}
	got, err = agent.Collect(context.Background(), a, b.store, session.Inject, chat.Say("note").As("i"))
	if err != nil || got.Fate.State != agent.FatePending || got.Ended != nil || got.Text != "" {
		t.Errorf("collected of an inject %+v, %v; want it pending, no end, no text", got, err)
	}
}

func TestD6CollectSaysWhatWasDeliveredWhenWaitingFails(t *testing.T) {
	b := newBook(t)
	a := talker(b)
	a.OnWaitIdle = func(context.Context) error { return agent.ErrSelfWait }
	got, err := agent.Collect(context.Background(), a, b.store, session.Steer, chat.Say("hi").As("m"))
	if !errors.Is(err, agent.ErrSelfWait) || got.Receipt.ID != "m" {
		t.Errorf("Collect: %+v, %v; want the receipt and %v", got.Receipt, err, agent.ErrSelfWait)
	}
	a.Verbs = func(context.Context, session.Verb, chat.Message) (agent.Receipt, error) {
		return agent.Receipt{}, agent.ErrFull
	}
	if _, err := agent.Collect(context.Background(), a, b.store, session.Steer, chat.Say("hi")); !errors.Is(err, agent.ErrFull) {
		t.Errorf("Collect: %v, want %v", err, agent.ErrFull)
	}
}
