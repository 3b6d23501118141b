package storetest

import (
	"errors"
	"sync"

	"github.com/tack-agent/tack/session"
)

func endPromises() []promise {
	return []promise{
		{"D1 a store says what durable means", levels},
		{"C11 a closed store answers ErrClosed", closed},
		{"C11 closing ends those that wait", closedWhileWaiting},
		{"C11 an append that races a close is written or refused", closedWhileAppending},
	}
}

func levels(t *trial) {
	if l := t.store.Level(); l != session.Ephemeral && l != session.Persistent {
		t.Fatalf("D1 a store's level is %q or %q: got %q", session.Ephemeral, session.Persistent, l)
	}
}

func closed(t *trial) {
	lease := t.own("a", "p")
	t.must(lease, note(1))
	t.no(t.store.Close(), "close")
	t.no(t.store.Close(), "closing once more does nothing")
	s, ctx := t.store, t.ctx
	for name, call := range map[string]func() error{
		"Append":   func() error { return s.Append(ctx, session.Append{Lease: lease, Records: notes(2, 2)})[0] },
		"Read":     func() error { _, err := s.Read(ctx, "a", 0, 1); return err },
		"Find":     func() error { _, err := s.Find(ctx, "a", "r"); return err },
		"Wait":     func() error { return s.Wait(ctx, "a", 1) },
		"List":     func() error { _, err := s.List(ctx); return err },
		"Fork":     func() error { return s.Fork(ctx, session.Fork{Lease: lease, Parent: "a", At: 1, Record: forked(1)}) },
		"Remove":   func() error { return s.Remove(ctx, lease) },
		"Beat":     func() error { return s.Beat(ctx, session.Process{ID: "p"}, ttl) },
		"Leave":    func() error { return s.Leave(ctx, "p") },
		"Acquire":  func() error { _, err := s.Acquire(ctx, "a", "p"); return err },
		"Release":  func() error { return s.Release(ctx, lease) },
		"Owner":    func() error { _, err := s.Owner(ctx, "a"); return err },
		"Save":     func() error { return s.Save(ctx, lease, session.Snapshot{Fold: "f", Seq: 1}) },
		"Snapshot": func() error { _, err := s.Snapshot(ctx, "a", "f"); return err },
		"Put":      func() error { _, err := s.Put(ctx, "a", []byte("x")); return err },
		"Blob":     func() error { _, err := s.Blob(ctx, "a", "sha256:0"); return err },
	} {
		t.wantIs(call(), session.ErrClosed, "C11 a closed store answers "+name+" so")
	}
}

func closedWhileWaiting(t *trial) {
	t.own("a", "p")
	woken := make(chan error, 2)
	for range 2 {
		go func() { woken <- t.store.Wait(t.ctx, "a", 0) }()
	}
	t.no(t.store.Close(), "close")
	for range 2 {
		t.wantIs(<-woken, session.ErrClosed, "C11 closing ends those that wait")
	}
}

func closedWhileAppending(t *trial) {
	lease := t.own("a", "p")
	var group sync.WaitGroup
	begun := make(chan struct{})
	var accepted session.Seq
	var last error
	group.Go(func() {
		started := sync.OnceFunc(func() { close(begun) })
		defer started()
		for seq := session.Seq(1); ; seq++ {
			last = t.store.Append(t.ctx, session.Append{Lease: lease, Records: notes(seq, seq)})[0]
			if last != nil {
				return
			}
			if accepted = seq; seq == 3 {
				started()
			}
		}
	})
	<-begun
	t.no(t.store.Close(), "close")
	group.Wait()
	t.wantIs(last, session.ErrClosed, "C11 an append that comes too late is refused")
	if t.config.Reopen == nil {
		return
	}
	t.store = t.config.Reopen(t, t.store, t.clock)
	if got := session.Seq(len(t.read("a"))); got != accepted {
		t.Fatalf("C11 what was accepted is written, and nothing else: got %d records, want %d", got, accepted)
	}
	if errors.Is(last, session.ErrUncertain) {
		t.Fatalf("C11 closing leaves no append uncertain: got %v", last)
	}
}
