package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tack-agent/tack/session"
)

var leases = []promise{
	{name: "a stale writer writes nothing", clause: "F4", check: stale},
	{name: "an owner who acquires anew voids its older lease", clause: "F4", check: anew},
	{name: "a living owner is named with its address", clause: "F4", check: ownerNamed},
	{name: "only a living process acquires", clause: "F4", check: onlyLiving},
	{name: "a late heartbeat loses only what others acquired", clause: "F4", check: lateBeat},
	{name: "leaving and releasing free sessions at once", clause: "F4", check: freed},
	{name: "a lease that is void keeps, removes and forks nothing", clause: "F4", check: voidLease},
}

// void says whether an error is that of a lease that is not valid.
func (t *trial) void(what string, err error) {
	var not *session.NotOwnerError
	if !errors.As(err, &not) || !errors.Is(err, session.ErrNotOwner) {
		t.breaks("%s: got %v, want a NotOwnerError", what, err)
	}
}

func stale(t *trial) {
	old := t.own("s", "p")
	t.must("append", t.append(old, t.record(1, "")))
	t.clock.move(ttl)
	taken := t.own("s", "q")
	if taken.Token <= old.Token {
		t.breaks("the new token is %d, want more than %d", taken.Token, old.Token)
	}
	t.void("append by the stale writer", t.append(old, t.record(2, "stale", "r")))
	t.want("the log", t.shape("s"), "1:[] ")
	t.must("append by the new owner", t.append(taken, t.record(2, "stale")))
	forged := taken
	forged.Process = "p"
	t.void("append under another process's token", t.append(forged, t.record(3, "")))
	forged = taken
	forged.Token++
	t.void("append under a token not yet given", t.append(forged, t.record(3, "")))
	var none session.Lease
	none.Session = "s"
	t.void("append without a lease", t.append(none, t.record(3, "")))
}

func anew(t *trial) {
	old := t.own("s", "p")
	fresh := t.own("s", "p")
	t.void("append under the older lease", t.append(old, t.record(1, "")))
	t.must("append under the newer", t.append(fresh, t.record(1, "")))
}

func ownerNamed(t *trial) {
	t.own("s", "p")
	t.must("heartbeat", t.store.Beat(t.ctx, session.Process{ID: "q"}, ttl))
	_, err := t.store.Acquire(t.ctx, "s", "q")
	var not *session.NotOwnerError
	if !errors.As(err, &not) || not.Owner != (session.Process{ID: "p", Address: "unix:p"}) || not.Session != "s" {
		t.breaks("acquire what another owns: got %v, want its owner", err)
	}
	owner, err := t.store.Owner(t.ctx, "s")
	t.must("owner", err)
	t.want("the owner", owner, session.Process{ID: "p", Address: "unix:p"})
	t.clock.move(ttl)
	owner, err = t.store.Owner(t.ctx, "s")
	t.must("owner", err)
	t.want("the owner after its time", owner, session.Process{})
	owner, err = t.store.Owner(t.ctx, "nobody")
	t.must("owner", err)
	t.want("the owner of no session", owner, session.Process{})
}

func onlyLiving(t *trial) {
	if _, err := t.store.Acquire(t.ctx, "s", "never seen"); err == nil {
		t.breaks("a process without a heartbeat acquired a session")
	}
	t.must("heartbeat", t.store.Beat(t.ctx, session.Process{ID: "p"}, ttl))
	t.clock.move(ttl)
	if _, err := t.store.Acquire(t.ctx, "s", "p"); err == nil {
		t.breaks("a process acquired a session after its last heartbeat's time")
	}
}

func lateBeat(t *trial) {
	a, b := t.own("a", "p"), t.own("b", "p")
	t.clock.move(2 * ttl)
	t.must("nobody took it over: append", t.append(a, t.record(1, "")))
	t.own("b", "q")
	t.must("late heartbeat", t.store.Beat(t.ctx, session.Process{ID: "p", Address: "unix:p"}, ttl))
	t.must("append to what was kept", t.append(a, t.record(2, "")))
	t.void("append to what was lost", t.append(b, t.record(1, "")))
	_, err := t.store.Acquire(t.ctx, "b", "p")
	t.void("acquire what another owns by now", err)
}

