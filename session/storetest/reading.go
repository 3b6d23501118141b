package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tack-agent/tack/session"
)

func readPromises() []promise {
	return []promise{
		{"I2 reading from a cursor misses nothing", cursors},
		{"I2 the log is there after reopening", reopened},
		{"I2 what is read doesn't change", readsAreOld},
		{"F5 the list has each session once, the last changed first", listed},
	}
}

func waitPromises() []promise {
	return []promise{
		{"I2 wait returns for what is there", waitForPresent},
		{"I2 wait wakes for what comes, and for nothing else", waitForFuture},
		{"I2 no wake is lost", noLostWake},
		{"I2 a follower sees every event", followed},
		{"D4 wait ends with its context", waitEnds},
	}
}

func cursors(t *trial) {
	lease := t.own("a", "p")
	all := notes(1, 300)
	for _, chunk := range [][]session.Record{all[:1], all[1:3], all[3:10], all[10:299], all[299:]} {
		t.must(lease, chunk...)
	}
	for _, after := range []session.Seq{0, 1, 2, 9, 63, 64, 65, 255, 256, 298, 299, 300} {
		for _, limit := range []int{1, 2, 7, 64, 256, 299, 300, 301, math.MaxInt32} {
			t.same(t.readAfter("a", after, limit), all[after:], fmt.Sprintf("I2 reading after %d by %d", after, limit))
		}
	}
	for _, after := range []session.Seq{301, 1 << 40, math.MaxInt64} {
		if got, err := t.store.Read(t.ctx, "a", after, 10); err != nil || len(got) != 0 {
			t.Fatalf("I2 there is nothing to read after %d in a log of 300: got %d records, error %v", after, len(got), err)
		}
	}
}

func reopened(t *trial) {
	if t.config.Reopen == nil {
		if t.store.Level() == session.Persistent {
			t.Fatalf("a store that calls itself %s is tested with Config.Reopen", session.Persistent)
		}
		t.Skip("the store's data is gone with its process: Config.Reopen is nil")
	}
	lease := t.own("a", "p")
	want := []session.Record{claiming(referring(note(1), "r"), "k"), note(2), written(note(3))}
	t.must(lease, want...)
	t.no(t.store.Save(t.ctx, lease, session.Snapshot{Fold: "f", Version: 2, Seq: 2, Data: []byte("state")}), "save")
	blob, err := t.store.Put(t.ctx, "a", []byte("blob"))
	t.no(err, "put")

	t.store = t.config.Reopen(t, t.store, t.clock)
	t.holds("a", want, "S2 what was written survives the end of the process")
	t.same(t.readAfter("a", 1, 1), want[1:], "I2 a cursor is good across reopening")
	t.finds("a", "r", 1)
	if data, err := t.store.Blob(t.ctx, "a", blob.Digest); err != nil || string(data) != "blob" {
		t.Fatalf("L7 a blob survives the end of the process: got %q, %v", data, err)
	}
	if snap, err := t.store.Snapshot(t.ctx, "a", "f"); err == nil && (snap.Seq != 2 || snap.Version != 2 || string(snap.Data) != "state") {
		t.Fatalf("S5 a snapshot is kept whole or not at all: got %+v", snap)
	}
	now := t.own("a", "p")
	if now.Token <= lease.Token || now.Head != 3 {
		t.Fatalf("F4 tokens rise and heads stay across reopening: got %+v after %+v", now, lease)
	}
	t.wantNotOwner(t.try(lease, note(4)), "a", "p")
	t.must(now, note(4))
}

func readsAreOld(t *trial) {
	lease := t.own("a", "p")
	t.must(lease, notes(1, 3)...)
	got := t.read("a")
	t.must(lease, notes(4, 40)...)
	t.same(got, notes(1, 3), "I2 records that were read stay as they were")
}

func listed(t *trial) {
	at := t.clock.Now()
	var want []session.Info
	for i, id := range []session.ID{"old", "new", "mid", "one"} {
		minutes := []int{1, 9, 5, 7}[i]
		zone := time.FixedZone("", (4-2*i)*3600) // local times are in another order
		first, last := note(1), note(2)
		first.Time = at.Add(time.Duration(10-minutes) * time.Second).In(zone)
		last.Time = at.Add(time.Duration(minutes) * time.Minute).In(zone)
		t.must(t.own(id, "p"), first, last)
		want = append(want, session.Info{ID: id, Head: 2, Created: first.Time, Changed: last.Time})
	}
	t.own("empty", "p")
	slices.SortFunc(want, func(a, b session.Info) int { return b.Changed.Compare(a.Changed) })
	got, err := t.store.List(t.ctx)
	t.no(err, "list")
	if len(got) != len(want) {
		t.Fatalf("F5 the list has each session that has a record: got %v, want %v", got, want)
	}
	for i := range want {
		if !sameInfo(got[i], want[i]) {
			t.Fatalf("F5 the list, the last changed first: got %v at place %d, want %v", got[i], i, want[i])
		}
	}
}

