package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tack-agent/tack/session"
)

func historyPromises() []promise {
	return []promise{{"all promises, in random histories", randomHistories}}
}

// randomHistories plays histories against the model. A seed plays the same one
// again.
func randomHistories(t *trial) {
	n := t.config.Histories
	if n == 0 {
		n = 30
	}
	for range n {
		seed := rand.Uint64()
		h := newHistory(newTrial(&told{TB: t.TB, what: fmt.Sprintf("history of seed %d", seed)}, t.config),
			rand.New(rand.NewPCG(seed, 0)))
		h.play(80)
	}
}

// told is a test that says what was going on when it failed.
type told struct {
	testing.TB
	what  string
	steps []string
}

func (t *told) Fatalf(format string, args ...any) {
	t.Helper()
	t.TB.Fatalf("%s\n%s:\n\t%s", fmt.Sprintf(format, args...), t.what, strings.Join(t.steps, "\n\t"))
}

// dice is where a history takes its choices from.
type dice interface{ IntN(n int) int }

// history is one that is being played.
type history struct {
	*trial
	dice dice
	m    *model
}

func newHistory(t *trial, d dice) *history {
	return &history{trial: t, dice: d, m: newModel(t.clock.Now())}
}

// pick chooses one of a list.
func pick[T any](h *history, of []T) T { return of[h.dice.IntN(len(of))] }

func (h *history) id() session.ID { return pick(h, []session.ID{"a", "b", "c", "d"}) }

func (h *history) key() string { return pick(h, []string{"", "k1", "k2", "k3", "k4"}) }

func (h *history) process() string { return pick(h, []string{"p", "q"}) }

// say notes what comes next, for who has to find the fault.
func (h *history) say(format string, args ...any) {
	if t, is := h.TB.(*told); is {
		t.steps = append(t.steps, fmt.Sprintf(format, args...))
	}
}

func (h *history) play(steps int) {
	acts := []func(){
		h.append, h.append, h.append, h.append, h.append, h.acquire, h.acquire, h.beat, h.beat,
		h.wait, h.fork, h.save, h.put, h.release, h.leave, h.remove, h.reopen,
	}
	h.beat()
	for range 6 {
		h.acquire()
	}
	for range steps {
		pick(h, acts)()
		h.check(h.id())
	}
	h.list()
}

func (h *history) beat() {
	p := h.process()
	h.say("beat %s", p)
	h.trial.beat(p)
	h.m.processes[p] = h.m.now.Add(ttl)
}

func (h *history) wait() {
	d := pick(h, []time.Duration{time.Second, ttl / 2, ttl})
	h.say("%v go by", d)
	h.clock.Advance(d)
	h.m.now = h.m.now.Add(d)
}

func (h *history) acquire() {
	id, p := h.id(), h.process()
	h.say("acquire %s for %s", id, p)
	lease, err := h.store.Acquire(h.ctx, id, p)
	owner := h.m.owner(id)
	switch {
	case !h.m.lives(p):
		if err == nil {
			h.Fatalf("F4 a process that doesn't live acquires nothing: got %+v", lease)
		}
	case owner != "" && owner != p:
		h.wantNotOwner(err, id, owner)
	default:
		h.no(err, "F4 acquire a free session")
		for _, old := range h.m.dead {
			if old.Session == id && old.Token >= lease.Token {
				h.Fatalf("F4 each owner has a higher token: got %d after %d", lease.Token, old.Token)
			}
		}
		if s := h.m.session(id); lease.Head != s.head() {
			h.Fatalf("F4 a lease knows the head: got %d, want %d", lease.Head, s.head())
		}
		h.m.free(id)
		h.m.session(id).lease = lease
	}
}

// lease chooses one of id, good or void.
func (h *history) lease(id session.ID) session.Lease {
	var void []session.Lease
	for _, l := range h.m.dead {
		if l.Session == id {
			void = append(void, l)
		}
	}
	good := h.m.session(id).lease
	if good.Token == 0 && len(void) == 0 {
		return session.Lease{Session: id, Process: "p", Token: 1 << 40}
	}
	if good.Token == 0 || len(void) > 0 && h.dice.IntN(5) == 0 {
		return pick(h, void)
	}
	return good
}