func freed(t *trial) {
	l := t.own("s", "p")
	t.must("release", t.store.Release(t.ctx, l))
	t.void("append after releasing", t.append(l, t.record(1, "")))
	t.must("release again", t.store.Release(t.ctx, l))
	q := t.own("s", "q")
	if q.Token <= l.Token {
		t.breaks("the token fell from %d to %d", l.Token, q.Token)
	}
	t.must("release of a void lease", t.store.Release(t.ctx, l))
	t.must("which frees nothing: append", t.append(q, t.record(1, "")))
	t.must("leave", t.store.Leave(t.ctx, "q"))
	t.must("leave again", t.store.Leave(t.ctx, "q"))
	t.void("append after leaving", t.append(q, t.record(2, "")))
	t.own("s", "p")
}

func voidLease(t *trial) {
	old := t.own("s", "p")
	t.must("append", t.append(old, t.record(1, "")))
	t.own("s", "p")
	t.void("save", t.store.Save(t.ctx, old, session.Snapshot{Fold: "f", Version: 1, Seq: 1}))
	t.void("remove", t.store.Remove(t.ctx, old))
	child := t.own("child", "p")
	t.own("child", "p")
	t.void("fork", t.store.Fork(t.ctx, session.Fork{Lease: child, Parent: "s", At: 1, Record: t.record(2, "")}))
	t.want("the log", t.shape("s")+t.shape("child"), "1:[] ")
}

var belongings = []promise{
	{name: "the newest snapshot of each fold is kept", clause: "S5", check: snapshots},
	{name: "blobs are a session's own and found by what they are", clause: "S2", check: blobs},
	{name: "sessions are listed, the last changed first", clause: "F5", check: listed},
	{name: "a fork shares a prefix and forgets what it is told to", clause: "S3", check: forked},
	{name: "a fork that can't be made changes nothing", clause: "S3", check: notForked},
	{name: "a removed session is gone and its leases are void", clause: "F5", check: removed},
}

func snapshots(t *trial) {
	l := t.own("s", "p")
	_, err := t.store.Snapshot(t.ctx, "s", "f")
	if !errors.Is(err, session.ErrNotFound) {
		t.breaks("no snapshot: got %v, want ErrNotFound", err)
	}
	for seq := session.Seq(1); seq <= 3; seq++ {
		t.must("append", t.append(l, t.record(seq, "")))
		t.must("save", t.store.Save(t.ctx, l, session.Snapshot{Fold: "f", Version: int(seq), Seq: seq, Data: fmt.Append(nil, "state ", seq)}))
	}
	t.must("save another", t.store.Save(t.ctx, l, session.Snapshot{Fold: "g", Version: 1, Seq: 2, Data: []byte{0, 255}}))
	got, err := t.store.Snapshot(t.ctx, "s", "f")
	t.must("snapshot", err)
	t.want("f", fmt.Sprint(got.Fold, got.Version, got.Seq, string(got.Data)), "f3 3state 3")
	got, err = t.store.Snapshot(t.ctx, "s", "g")
	t.must("snapshot", err)
	t.want("g", fmt.Sprint(got.Fold, got.Version, got.Seq, got.Data), "g1 2 [0 255]")
}

func blobs(t *trial) {
	t.own("s", "p")
	data := []byte{0, 1, 2, 255}
	blob, err := t.store.Put(t.ctx, "s", data)
	t.must("put", err)
	again, err := t.store.Put(t.ctx, "s", data)
	t.must("put again", err)
	t.want("the name", again, blob)
	data[0] = 9
	got, err := t.store.Blob(t.ctx, "s", blob.Digest)
	t.must("blob", err)
	t.want("the bytes, after the caller changed its own", got, "[0 1 2 255]")
	for _, c := range []struct {
		id     session.ID
		digest string
	}{{"s", "sha256:no"}, {"other", blob.Digest}} {
		if _, err := t.store.Blob(t.ctx, c.id, c.digest); !errors.Is(err, session.ErrNotFound) {
			t.breaks("blob %s of %s: got %v, want ErrNotFound", c.digest, c.id, err)
		}
	}
	none, err := t.store.Put(t.ctx, "s", nil)
	t.must("put nothing", err)
	got, err = t.store.Blob(t.ctx, "s", none.Digest)
	t.must("blob of nothing", err)
	t.want("its bytes", len(got), 0)
}

