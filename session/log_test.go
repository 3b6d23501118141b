package session

import (
	"context"
	"errors"
	"strings"
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

// doubtful is a store whose next append is written, and says that it may be.
type doubtful struct {
	Store
	doubts int
}

func (d *doubtful) Append(ctx context.Context, appends ...Append) []error {
	errs := d.Store.Append(ctx, appends...)
	if d.doubts > 0 {
		d.doubts--
		errs[0] = ErrUncertain
	}
	return errs
}

func TestALogInDoubtWritesNothingMoreUntilOpenedAnew(t *testing.T) {
	ctx := context.Background()
	m, _ := owned(t)
	s := &doubtful{Store: m, doubts: 1}
	l, err := OpenLog(ctx, s, "s", "p")
	if err != nil {
		t.Fatal(err)
	}
	first := Event{Seq: 1, Time: time.Unix(1, 0), Fact: TurnStarted{Turn: 1}}
	if err := l.Append(ctx, first); !errors.Is(err, ErrUncertain) {
		t.Fatalf("D2: append: %v, want ErrUncertain", err)
	}
	for range 2 {
		second := Event{Seq: 2, Time: time.Unix(1, 0), Fact: TurnStarted{Turn: 2}}
		err := l.Append(ctx, second)
		if !errors.Is(err, ErrFaulted) || errors.Is(err, ErrUncertain) || !strings.Contains(err.Error(), ErrUncertain.Error()) {
			t.Errorf("D2: append after doubt: %v; want ErrFaulted, the doubt named but not repeated: nothing was tried", err)
		}
	}
	again, err := OpenLog(ctx, s, "s", "p")
	if err != nil || again.Head() != 1 {
		t.Fatalf("D2: opened anew: %v, head %d; want 1, what was written after all", err, again.Head())
	}
	if err := again.Append(ctx, Event{Seq: 2, Time: time.Unix(1, 0), Fact: TurnStarted{Turn: 2}}); err != nil {
		t.Errorf("D2: append after opening anew: %v", err)
	}
}

func TestALogGoesOnAfterADefiniteFailure(t *testing.T) {
	ctx := context.Background()
	m, _ := owned(t)
	l, err := OpenLog(ctx, m, "s", "p")
	if err != nil {
		t.Fatal(err)
	}
	unknown := Event{Seq: 1, Fact: Noted{Kind: "accepted", Version: 1, Data: []byte("{}")}}
	if err := l.Append(ctx, unknown); err == nil {
		t.Error("a plugin's fact under a core name was appended")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	first := Event{Seq: 1, Time: time.Unix(1, 0), Fact: TurnStarted{Turn: 1}}
	if err := l.Append(ended, first); !errors.Is(err, context.Canceled) {
		t.Errorf("D4: append with an ended context: %v, want its error", err)
	}
	if err := l.Append(ctx, first); err != nil || l.Head() != 1 {
		t.Errorf("append after definite failures: %v, head %d; want none and 1", err, l.Head())
	}
}