func sameInfo(a, b session.Info) bool {
	return a.ID == b.ID && a.Head == b.Head &&
		a.Created.Sub(b.Created).Abs() < time.Microsecond && a.Changed.Sub(b.Changed).Abs() < time.Microsecond
}

func waitForPresent(t *trial) {
	t.must(t.own("a", "p"), notes(1, 3)...)
	for after := session.Seq(0); after < 3; after++ {
		t.no(t.store.Wait(t.ctx, "a", after), fmt.Sprintf("I2 wait returns at once for a record above %d of 3", after))
	}
}

func waitForFuture(t *trial) {
	lease, other := t.own("a", "p"), t.own("b", "p")
	t.must(lease, note(1))
	t.must(other, note(1))
	for _, after := range []session.Seq{1, 2} {
		short, cancel := context.WithTimeout(t.ctx, 2*time.Millisecond)
		t.wantIs(t.store.Wait(short, "a", after), context.DeadlineExceeded, "I2 wait doesn't return for nothing")
		cancel()
	}
	woken := make(chan error, 2)
	for _, id := range []session.ID{"a", "c"} { // c doesn't exist yet
		go func() {
			if err := t.store.Wait(t.ctx, id, 2); err != nil {
				woken <- err
				return
			}
			got, err := t.store.Read(t.ctx, id, 2, 1)
			if err == nil && len(got) == 0 {
				err = errors.New("woken with nothing to read")
			}
			woken <- err
		}()
	}
	t.must(other, notes(2, 5)...)
	t.must(lease, note(2)) // nothing above 2 yet
	_ = t.try(lease, note(9))
	t.must(lease, note(3))
	t.must(t.own("c", "p"), notes(1, 3)...)
	for range 2 {
		t.no(<-woken, "I2 wait returns once there is a record above its cursor")
	}
}

func noLostWake(t *trial) {
	lease := t.own("a", "p")
	const rounds, readers = 200, 3
	for seq := session.Seq(1); seq <= rounds; seq++ {
		var group sync.WaitGroup
		answers := make([]error, readers)
		for i := range readers {
			group.Go(func() { answers[i] = t.store.Wait(t.ctx, "a", seq-1) })
		}
		t.must(lease, note(seq))
		group.Wait()
		t.no(errors.Join(answers...), fmt.Sprintf("I2 a wait that races the append of event %d ends", seq))
	}
}

func followed(t *trial) {
	lease := t.own("a", "p")
	const events, readers = 300, 3
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	var group sync.WaitGroup
	answers := make([]error, readers)
	for i := range readers {
		group.Go(func() { answers[i] = follow(ctx, t.store, session.Seq(i*10), events) })
	}
	for seq := session.Seq(1); seq <= events; seq++ {
		t.must(lease, note(seq))
	}
	group.Wait()
	t.no(errors.Join(answers...), "I2 a follower misses nothing")
}

// follow reads events after one until there were so many.
func follow(ctx context.Context, j session.Journal, after session.Seq, events int) error {
	at := after
	for e, err := range session.Follow(ctx, j, "a", after) {
		if err != nil {
			return err
		}
		if at++; e.Seq != at {
			return fmt.Errorf("got event %d, want %d", e.Seq, at)
		}
		if int(at) == events {
			return nil
		}
	}
	return fmt.Errorf("ended after event %d: %w", at, ctx.Err())
}

func waitEnds(t *trial) {
	t.must(t.own("a", "p"), note(1))
	ctx, cancel := context.WithCancel(t.ctx)
	woken := make(chan error, 2)
	for _, id := range []session.ID{"a", "none"} {
		go func() { woken <- t.store.Wait(ctx, id, 1) }()
	}
	cancel()
	for range 2 {
		t.wantIs(<-woken, context.Canceled, "D4 a wait for nothing ends with its context")
	}
	t.wantIs(t.store.Wait(ctx, "a", 7), context.Canceled, "D4 a wait for nothing ends with its context")
}