func listed(t *trial) {
	start := t.clock.time()
	seqs := map[session.ID]session.Seq{}
	for _, id := range []session.ID{"a", "b", "c", "a"} {
		t.clock.move(time.Second)
		seqs[id]++
		t.must("append", t.append(t.own(id, "p"), t.record(seqs[id], "")))
	}
	t.own("without a record", "p")
	list, err := t.store.List(t.ctx)
	t.must("list", err)
	var got string
	for _, i := range list {
		got += fmt.Sprintf("%s:%d %v %v; ", i.ID, i.Head, i.Created.Sub(start), i.Changed.Sub(start))
	}
	t.want("the list", got, "a:2 1s 4s; c:1 3s 3s; b:1 2s 2s; ")
}

func forked(t *trial) {
	p := t.own("parent", "p")
	t.must("append", t.append(p, t.record(1, "kept", "kept", "x"), t.record(2, "waiting", "waiting", "x"), t.record(3, "", "waiting"), t.record(4, "later", "x")))
	blob, err := t.store.Put(t.ctx, "parent", []byte("big"))
	t.must("put", err)
	child := t.own("child", "p")
	t.must("fork", t.store.Fork(t.ctx, session.Fork{
		Lease: child, Parent: "parent", At: 3, Forget: []string{"waiting"}, Record: t.record(4, "fork", "x"),
	}))
	t.want("what x finds", t.seqs("child", "x"), "[1 2 4]")
	t.want("what the forgotten key finds", t.seqs("child", "waiting"), "[]")
	t.want("its head", len(t.all("child")), 4)
	t.want("its prefix", string(t.all("child")[0].Data), string(t.all("parent")[0].Data))
	if err := t.append(child, t.record(5, "kept")); !errors.Is(err, session.ErrExists) {
		t.breaks("a claim of the prefix: got %v, want ErrExists", err)
	}
	t.must("a forgotten claim and one from behind the cut", t.append(child, t.record(5, "waiting", "waiting"), t.record(6, "later")))
	t.must("remove the parent", t.store.Remove(t.ctx, p))
	got, err := t.store.Blob(t.ctx, "child", blob.Digest)
	t.must("a blob of the prefix, with the parent gone", err)
	t.want("its bytes", string(got), "big")
	t.want("what x finds, with the parent gone", t.seqs("child", "x"), "[1 2 4]")
}

func notForked(t *trial) {
	p, child := t.own("parent", "p"), t.own("child", "p")
	t.must("append", t.append(p, t.record(1, "k"), t.record(2, "")))
	for what, f := range map[string]session.Fork{
		"no parent":             {Parent: "nobody", At: 1, Record: t.record(2, "")},
		"behind the end":        {Parent: "parent", At: 3, Record: t.record(4, "")},
		"nothing shared":        {Parent: "parent", At: 0, Record: t.record(1, "")},
		"not the next sequence": {Parent: "parent", At: 1, Record: t.record(3, "")},
		"a claim of the prefix": {Parent: "parent", At: 1, Record: t.record(2, "k")},
	} {
		f.Lease = child
		if err := t.store.Fork(t.ctx, f); err == nil {
			t.breaks("%s: the fork was made", what)
		}
		t.want("the child after "+what, t.shape("child"), "")
	}
	t.must("append", t.append(child, t.record(1, "")))
	if err := t.store.Fork(t.ctx, session.Fork{Lease: child, Parent: "parent", At: 1, Record: t.record(2, "")}); err == nil {
		t.breaks("a fork into a session with records was made")
	}
}