// records makes some that follow head, as a rule.
func (h *history) records(head session.Seq) []session.Record {
	var out []session.Record
	for i := range h.dice.IntN(4) + 1 {
		r := note(head + session.Seq(i) + 1)
		if h.dice.IntN(16) == 0 {
			r.Seq += session.Seq(h.dice.IntN(3))
			r.Seq -= min(r.Seq, 1)
		}
		r.Data = fmt.Appendf(nil, `{"step":%d}`, h.dice.IntN(1e6))
		if h.dice.IntN(3) == 0 {
			r.Claim = h.key()
		}
		for range h.dice.IntN(3) {
			if ref := h.key(); ref != "" && !slices.Contains(r.Refs, ref) {
				r.Refs = append(r.Refs, ref)
			}
		}
		if h.dice.IntN(2) == 0 {
			r.Need = session.Written
		}
		out = append(out, r)
	}
	return out
}

func (h *history) append() {
	var appends []session.Append
	for range h.dice.IntN(3) + 1 {
		id := h.id()
		if !slices.ContainsFunc(appends, func(a session.Append) bool { return a.Lease.Session == id }) {
			appends = append(appends, session.Append{Lease: h.lease(id), Records: h.records(h.m.session(id).head())})
		}
	}
	for _, a := range appends {
		h.say("append to %s by token %d:%s", a.Lease.Session, a.Lease.Token, brief(a.Records))
	}
	for i, err := range h.tryAll(appends...) {
		a := appends[i]
		v := h.m.judge(a.Lease, a.Records)
		h.wantVerdict(err, a.Lease.Session, v)
		if s := h.m.session(a.Lease.Session); v.ok() {
			s.records = append(s.records, a.Records...)
		}
	}
}

func brief(records []session.Record) string {
	var out strings.Builder
	for _, r := range records {
		fmt.Fprintf(&out, " %d", r.Seq)
		if r.Claim != "" {
			fmt.Fprintf(&out, " claims %s", r.Claim)
		}
		if len(r.Refs) > 0 {
			fmt.Fprintf(&out, " refs %v", r.Refs)
		}
	}
	return out.String()
}

func (h *history) wantVerdict(err error, id session.ID, v verdict) {
	h.Helper()
	switch {
	case v.ok():
		h.no(err, "an append or fork that nothing speaks against")
	case v.void:
		h.wantNotOwner(err, id, h.m.owner(id))
	case v.missing:
		h.wantIs(err, session.ErrNotFound, "S3 a fork of what isn't there")
	case v.claim != "":
		h.wantExists(err, v.claim, v.seq)
	default:
		h.wantGap(err, id, v.got, v.want)
	}
}

func (h *history) fork() {
	child, parent := h.id(), h.id()
	at := session.Seq(h.dice.IntN(int(h.m.session(parent).head())+2)) + 1
	f := session.Fork{Lease: h.lease(child), Parent: parent, At: at, Record: forked(at)}
	if key := h.key(); key != "" {
		f.Forget = []string{key}
	}
	if h.dice.IntN(3) == 0 {
		f.Record.Claim = h.key()
	}
	h.say("fork %s by token %d from %s at %d, forgetting %v:%s", child, f.Lease.Token, parent, at, f.Forget, brief([]session.Record{f.Record}))
	h.wantVerdict(h.store.Fork(h.ctx, f), child, h.m.fork(f))
}

