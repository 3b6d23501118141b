package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// short is a store that reads little at once, as it may.
type short struct {
	Store
	most  int
	reads int
}

func (s *short) Read(ctx context.Context, id ID, after Seq, limit int) ([]Record, error) {
	s.reads++
	return s.Store.Read(ctx, id, after, min(limit, s.most))
}

// tally is a fold of turns. Its snapshots name some events whose turn they
// don't hold.
type tally struct {
	Sum     int
	Last    Seq
	Kept    []Seq
	turns   map[Seq]int
	applied int
	spoilt  bool
}

func newTally() *tally { return &tally{turns: map[Seq]int{}} }

func (f *tally) Name() string { return "test/tally" }
func (f *tally) Version() int { return 3 }

func (f *tally) Apply(e Event) error {
	if e.Seq != f.Last+1 || f.spoilt {
		return fmt.Errorf("event %d after %d, spoilt %v", e.Seq, f.Last, f.spoilt)
	}
	turn := e.Fact.(TurnStarted).Turn
	f.Sum, f.Last = f.Sum+turn, e.Seq
	f.applied++
	if e.Seq%7 == 0 || e.Seq%50 == 1 {
		f.Kept = append(f.Kept, e.Seq)
		f.turns[e.Seq] = turn
	}
	return nil
}

func (f *tally) Encode() ([]byte, error) { return json.Marshal(f) }

func (f *tally) Decode(data []byte) error {
	f.spoilt = true
	if err := json.Unmarshal(data, f); err != nil {
		return err
	}
	f.spoilt = false
	return nil
}

func (f *tally) Missing() []Seq {
	var missing []Seq
	for _, seq := range f.Kept {
		if _, there := f.turns[seq]; !there {
			missing = append(missing, seq)
		}
	}
	return missing
}

func (f *tally) Fill(e Event) error {
	if missing := f.Missing(); len(missing) == 0 || missing[0] != e.Seq {
		return fmt.Errorf("filled event %d, want the first of %v", e.Seq, missing)
	}
	f.turns[e.Seq] = e.Fact.(TurnStarted).Turn
	return nil
}

func (f *tally) same(g *tally) bool {
	return f.Sum == g.Sum && f.Last == g.Last && slices.Equal(f.Kept, g.Kept) && fmt.Sprint(f.turns) == fmt.Sprint(g.turns)
}

func TestRestoringFromASnapshotIsFoldingTheWholeLog(t *testing.T) {
	ctx := context.Background()
	for _, most := range []int{1, 10, page} {
		for _, at := range []int{1, 7, 50, 299, 300} {
			m, l := owned(t)
			s := &short{Store: m, most: most}
			appendFacts(t, m, l, 0, turns(1, at)...)
			f, head, err := Restore(ctx, s, "s", newTally)
			if err != nil || int(head) != at || f.applied != at {
				t.Fatalf("restored to %d with %d events, %v; want %d", head, f.applied, err, at)
			}
			if err := SaveSnapshot(ctx, m, l, f, head); err != nil {
				t.Fatal(err)
			}
			appendFacts(t, m, l, head, turns(at+1, 300-at+9)...)
			want := newTally()
			for e, err := range Events(ctx, m, "s", 0) {
				if err := errors.Join(err, want.Apply(e)); err != nil {
					t.Fatal(err)
				}
			}
			s.reads = 0
			got, head, err := Restore(ctx, s, "s", newTally)
			if err != nil || head != 309 || !got.same(want) || got.applied != 309-at {
				t.Errorf("S5: from a snapshot at %d by %d: head %d, %d applied, %v\n got %+v\nwant %+v", at, most, head, got.applied, err, got, want)
			}
			if most == page && s.reads > 3+309/page+2 {
				t.Errorf("S5: %d reads, want what is missing to be read in runs", s.reads)
			}
		}
	}
}

func TestASnapshotThatDoesntFitIsNoError(t *testing.T) {
	ctx := context.Background()
	for name, change := range map[string]func(*Snapshot, *tally){
		"none":                  func(s *Snapshot, _ *tally) { s.Fold = "test/other" },
		"another version":       func(s *Snapshot, _ *tally) { s.Version = 2 },
		"not readable":          func(s *Snapshot, _ *tally) { s.Data = []byte(`{"Sum":5`) },
		"ahead of the log":      func(s *Snapshot, _ *tally) { s.Seq = 21 },
		"of no event":           func(s *Snapshot, _ *tally) { s.Seq = 0 },
		"missing a later event": func(s *Snapshot, f *tally) { f.Kept = append(f.Kept, 19); s.Data, _ = f.Encode() },
	} {
		m, l := owned(t)
		appendFacts(t, m, l, 0, turns(1, 20)...)
		f := newTally()
		for _, e := range readAll(t, m)[:14] {
			if err := f.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		data, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		snap := Snapshot{Fold: f.Name(), Version: f.Version(), Seq: 14, Data: data}
		change(&snap, f)
		got, head, err := Restore(ctx, &handing{Store: m, snap: snap}, "s", newTally)
		if err != nil || head != 20 || got.applied != 20 || got.Sum != 210 {
			t.Errorf("S5: a snapshot that is %s: head %d, %d applied, sum %d, %v; want all 20 events", name, head, got.applied, got.Sum, err)
		}
	}
}

// handing is a store with one snapshot, whatever it is.
type handing struct {
	Store
	snap Snapshot
}

func (h *handing) Snapshot(_ context.Context, _ ID, fold string) (Snapshot, error) {
	if fold != h.snap.Fold {
		return Snapshot{}, ErrNotFound
	}
	return h.snap, nil
}

func TestFollowingByShortPagesMissesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m, l := owned(t)
	appendFacts(t, m, l, 0, turns(1, 20)...)
	for _, most := range []int{1, 3, 20} {
		s := &short{Store: m, most: most}
		n := 0
		for _, err := range Events(ctx, s, "s", 0) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 20 {
			t.Errorf("I2: reading by pages of %d: got %d events, want 20", most, n)
		}
		n = 0
		for e, err := range Follow(ctx, s, "s", 5) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; e.Seq == 20 {
				break
			}
		}
		if n != 15 {
			t.Errorf("I2: following by pages of %d: got %d events, want 15", most, n)
		}
	}
}