func removed(t *trial) {
	l := t.own("s", "p")
	t.must("append", t.append(l, t.record(1, "k", "r")))
	blob, err := t.store.Put(t.ctx, "s", []byte("x"))
	t.must("put", err)
	t.must("save", t.store.Save(t.ctx, l, session.Snapshot{Fold: "f", Version: 1, Seq: 1}))
	t.must("remove", t.store.Remove(t.ctx, l))
	t.void("append after removing", t.append(l, t.record(1, "")))
	t.want("the log and what r finds", t.shape("s")+fmt.Sprint(t.seqs("s", "r")), "[]")
	_, err = t.store.Snapshot(t.ctx, "s", "f")
	_, gone := t.store.Blob(t.ctx, "s", blob.Digest)
	if !errors.Is(err, session.ErrNotFound) || !errors.Is(gone, session.ErrNotFound) {
		t.breaks("its snapshot and blob: got %v and %v, want ErrNotFound", err, gone)
	}
	fresh := t.own("s", "p")
	if fresh.Token <= l.Token {
		t.breaks("the token fell from %d to %d: an old lease could come back to life", l.Token, fresh.Token)
	}
	t.must("the id and its claims anew", t.append(fresh, t.record(1, "k")))
}

var life = []promise{
	{name: "what was appended is there after reopening", clause: "D1 I2", reopens: true, check: survives},
	{name: "leases and tokens outlive the process that had them", clause: "F4", reopens: true, check: tokensSurvive},
	{name: "a closed store says so", clause: "D5", check: closed},
}

func survives(t *trial) {
	l := t.own("s", "p")
	written := t.record(2, "written")
	written.Need = session.Written
	t.must("append", t.append(l, t.record(1, "k", "r")))
	t.must("append what need only be written", t.append(l, written))
	blob, err := t.store.Put(t.ctx, "s", []byte("big"))
	t.must("put", err)
	t.must("append", t.append(l, t.record(3, "", "r")))
	t.must("save", t.store.Save(t.ctx, l, session.Snapshot{Fold: "f", Version: 2, Seq: 3, Data: []byte("state")}))
	before := t.shape("s")
	t.store = t.config.Reopen(t.store)
	t.want("the log", t.shape("s"), before)
	t.want("what r finds", t.seqs("s", "r"), "[1 3]")
	if err := t.append(t.own("s", "p"), t.record(4, "written")); !errors.Is(err, session.ErrExists) {
		t.breaks("claiming again: got %v, want ErrExists", err)
	}
	got, err := t.store.Blob(t.ctx, "s", blob.Digest)
	t.must("blob", err)
	snap, err := t.store.Snapshot(t.ctx, "s", "f")
	t.must("snapshot", err)
	t.want("blob and snapshot", string(got)+" "+string(snap.Data), "big state")
}

func tokensSurvive(t *trial) {
	l := t.own("s", "p")
	t.store = t.config.Reopen(t.store)
	t.must("heartbeat", t.store.Beat(t.ctx, session.Process{ID: "q"}, ttl))
	_, err := t.store.Acquire(t.ctx, "s", "q")
	t.void("acquire while the old process's lease holds", err)
	t.clock.move(ttl)
	taken := t.own("s", "q")
	if taken.Token <= l.Token {
		t.breaks("the token fell from %d to %d", l.Token, taken.Token)
	}
	t.void("append by the process before", t.append(l, t.record(1, "")))
}

func closed(t *trial) {
	l := t.own("s", "p")
	waiting := make(chan error, 1)
	go func() { waiting <- t.store.Wait(context.Background(), "s", 0) }()
	t.must("close", t.store.Close())
	t.must("close again", t.store.Close())
	if err := <-waiting; !errors.Is(err, session.ErrClosed) {
		t.breaks("who waits: got %v, want ErrClosed", err)
	}
	_, read := t.store.Read(t.ctx, "s", 0, 1)
	_, list := t.store.List(t.ctx)
	for what, err := range map[string]error{"append": t.append(l, t.record(1, "")), "read": read, "list": list} {
		if !errors.Is(err, session.ErrClosed) {
			t.breaks("%s: got %v, want ErrClosed", what, err)
		}
	}
}
