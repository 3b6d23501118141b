package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tack-agent/tack/session"
)

func leasePromises() []promise {
	return []promise{
		{"F4 a session has one owner, and who asks is told where", oneOwner},
		{"F4 a process must beat to acquire", beatFirst},
		{"F4 a stale writer is refused after a takeover", staleWriter},
		{"F4 an owner that acquires anew voids its older lease", ownReacquire},
		{"F4 without a takeover a late process goes on writing", lateWriter},
		{"F4 a late heartbeat makes a process live again", lateHeartbeat},
		{"F4 leaving frees all sessions at once", leaving},
		{"F4 releasing frees one session", releasing},
		{"F4 releasing a void lease harms nobody", releasingVoid},
		{"F4 a removed session's leases are void for ever", removedLease},
		{"F4 a void lease saves, forks and removes nothing", voidLease},
		{"F4 leases and tokens outlive the process that had them", leasesOutlive},
		{"F4 of 16 processes that acquire at once one wins", acquireRace},
	}
}

func oneOwner(t *trial) {
	t.own("a", "p")
	t.beat("q")
	_, err := t.store.Acquire(t.ctx, "a", "q")
	t.wantNotOwner(err, "a", "p")
	t.owner("a", "p")
	t.owner("b", "")

	moved := session.Process{ID: "p", Address: "tcp:elsewhere"}
	t.no(t.store.Beat(t.ctx, moved, ttl), "beat")
	if got, err := t.store.Owner(t.ctx, "a"); err != nil || got != moved {
		t.Fatalf("F4 a heartbeat renews the address: got %+v, %v, want %+v", got, err, moved)
	}
	t.clock.Advance(ttl)
	t.owner("a", "") // its heartbeat has ended
}

// owner checks who owns a session; empty: nobody.
func (t *trial) owner(id session.ID, process string) {
	t.Helper()
	want := session.Process{ID: process}
	if process != "" {
		want.Address = address(process)
	}
	if got, err := t.store.Owner(t.ctx, id); err != nil || got != want {
		t.Fatalf("F4 owner of session %q: got %+v, %v, want %+v", id, got, err, want)
	}
}

func beatFirst(t *trial) {
	wantRefused := func(why string) {
		t.Helper()
		if lease, err := t.store.Acquire(t.ctx, "a", "p"); err == nil || errors.Is(err, session.ErrNotOwner) {
			t.Fatalf("F4 a process that %s can't acquire: got lease %+v, error %v", why, lease, err)
		}
	}
	wantRefused("never beat")
	t.beat("p")
	t.clock.Advance(ttl)
	wantRefused("beat too long ago")
	t.own("a", "p")
	t.no(t.store.Leave(t.ctx, "p"), "leave")
	wantRefused("left")
}

func staleWriter(t *trial) {
	stale := t.own("a", "p")
	t.must(stale, note(1))
	t.clock.Advance(ttl)
	fresh := t.own("a", "q")
	if fresh.Token <= stale.Token || fresh.Head != 1 {
		t.Fatalf("F4 each owner has a higher token: got %+v after %+v", fresh, stale)
	}
	t.wantNotOwner(t.try(stale, claiming(referring(note(2), "r"), "k")), "a", "q")
	t.beat("p") // living again doesn't give it back
	t.wantNotOwner(t.try(stale, note(2)), "a", "q")
	t.holds("a", notes(1, 1), "F4 a stale writer writes nothing")
	t.finds("a", "r")
	t.must(fresh, claiming(note(2), "k"))
	for _, forged := range []session.Lease{
		{Session: "a", Process: "p", Token: fresh.Token}, {Session: "a", Process: "q", Token: fresh.Token + 1}, {Session: "a"},
	} {
		t.wantNotOwner(t.try(forged, note(3)), "a", "q")
	}
	_, err := t.store.Acquire(t.ctx, "a", "p")
	t.wantNotOwner(err, "a", "q")
}

func ownReacquire(t *trial) {
	old := t.own("a", "p")
	t.must(old, note(1))
	now := t.own("a", "p")
	if now.Token <= old.Token {
		t.Fatalf("F4 each owner has a higher token, the same process too: got %d after %d", now.Token, old.Token)
	}
	t.wantNotOwner(t.try(old, note(2)), "a", "p")
	t.must(now, note(2))
}

func lateWriter(t *trial) {
	lease := t.own("a", "p")
	t.clock.Advance(10 * ttl)
	t.owner("a", "")
	t.must(lease, note(1))
	t.beat("q") // another lives, but doesn't take it
	t.must(lease, note(2))
}

func lateHeartbeat(t *trial) {
	kept, lost := t.own("kept", "p"), t.own("lost", "p")
	t.clock.Advance(10 * ttl)
	t.own("lost", "q")
	t.beat("p")
	t.owner("kept", "p")
	t.owner("lost", "q")
	_, err := t.store.Acquire(t.ctx, "kept", "q")
	t.wantNotOwner(err, "kept", "p")
	t.must(kept, note(1))
	t.wantNotOwner(t.try(lost, note(1)), "lost", "q")

	t.clock.Advance(ttl - time.Second)
	t.owner("kept", "p") // the beat counts from when it came
}

