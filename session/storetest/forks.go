package storetest

import (
	"context"
	"fmt"

	"github.com/tack-agent/tack/session"
)

func forkPromises() []promise {
	return []promise{
		{"S3 a fork shares the prefix at its sequences", forkShares},
		{"S3 a fork takes over claims, but for those it forgets", forkClaims},
		{"S3 fork and parent go on apart", forkApart},
		{"S3 a fork of a fork", forkOfFork},
		{"S3 a fork of a fork forgets what that forgot, and no more", forkForgets},
		{"S3 a fork outlives its parent", forkOutlives},
		{"S3 a fork that may not be changes nothing", forkRefused},
		{"S3 a long log forks anywhere", forkAnywhere},
	}
}

// fork makes child out of the first at events of parent.
func (t *trial) fork(child, parent session.ID, at session.Seq, forget ...string) session.Lease {
	t.Helper()
	lease := t.own(child, "p")
	t.no(t.store.Fork(t.ctx, session.Fork{Lease: lease, Parent: parent, At: at, Forget: forget, Record: forked(at)}),
		fmt.Sprintf("S3 fork session %q from event %d of %q", child, at, parent))
	return lease
}

func forked(at session.Seq) session.Record {
	r := note(at + 1)
	r.Data = []byte(`{"forked":true}`)
	return r
}

// family is a parent whose events have keys.
func (t *trial) family() session.Lease {
	t.Helper()
	lease := t.own("parent", "p")
	t.must(lease,
		claiming(referring(note(1), "message/1"), "message/1"),
		referring(note(2), "message/1"),
		claiming(referring(note(3), "message/2", "x"), "message/2"),
		referring(note(4), "message/2"),
		claiming(referring(note(5), "message/3"), "message/3"))
	return lease
}

func forkShares(t *trial) {
	t.family()
	t.put("parent", "blob")
	lease := t.fork("child", "parent", 4)
	t.holds("child", append(t.read("parent")[:4], forked(4)), "S3 a fork shares the prefix and has its own record after it")
	t.same(t.readAfter("child", 3, 1), append(t.read("parent")[3:4], forked(4)), "S3 a fork is read from any cursor")
	t.finds("child", "message/1", 1, 2)
	t.finds("child", "message/2", 3, 4)
	t.finds("child", "message/3")
	t.blob("child", []byte("blob"))
	t.must(lease, note(6)) // the lease holds on
	if again := t.own("child", "p"); again.Head != 6 {
		t.Fatalf("S3 a fork's head: got %d, want 6", again.Head)
	}
	if list, err := t.store.List(t.ctx); err != nil || len(list) != 2 {
		t.Fatalf("S3 a fork is listed like its parent: got %v, %v", list, err)
	}
}

func forkClaims(t *trial) {
	t.family()
	lease := t.fork("child", "parent", 4, "message/2", "never/claimed")
	t.finds("child", "message/1", 1, 2)
	t.finds("child", "message/2")
	t.finds("child", "x", 3)
	t.wantExists(t.try(lease, claiming(note(6), "message/1")), "message/1", 1)
	t.must(lease, claiming(referring(note(6), "message/2"), "message/2"))
	t.wantExists(t.try(lease, claiming(note(7), "message/2")), "message/2", 6)
	t.must(lease, claiming(note(7), "message/3")) // after the cut it was never claimed
	t.finds("child", "message/2", 6)
	t.finds("parent", "message/2", 3, 4)

	own := t.own("other", "p")
	record := claiming(referring(note(5), "message/2"), "message/2")
	t.no(t.store.Fork(t.ctx, session.Fork{Lease: own, Parent: "parent", At: 4, Forget: []string{"message/2"}, Record: record}),
		"S3 the record of a fork may claim what is forgotten")
	t.finds("other", "message/2", 5)
}

func forkApart(t *trial) {
	parent := t.family()
	child := t.fork("child", "parent", 2)
	t.must(child, claiming(referring(note(4), "message/1"), "child"))
	t.must(parent, claiming(referring(note(6), "message/1"), "parent"))
	t.finds("child", "message/1", 1, 2, 4)
	t.finds("parent", "message/1", 1, 2, 6)
	t.must(parent, claiming(note(7), "child"))
	t.must(child, claiming(note(5), "parent"))
	t.put("parent", "later")
	t.noBlob("child", []byte("later"))
	if got := len(t.read("parent")); got != 7 {
		t.Fatalf("S3 a fork leaves its parent alone: got %d records, want 7", got)
	}
}

