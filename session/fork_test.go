package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tack-agent/tack/chat"
)

func TestS3AForkCutsAtAStepBoundaryAndForgetsWhatWaited(t *testing.T) {
	ctx := context.Background()
	m, l := owned(t)
	head := appendFacts(t, m, l, 0,
		accepted(Followup, "a", chat.User()), TurnStarted{Turn: 1}, // 1 2
		Entered{Turn: 1, Step: 1, Messages: []Entry{{ID: "a", From: 1}}}, // 3
		accepted(Followup, "waits", chat.User()),                         // 4
		withCalls("x", "y"), resultFor(5, 1, "y"), resultFor(5, 0, "x"),  // 5 6 7
		Entered{Turn: 1, Step: 2}, saying("done"), TurnEnded{Turn: 1, Reason: EndCompleted}, // 8 9 10
		TurnStarted{Turn: 2}, Entered{Turn: 2, Step: 1, Messages: []Entry{{ID: "waits", From: 4}}}) // 11 12
	for _, c := range []struct{ at, before Seq }{{3, 2}, {4, 2}, {5, 2}, {6, 2}, {8, 7}, {12, 11}} {
		child, err := m.Acquire(ctx, "child", "p")
		if err != nil {
			t.Fatal(err)
		}
		var boundary *BoundaryError
		if err := ForkLog(ctx, m, child, "s", c.at, time.Unix(0, 0)); !errors.As(err, &boundary) || boundary.Before != c.before {
			t.Errorf("S3: fork inside a step, at %d: %v, want a BoundaryError that names %d", c.at, err, c.before)
		}
	}
	child, err := m.Acquire(ctx, "child", "p")
	if err != nil {
		t.Fatal(err)
	}
	if err := ForkLog(ctx, m, child, "s", head+1, time.Unix(0, 0)); !errors.Is(err, ErrNotFound) {
		t.Errorf("fork behind the end: %v, want ErrNotFound", err)
	}
	if err := ForkLog(ctx, m, child, "s", 7, time.Unix(99, 0)); err != nil {
		t.Fatal(err)
	}
	fork, at, err := Restore(ctx, m, "child", fresh)
	if err != nil || at != 8 {
		t.Fatalf("restored to %d, %v; want 8", at, err)
	}
	same(t, "S3: what waits in the fork", waits(&fork.Inbox), "")
	same(t, "S3: what the fork shows", shows(&fork.Transcript), "a=text of a; answer=; result=x; result=y")
	free, err := Encode(Event{Seq: 9, Fact: accepted(Followup, "waits", chat.User())})
	if err != nil {
		t.Fatal(err)
	}
	known, err := Encode(Event{Seq: 10, Fact: accepted(Followup, "a", chat.User())})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Append(ctx, Append{Lease: child, Records: []Record{free}})[0]; err != nil {
		t.Errorf("S3: an id that was pending at the cut: %v, want it free in the fork", err)
	}
	if err := m.Append(ctx, Append{Lease: child, Records: []Record{known}})[0]; !errors.Is(err, ErrExists) {
		t.Errorf("S3: an id placed in the prefix: %v, want ErrExists", err)
	}
}
