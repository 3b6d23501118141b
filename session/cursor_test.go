package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/chat"
)

// owned is a memory store and a lease on its session s.
func owned(t *testing.T) (*Memory, Lease) {
	t.Helper()
	m := NewMemory(nil)
	ctx := context.Background()
	if err := m.Beat(ctx, Process{ID: "p"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	lease, err := m.Acquire(ctx, "s", "p")
	if err != nil {
		t.Fatal(err)
	}
	return m, lease
}

// appendFacts appends facts behind head and returns the new head.
func appendFacts(t *testing.T, s Store, l Lease, head Seq, facts ...Fact) Seq {
	t.Helper()
	var records []Record
	for _, f := range facts {
		head++
		r, err := Encode(Event{Seq: head, Time: time.Unix(int64(head), 0).UTC(), Fact: f})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	if err := s.Append(context.Background(), Append{Lease: l, Records: records})[0]; err != nil {
		t.Fatal(err)
	}
	return head
}

func turns(from, n int) []Fact {
	var facts []Fact
	for i := range n {
		facts = append(facts, TurnStarted{Turn: from + i})
	}
	return facts
}

func TestReadingALogYieldsAllOfItInOrder(t *testing.T) {
	for _, n := range []int{0, 1, page - 1, page, page + 1, 3*page + 7} {
		m, l := owned(t)
		appendFacts(t, m, l, 0, turns(1, n)...)
		got := 0
		for e, err := range Events(context.Background(), m, "s", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if got++; e.Seq != Seq(got) || e.Fact.(TurnStarted).Turn != got {
				t.Fatalf("event %d is %+v", got, e)
			}
		}
		if got != n {
			t.Errorf("%d of %d events", got, n)
		}
	}
}

func TestAReaderThatFollowsMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := owned(t)
		ctx, cancel := context.WithCancel(context.Background())
		head := appendFacts(t, m, l, 0, turns(1, 5)...)
		var got []Seq
		var end error
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e, err := range Follow(ctx, m, "s", 2) {
				if err != nil {
					end = err
					return
				}
				got = append(got, e.Seq)
				if e.Seq == 4 {
					time.Sleep(time.Hour) // a slow reader
				}
			}
		}()
		for range 10 {
			head = appendFacts(t, m, l, head, turns(int(head)+1, 1)...)
			time.Sleep(time.Minute)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		cancel()
		<-done
		if want := "[3 4 5 6 7 8 9 10 11 12 13 14 15]"; fmt.Sprint(got) != want {
			t.Errorf("I2: the reader saw %v, want %s", got, want)
		}
		if !errors.Is(end, context.Canceled) {
			t.Errorf("it ended with %v, want the context's error", end)
		}
	})
}

func TestReadingEndsAtWhatCantBeRead(t *testing.T) {
	m, l := owned(t)
	head := appendFacts(t, m, l, 0, turns(1, 2)...)
	strange := Record{Seq: head + 1, Type: "teleported", Version: 1, Data: []byte("{}")}
	if err := m.Append(context.Background(), Append{Lease: l, Records: []Record{strange}})[0]; err != nil {
		t.Fatal(err)
	}
	n := 0
	var end error
	for _, err := range Events(context.Background(), m, "s", 0) {
		n++
		end = err
	}
	if n != 3 || !errors.Is(end, ErrUnreadable) {
		t.Errorf("S4: %d yields, the last with %v; want 3 and a FormatError", n, end)
	}
}

func fresh() *Conversation { return &Conversation{} }

func TestOpeningReadsASnapshotAndATail(t *testing.T) {
	ctx := context.Background()
	m, l := owned(t)
	head := appendFacts(t, m, l, 0,
		accepted(Followup, "a", chat.User()), accepted(Inject, "b", chat.Plugin("p")), Amended{ID: "a", Parts: []chat.Part{chat.Text("anew")}},
		Entered{Turn: 1, Step: 1, Messages: []Entry{{ID: "a", From: 3}}}, saying("hello"), accepted(Steer, "c", chat.User()))
	whole, at, err := Restore(ctx, m, "s", fresh)
	if err != nil || at != head {
		t.Fatalf("restored to %d, %v; want %d", at, err, head)
	}
	want := portrait(whole)
	if err := SaveSnapshot(ctx, m, l, whole, at); err != nil {
		t.Fatal(err)
	}
	check := func(what string) {
		t.Helper()
		got, at, err := Restore(ctx, m, "s", fresh)
		if err != nil || at != head {
			t.Errorf("S5, %s: restored to %d, %v; want %d", what, at, err, head)
		} else if p := portrait(got); p != want {
			t.Errorf("S5, %s\n got %s\nwant %s", what, p, want)
		}
	}
	check("from the snapshot")
	snap, _ := m.Snapshot(ctx, "s", "conversation")
	for what, change := range map[string]func(*Snapshot){
		"another version":         func(s *Snapshot) { s.Version++ },
		"not readable":            func(s *Snapshot) { s.Data = []byte("{") },
		"naming what isn't there": func(s *Snapshot) { s.Data = []byte(strings.Replace(string(s.Data), `"seq":6`, `"seq":60`, 1)) },
	} {
		bad := snap
		change(&bad)
		if err := m.Save(ctx, l, bad); err != nil {
			t.Fatal(err)
		}
		check(what)
	}
	if err := m.Save(ctx, l, snap); err != nil {
		t.Fatal(err)
	}
	head = appendFacts(t, m, l, head, Withdrawn{ID: "b"}, Parked{Reason: ParkedBudget, IDs: []string{"c"}})
	want = portrait(folded(t, readAll(t, m)))
	check("from the snapshot and the tail")
	if after, _ := m.Read(ctx, "s", head, 9); len(after) != 0 {
		t.Errorf("S5: opening appended %d records, want none", len(after))
	}
}

func readAll(t *testing.T, m *Memory) []Event {
	t.Helper()
	var events []Event
	for e, err := range Events(context.Background(), m, "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}