func forkOfFork(t *trial) {
	t.family()
	child := t.fork("child", "parent", 3)
	t.must(child, claiming(referring(note(5), "message/1"), "own"))
	grand := t.fork("grandchild", "child", 5, "message/1")
	t.holds("grandchild", append(t.read("child"), forked(5)), "S3 a fork of a fork shares its prefix")
	t.finds("grandchild", "message/1")
	t.finds("grandchild", "message/2", 3)
	t.wantExists(t.try(grand, claiming(note(7), "own")), "own", 5)
	t.must(grand, claiming(note(7), "message/1"))
	t.fork("great-grandchild", "grandchild", 2)
	t.holds("great-grandchild", append(t.read("parent")[:2], forked(2)), "S3 a fork may share less than its parent did")
}

func forkForgets(t *trial) {
	t.family()
	child := t.fork("child", "parent", 4, "message/1", "message/2")
	t.must(child, claiming(referring(note(6), "message/2"), "message/2"))
	grand := t.fork("grandchild", "child", 5)
	t.finds("grandchild", "message/1")
	t.finds("grandchild", "message/2")
	t.must(grand, claiming(referring(note(7), "message/1"), "message/1"))

	early := t.fork("early", "child", 1) // cut before what its parent forgot ends
	t.must(early, claiming(referring(note(3), "message/2"), "message/2"))
	t.fork("late", "early", 3)
	t.finds("late", "message/1")
	t.finds("late", "message/2", 3)
	late := t.own("late", "p")
	t.wantExists(t.try(late, claiming(note(5), "message/2")), "message/2", 3)
	t.must(late, claiming(note(5), "message/1"))
}

func forkOutlives(t *trial) {
	parent := t.family()
	t.put("parent", "blob")
	child := t.fork("child", "parent", 5)
	want := t.read("child")
	t.no(t.store.Remove(t.ctx, parent), "remove the parent")
	t.holds("child", want, "S3 removing the parent doesn't hurt the fork")
	t.finds("child", "message/2", 3, 4)
	t.blob("child", []byte("blob"))
	t.wantExists(t.try(child, claiming(note(7), "message/3")), "message/3", 5)
	t.must(t.own("parent", "p"), note(1))
	t.holds("child", want, "S3 a new session under the parent's id is no kin")
}

func forkRefused(t *trial) {
	t.family()
	lease := t.own("child", "p")
	try := func(f session.Fork) error { f.Lease = lease; return t.store.Fork(t.ctx, f) }
	t.wantIs(try(session.Fork{Parent: "none", At: 1, Record: forked(1)}), session.ErrNotFound, "S3 a fork of no session")
	t.wantIs(try(session.Fork{Parent: "parent", At: 0, Record: forked(0)}), session.ErrNotFound, "S3 a fork that shares nothing")
	t.wantIs(try(session.Fork{Parent: "parent", At: 6, Record: forked(6)}), session.ErrNotFound, "S3 a fork at an event that isn't there")
	t.wantGap(try(session.Fork{Parent: "parent", At: 3, Record: forked(4)}), "child", 5, 4)
	t.wantExists(try(session.Fork{Parent: "parent", At: 3, Record: claiming(forked(3), "message/1")}), "message/1", 1)
	ended, cancel := context.WithCancel(t.ctx)
	cancel()
	t.wantIs(t.store.Fork(ended, session.Fork{Lease: lease, Parent: "parent", At: 3, Record: forked(3)}), context.Canceled,
		"D4 a context that ended before the fork answers its error")
	t.holds("child", nil, "S3 a refused fork changes nothing")
	t.finds("child", "message/1")

	t.must(lease, claiming(note(1), "message/1"))
	t.wantGap(try(session.Fork{Parent: "parent", At: 3, Record: forked(3)}), "child", 1, 2)
	t.holds("child", []session.Record{claiming(note(1), "message/1")}, "S3 a session that isn't empty is no fork")
}

func forkAnywhere(t *trial) {
	lease := t.own("parent", "p")
	all := notes(1, 600)
	for len(all) > 0 {
		n := min(len(all), 7)
		t.must(lease, all[:n]...)
		all = all[n:]
	}
	all = notes(1, 600)
	for _, at := range []session.Seq{1, 3, 4, 5, 255, 256, 257, 599, 600} {
		id := session.ID(fmt.Sprintf("child%d", at))
		child := t.fork(id, "parent", at)
		t.must(child, notes(at+2, at+9)...)
		want := append(append(notes(1, at), forked(at)), notes(at+2, at+9)...)
		t.holds(id, want, "S3 a long log forks anywhere")
	}
	t.holds("parent", all, "S3 forks leave their parent alone")
}
