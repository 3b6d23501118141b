package storetest

import (
	"bytes"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func keptPromises() []promise {
	return []promise{
		{"S5 the newest snapshot is kept", newestSnapshot},
		{"S5 a snapshot of another fold version is handed out as such", otherVersion},
		{"S5 no snapshot is ahead of its log", snapshotAhead},
		{"L7 blobs are kept under what they are", blobs},
		{"L7 blobs are their session's own", blobsPerSession},
		{"F5 removing a session deletes all of it and nothing else", removing},
	}
}

// saved checks the snapshot of a fold.
func (t *trial) saved(id session.ID, want session.Snapshot, promise string) {
	t.Helper()
	got, err := t.store.Snapshot(t.ctx, id, want.Fold)
	if err != nil || got.Fold != want.Fold || got.Version != want.Version || got.Seq != want.Seq || !bytes.Equal(got.Data, want.Data) {
		t.Fatalf("%s: got %+v, %v, want %+v", promise, got, err, want)
	}
}

func newestSnapshot(t *trial) {
	lease := t.own("a", "p")
	t.must(lease, notes(1, 9)...)
	_, err := t.store.Snapshot(t.ctx, "a", "f")
	t.wantIs(err, session.ErrNotFound, "S5 no snapshot of a fold")
	_, err = t.store.Snapshot(t.ctx, "none", "f")
	t.wantIs(err, session.ErrNotFound, "S5 no snapshot of no session")

	snap := func(fold string, seq session.Seq, data string) session.Snapshot {
		return session.Snapshot{Fold: fold, Version: 1, Seq: seq, Data: []byte(data)}
	}
	for _, s := range []session.Snapshot{
		snap("f", 3, "three"), snap("g", 9, "other"), snap("f", 7, "seven"), snap("f", 7, "seven, anew"), snap("f", 5, "five"),
	} {
		t.no(t.store.Save(t.ctx, lease, s), "save a snapshot")
	}
	t.saved("a", snap("f", 7, "seven, anew"), "S5 the newest snapshot wins, of one event the last")
	t.saved("a", snap("g", 9, "other"), "S5 each fold has its own snapshot")
	_, err = t.store.Snapshot(t.ctx, "a", "h")
	t.wantIs(err, session.ErrNotFound, "S5 no snapshot of an unknown fold")
}

func otherVersion(t *trial) {
	lease := t.own("a", "p")
	t.must(lease, notes(1, 2)...)
	for _, s := range []session.Snapshot{
		{Fold: "f", Version: 2, Seq: 1, Data: []byte("new")}, {Fold: "f", Version: 1, Seq: 2, Data: []byte{0, 255, '\n'}},
	} {
		t.no(t.store.Save(t.ctx, lease, s), "save")
		t.saved("a", s, "S5 a snapshot keeps its version")
	}
}

func snapshotAhead(t *trial) {
	lease := t.own("a", "p")
	t.must(lease, notes(1, 2)...)
	for _, seq := range []session.Seq{0, 3} {
		err := t.store.Save(t.ctx, lease, session.Snapshot{Fold: "f", Version: 1, Seq: seq})
		t.wantIs(err, session.ErrNotFound, "S5 a snapshot is of an event in the log")
	}
	_, err := t.store.Snapshot(t.ctx, "a", "f")
	t.wantIs(err, session.ErrNotFound, "S5 a snapshot that was refused isn't kept")
}

func blobs(t *trial) {
	for _, data := range [][]byte{[]byte("x"), {}, {0, 255, 10}, bytes.Repeat([]byte("blob"), 1<<18)} {
		for range 2 { // the same again is the same
			got, err := t.store.Put(t.ctx, "a", data)
			if want := chat.BlobOf(data); err != nil || got != want {
				t.Fatalf("L7 a blob is named after its bytes: got %+v, %v, want %+v", got, err, want)
			}
		}
		t.blob("a", data)
	}
	t.noBlob("a", []byte("never put"))
	list, err := t.store.List(t.ctx)
	t.no(err, "list")
	if len(list) != 0 {
		t.Fatalf("a session with blobs alone isn't listed: got %v", list)
	}
	t.must(t.own("a", "p"), note(1))
	t.blob("a", []byte("x"))
}

func (t *trial) blob(id session.ID, data []byte) {
	t.Helper()
	got, err := t.store.Blob(t.ctx, id, chat.BlobOf(data).Digest)
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("L7 session %q has a blob of %d bytes: got %d bytes, error %v", id, len(data), len(got), err)
	}
}

func (t *trial) noBlob(id session.ID, data []byte) {
	t.Helper()
	_, err := t.store.Blob(t.ctx, id, chat.BlobOf(data).Digest)
	t.wantIs(err, session.ErrNotFound, "L7 a session hasn't a blob that wasn't put for it")
}

func (t *trial) put(id session.ID, data string) {
	t.Helper()
	_, err := t.store.Put(t.ctx, id, []byte(data))
	t.no(err, "put a blob")
}

func blobsPerSession(t *trial) {
	t.put("a", "shared")
	t.put("b", "shared")
	t.put("a", "mine")
	t.noBlob("b", []byte("mine"))
	t.noBlob("c", []byte("shared"))
	t.no(t.store.Remove(t.ctx, t.own("a", "p")), "remove")
	t.noBlob("a", []byte("shared"))
	t.blob("b", []byte("shared"))
}

func removing(t *trial) {
	lease, other := t.own("a", "p"), t.own("b", "p")
	for _, l := range []session.Lease{lease, other} {
		t.must(l, claiming(referring(note(1), "r"), "k"), note(2))
		t.no(t.store.Save(t.ctx, l, session.Snapshot{Fold: "f", Version: 1, Seq: 2, Data: []byte("state")}), "save")
		t.put(l.Session, "blob")
	}
	t.no(t.store.Remove(t.ctx, lease), "remove")
	t.gone("a")
	t.must(other, note(3))
	t.finds("b", "r", 1)
	t.blob("b", []byte("blob"))
	t.saved("b", session.Snapshot{Fold: "f", Version: 1, Seq: 2, Data: []byte("state")}, "F5 removing a session is no other's affair")

	t.must(t.own("a", "p"), note(1), claiming(note(2), "k")) // the id may be used anew
	t.no(t.store.Remove(t.ctx, t.own("empty", "p")), "remove a session without records")
}

// gone checks that nothing of session "a" is left.
func (t *trial) gone(id session.ID) {
	t.Helper()
	t.holds(id, nil, "F5 a removed session has no records")
	t.finds(id, "r")
	t.noBlob(id, []byte("blob"))
	t.owner(id, "")
	_, err := t.store.Snapshot(t.ctx, id, "f")
	t.wantIs(err, session.ErrNotFound, "F5 a removed session has no snapshots")
	list, err := t.store.List(t.ctx)
	t.no(err, "list")
	for _, info := range list {
		if info.ID == id {
			t.Fatalf("F5 a removed session isn't listed: got %+v", info)
		}
	}
}