func (h *history) save() {
	id := h.id()
	s, lease := h.m.session(id), h.lease(id)
	snap := session.Snapshot{
		Fold: pick(h, []string{"f", "g"}), Version: h.dice.IntN(3), Seq: session.Seq(h.dice.IntN(int(s.head()) + 2)),
		Data: fmt.Appendf(nil, "%d", h.dice.IntN(1000)),
	}
	h.say("save %s of %s by token %d: event %d, %s", snap.Fold, id, lease.Token, snap.Seq, snap.Data)
	err := h.store.Save(h.ctx, lease, snap)
	switch {
	case lease.Token != s.lease.Token:
		h.wantNotOwner(err, id, h.m.owner(id))
	case snap.Seq == 0 || snap.Seq > s.head():
		h.wantIs(err, session.ErrNotFound, "S5 a snapshot is of an event in the log")
	default:
		h.no(err, "save a snapshot")
		if old, kept := s.snapshots[snap.Fold]; !kept || old.Seq <= snap.Seq {
			s.snapshots[snap.Fold] = snap
		}
	}
}

func (h *history) put() {
	id, data := h.id(), pick(h, []string{"one", "two", ""})
	h.say("put %q for %s", data, id)
	h.trial.put(id, data)
	h.m.session(id).blobs[data] = true
}

func (h *history) release() {
	lease := h.lease(h.id())
	h.say("release %s by token %d", lease.Session, lease.Token)
	h.no(h.store.Release(h.ctx, lease), "release")
	if h.m.session(lease.Session).lease.Token == lease.Token {
		h.m.free(lease.Session)
	}
}

func (h *history) leave() {
	if h.dice.IntN(3) > 0 {
		return
	}
	p := h.process()
	h.say("%s leaves", p)
	h.no(h.store.Leave(h.ctx, p), "leave")
	delete(h.m.processes, p)
	for id, s := range h.m.sessions {
		if s.lease.Process == p {
			h.m.free(id)
		}
	}
}

func (h *history) remove() {
	if h.dice.IntN(3) > 0 {
		return
	}
	lease := h.lease(h.id())
	h.say("remove %s by token %d", lease.Session, lease.Token)
	owner := h.m.owner(lease.Session)
	err := h.store.Remove(h.ctx, lease)
	if h.m.remove(lease) {
		h.no(err, "remove")
	} else {
		h.wantNotOwner(err, lease.Session, owner)
	}
}

func (h *history) reopen() {
	if h.config.Reopen == nil || h.dice.IntN(3) > 0 {
		return
	}
	h.say("reopen")
	h.store = h.config.Reopen(h, h.store, h.clock)
}

// check compares all there is of a session.
func (h *history) check(id session.ID) {
	h.Helper()
	s := h.m.session(id)
	after := session.Seq(h.dice.IntN(int(s.head()) + 1))
	got := h.readAfter(id, after, h.dice.IntN(7)+1)
	h.same(s.known(got), s.known(s.records[after:]), fmt.Sprintf("session %q read after %d", id, after))
	for _, ref := range []string{"k1", "k2", "k3", "k4"} {
		h.finds(id, ref, s.refs(ref)...)
	}
	h.owner(id, h.m.owner(id))
	for _, fold := range []string{"f", "g"} {
		if snap, kept := s.snapshots[fold]; kept {
			h.saved(id, snap, "S5 the newest snapshot")
		} else {
			_, err := h.store.Snapshot(h.ctx, id, fold)
			h.wantIs(err, session.ErrNotFound, "S5 no snapshot was saved")
		}
	}
	for _, data := range []string{"one", "two", ""} {
		if s.blobs[data] {
			h.blob(id, []byte(data))
		} else {
			h.noBlob(id, []byte(data))
		}
	}
}

func (h *history) list() {
	h.say("list")
	got, err := h.store.List(h.ctx)
	h.no(err, "list")
	want := 0
	for id, s := range h.m.sessions {
		if s.head() == 0 {
			continue
		}
		want++
		info := session.Info{ID: id, Head: s.head(), Created: s.records[0].Time, Changed: s.records[s.head()-1].Time}
		if !slices.ContainsFunc(got, func(i session.Info) bool { return sameInfo(i, info) }) {
			h.Fatalf("F5 the list has every session: got %v, want also %v", got, info)
		}
	}
	if len(got) != want {
		h.Fatalf("F5 the list has no others: got %v, want %d", got, want)
	}
}
