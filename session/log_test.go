package session

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestALogGoesOnWhereItEnds(t *testing.T) {
	ctx := context.Background()
	m, lease := owned(t)
	appendFacts(t, m, lease, 0, turns(1, page+3)...)
	l, err := OpenLog(ctx, m, "s", "p")
	if err != nil {
		t.Fatal(err)
	}
	if l.Head() != page+3 || l.ID() != "s" {
		t.Fatalf("opened %s at %d, want s at %d", l.ID(), l.Head(), page+3)
	}
	next := Event{Seq: l.Head() + 1, Time: time.Unix(9, 0), Fact: TurnStarted{Turn: 9}}
	if err := l.Append(ctx, next); err != nil || l.Head() != page+4 {
		t.Errorf("append: %v, head %d; want none and %d", err, l.Head(), page+4)
	}
	if err := l.Append(ctx, next); !errors.Is(err, ErrGap) || l.Head() != page+4 {
		t.Errorf("append again: %v, head %d; want a gap, and nothing changed", err, l.Head())
	}
	if err := l.Append(ctx); err != nil {
		t.Errorf("append nothing: %v", err)
	}
}

func TestALogThatLostItsSessionWritesNothingMore(t *testing.T) {
	ctx := context.Background()
	m, _ := owned(t)
	l, err := OpenLog(ctx, m, "s", "p")
	if err != nil {
		t.Fatal(err)
	}
	other, err := OpenLog(ctx, m, "s", "p")
	if err != nil {
		t.Fatal(err)
	}
	first := Event{Seq: 1, Time: time.Unix(1, 0), Fact: TurnStarted{Turn: 1}}
	if err := l.Append(ctx, first); !errors.Is(err, ErrNotOwner) {
		t.Errorf("F4: append under a void lease: %v, want ErrNotOwner", err)
	}
	if err := other.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(ctx, first); !errors.Is(err, ErrNotOwner) {
		t.Errorf("F4: append once more: %v, want the same error", err)
	}
	if head := len(readAll(t, m)); head != 0 {
		t.Errorf("F4: the log has %d events, want none", head)
	}
}
