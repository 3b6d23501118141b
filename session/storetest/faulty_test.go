package storetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/session"
)

// faulted is a faulty memory store and a lease on its session s.
func faulted(t *testing.T, faults ...Fault) (*Faulty, session.Lease) {
	t.Helper()
	f := NewFaulty(session.NewMemory(nil), faults...)
	if err := f.Beat(t.Context(), session.Process{ID: "p"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	lease, err := f.Acquire(t.Context(), "s", "p")
	if err != nil {
		t.Fatal(err)
	}
	return f, lease
}

func head(t *testing.T, s session.Store) int {
	t.Helper()
	records, err := s.Read(t.Context(), "s", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	return len(records)
}

func TestAFaultMeetsTheAppendItIsFor(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		want error
		head int
	}{{Fails, ErrFault, 3}, {Lost, session.ErrUncertain, 3}, {Unheard, session.ErrUncertain, 2}} {
		f, lease := faulted(t, Fault{At: 2, Kind: c.kind})
		var got []error
		for _, seq := range []session.Seq{1, 2, 2, 3} {
			got = append(got, f.Append(t.Context(), session.Append{Lease: lease, Records: notes(seq, seq)})[0])
		}
		if got[0] != nil || !errors.Is(got[1], c.want) || f.Appends() != 4 {
			t.Errorf("%s: got %v in %d appends, want the second to meet it", c.kind, got, f.Appends())
		}
		if written := errors.Is(got[2], session.ErrGap); written != (c.kind == Unheard) {
			t.Errorf("%s: the same sequence again: got %v", c.kind, got[2])
		}
		if n := head(t, f); n != 3 || got[3] != nil {
			t.Errorf("%s: got %d records, %v; want 3", c.kind, n, got[3])
		}
	}
}

func TestAFaultMeetsOneAppendOfACall(t *testing.T) {
	f, lease := faulted(t, Fault{At: 2, Kind: Fails}, Fault{At: 5, Kind: Unheard})
	var appends []session.Append
	for _, seq := range []session.Seq{1, 2, 2, 3, 4} {
		appends = append(appends, session.Append{Lease: lease, Records: notes(seq, seq)})
	}
	errs := f.Append(t.Context(), appends...)
	if errs[0] != nil || !errors.Is(errs[1], ErrFault) || errs[2] != nil || errs[3] != nil || !isUncertain(errs[4]) || head(t, f) != 4 {
		t.Errorf("got %v and %d records, want faults of the second and fifth append, and 4 records", errs, head(t, f))
	}
}

func TestAnUncertainWriteThatIsRefusedIsCertain(t *testing.T) {
	f, lease := faulted(t)
	f.Add(1, Unheard)
	if err := f.Append(t.Context(), session.Append{Lease: lease, Records: notes(7, 7)})[0]; !errors.Is(err, session.ErrGap) || isUncertain(err) {
		t.Errorf("got %v, want the refusal", err)
	}
}

func TestABlockedAppendGoesOnOrIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f, lease := faulted(t, Fault{At: 1, Kind: Blocks, Release: release}, Fault{At: 2, Kind: Blocks})
		ctx, cancel := context.WithCancel(t.Context())
		answers := make(chan error, 2)
		for range 2 {
			go func() {
				answers <- f.Append(ctx, session.Append{Lease: lease, Records: notes(1, 1)})[0]
			}()
			<-f.Blocked()
		}
		synctest.Wait()
		if n := head(t, f); n != 0 || len(answers) != 0 {
			t.Fatalf("%d records and %d answers while blocked, want none", n, len(answers))
		}
		close(release)
		if err := <-answers; err != nil || head(t, f) != 1 {
			t.Errorf("released: got %v and %d records, want one", err, head(t, f))
		}
		cancel()
		if err := <-answers; !isUncertain(err) || !errors.Is(err, context.Canceled) || head(t, f) != 1 {
			t.Errorf("D4 given up: got %v and %d records, want uncertain and one", err, head(t, f))
		}
	})
}