func leaving(t *trial) {
	a, b, other := t.own("a", "p"), t.own("b", "p"), t.own("c", "q")
	t.no(t.store.Leave(t.ctx, "p"), "leave")
	t.no(t.store.Leave(t.ctx, "p"), "leave once more")
	t.no(t.store.Leave(t.ctx, "nobody"), "a process that never came leaves")
	t.owner("a", "")
	t.wantNotOwner(t.try(a, note(1)), "a", "")
	t.own("a", "q")
	t.beat("p")
	t.wantNotOwner(t.try(a, note(1)), "a", "q")
	t.wantNotOwner(t.try(b, note(1)), "b", "") // left is left, also for who comes back
	t.must(other, note(1))
	t.must(t.own("b", "p"), note(1))
}

func releasing(t *trial) {
	lease, other := t.own("a", "p"), t.own("b", "p")
	t.must(lease, note(1))
	t.no(t.store.Release(t.ctx, lease), "release")
	t.owner("a", "")
	t.wantNotOwner(t.try(lease, note(2)), "a", "")
	next := t.own("a", "q")
	if next.Token <= lease.Token || next.Head != 1 {
		t.Fatalf("F4 each owner has a higher token, also after a release: got %+v after %+v", next, lease)
	}
	t.must(next, note(2))
	t.must(other, note(1))
}

func releasingVoid(t *trial) {
	old := t.own("a", "p")
	t.no(t.store.Release(t.ctx, old), "release")
	t.no(t.store.Release(t.ctx, old), "a lease that is void is released without an error")
	now := t.own("a", "q")
	t.no(t.store.Release(t.ctx, old), "a lease that is void is released without an error")
	t.owner("a", "q")
	t.must(now, note(1))
	mine := t.own("b", "p")
	newer := t.own("b", "p")
	t.no(t.store.Release(t.ctx, mine), "release")
	t.must(newer, note(1))
	t.no(t.store.Release(t.ctx, session.Lease{Session: "none", Process: "p", Token: 1}), "release of no session")
}

func removedLease(t *trial) {
	old := t.own("a", "p")
	t.must(old, note(1))
	t.no(t.store.Remove(t.ctx, old), "remove")
	t.wantNotOwner(t.try(old, note(1)), "a", "")
	t.wantNotOwner(t.try(old, note(2)), "a", "")
	now := t.own("a", "p")
	if now.Token <= old.Token || now.Head != 0 {
		t.Fatalf("F4 tokens rise also where a session is removed: got %+v after %+v", now, old)
	}
	t.wantNotOwner(t.try(old, note(1)), "a", "p")
	t.must(now, note(1))
}

func voidLease(t *trial) {
	void := t.own("a", "p")
	child := t.own("child", "p")
	t.must(void, note(1))
	t.own("a", "p")
	t.own("child", "p")
	t.wantNotOwner(t.store.Save(t.ctx, void, session.Snapshot{Fold: "f", Version: 1, Seq: 1}), "a", "p")
	t.wantNotOwner(t.store.Fork(t.ctx, session.Fork{Lease: child, Parent: "a", At: 1, Record: note(2)}), "child", "p")
	t.wantNotOwner(t.store.Remove(t.ctx, void), "a", "p")
	t.holds("a", notes(1, 1), "F4 a void lease removes nothing")
	t.holds("child", nil, "F4 a void lease forks nothing")
	_, err := t.store.Snapshot(t.ctx, "a", "f")
	t.wantIs(err, session.ErrNotFound, "F4 a void lease saves nothing")
}

func acquireRace(t *trial) {
	const rivals = 16
	leases, answers := make([]session.Lease, rivals), make([]error, rivals)
	for i := range rivals {
		t.beat(fmt.Sprintf("p%d", i))
	}
	var group sync.WaitGroup
	for i := range rivals {
		group.Go(func() { leases[i], answers[i] = t.store.Acquire(t.ctx, "a", fmt.Sprintf("p%d", i)) })
	}
	group.Wait()
	won := -1
	for i, err := range answers {
		if err != nil {
			t.wantIs(err, session.ErrNotOwner, "F4 who comes second is told")
			continue
		}
		if won >= 0 {
			t.Fatalf("F4 one process owns a session: got p%d and p%d", won, i)
		}
		won = i
	}
	if won < 0 {
		t.Fatalf("F4 one of those that acquire a free session gets it: none did, %v", answers)
	}
	t.owner("a", fmt.Sprintf("p%d", won))
	t.must(leases[won], note(1))
}

func leasesOutlive(t *trial) {
	if t.config.Reopen == nil {
		t.Skip("the store's data is gone with its process: Config.Reopen is nil")
	}
	old := t.own("a", "p")
	t.store = t.config.Reopen(t, t.store, t.clock)
	t.beat("q")
	_, err := t.store.Acquire(t.ctx, "a", "q")
	t.wantNotOwner(err, "a", "p") // its heartbeat holds on
	t.clock.Advance(ttl)
	now := t.own("a", "q")
	if now.Token <= old.Token {
		t.Fatalf("F4 each owner has a higher token, across reopening too: got %d after %d", now.Token, old.Token)
	}
	t.wantNotOwner(t.try(old, note(1)), "a", "q")
	t.must(now, note(1))
}
