package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tack-agent/tack/session"
)

// trial is one test of one store.
type trial struct {
	testing.TB
	config Config
	clock  *Clock
	store  session.Store
	ctx    context.Context //nolint:containedctx // a trial is a lifetime
}

// ttl is how long a heartbeat of the trials lasts.
const ttl = time.Minute

func newTrial(t testing.TB, c Config) *trial {
	clock := NewClock()
	return &trial{TB: t, config: c, clock: clock, store: c.New(t, clock), ctx: patient(t)}
}

// note is a durable record.
func note(seq session.Seq) session.Record {
	return session.Record{
		Seq: seq, Type: "test/noted", Version: 1, Need: session.Durable,
		Time: NewClock().Now().Add(time.Duration(seq) * time.Second),
		Data: fmt.Appendf(nil, `{"note":%d}`, seq),
	}
}

func claiming(r session.Record, key string) session.Record { r.Claim = key; return r }

func referring(r session.Record, refs ...string) session.Record { r.Refs = refs; return r }

func written(r session.Record) session.Record { r.Need = session.Written; return r }

// notes are the records from one sequence to another.
func notes(from, to session.Seq) []session.Record {
	var all []session.Record
	for seq := from; seq <= to; seq++ {
		all = append(all, note(seq))
	}
	return all
}

// beat lets a process live for another ttl.
func (t *trial) beat(process string) {
	t.Helper()
	if err := t.store.Beat(t.ctx, session.Process{ID: process, Address: address(process)}, ttl); err != nil {
		t.Fatalf("beat of process %s: %v", process, err)
	}
}

func address(process string) string { return "unix:/run/tack/" + process }

// own makes a process live and own a session.
func (t *trial) own(id session.ID, process string) session.Lease {
	t.Helper()
	t.beat(process)
	lease, err := t.store.Acquire(t.ctx, id, process)
	if err != nil {
		t.Fatalf("acquire session %q for process %s, which lives, while nobody else has it: %v", id, process, err)
	}
	if lease.Session != id || lease.Process != process || lease.Token == 0 {
		t.Fatalf("acquire session %q for process %s: got lease %+v", id, process, lease)
	}
	return lease
}

// try appends records and returns the answer.
func (t *trial) try(lease session.Lease, records ...session.Record) error {
	t.Helper()
	return t.tryAll(session.Append{Lease: lease, Records: records})[0]
}

func (t *trial) tryAll(appends ...session.Append) []error {
	t.Helper()
	errs := t.store.Append(t.ctx, appends...)
	if len(errs) != len(appends) {
		t.Fatalf("append returns an answer for each append: got %d for %d", len(errs), len(appends))
	}
	return errs
}

// must appends records, which nothing speaks against.
func (t *trial) must(lease session.Lease, records ...session.Record) {
	t.Helper()
	if err := t.try(lease, records...); err != nil {
		t.Fatalf("append %d valid records from %d to session %q: %v", len(records), first(records), lease.Session, err)
	}
}

func first(records []session.Record) session.Seq {
	if len(records) == 0 {
		return 0
	}
	return records[0].Seq
}

// read returns all records of a session.
func (t *trial) read(id session.ID) []session.Record {
	t.Helper()
	return t.readAfter(id, 0, 100)
}

// readAfter reads to the head, and checks the pages.
func (t *trial) readAfter(id session.ID, after session.Seq, limit int) []session.Record {
	t.Helper()
	var all []session.Record
	for {
		page, err := t.store.Read(t.ctx, id, after, limit)
		if err != nil {
			t.Fatalf("read session %q after %d: %v", id, after, err)
		}
		if len(page) == 0 {
			return all
		}
		if len(page) > limit {
			t.Fatalf("read of session %q has at most limit records: got %d of %d", id, len(page), limit)
		}
		for _, r := range page {
			if after++; r.Seq != after {
				t.Fatalf("read of session %q is in order and without a gap: got event %d, want %d", id, r.Seq, after)
			}
		}
		all = append(all, page...)
	}
}

// holds checks that a session has these records and no others.
func (t *trial) holds(id session.ID, want []session.Record, promise string) {
	t.Helper()
	t.same(t.read(id), want, fmt.Sprintf("session %q: %s", id, promise))
}

func (t *trial) same(got, want []session.Record, promise string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if d := difference(got[i], want[i]); d != "" {
			t.Fatalf("%s: event %d reads back as it was appended: %s", promise, want[i].Seq, d)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: got %d records, want %d", promise, len(got), len(want))
	}
}

// difference says how a record reads back otherwise than it was appended.
func difference(got, want session.Record) string {
	d := got.Time.Sub(want.Time).Abs()
	switch {
	case got.Seq != want.Seq:
		return fmt.Sprintf("got sequence %d, want %d", got.Seq, want.Seq)
	case got.Type != want.Type || got.Version != want.Version:
		return fmt.Sprintf("got %q version %d, want %q version %d", got.Type, got.Version, want.Type, want.Version)
	case !bytes.Equal(got.Data, want.Data):
		return fmt.Sprintf("got data %.200q, want %.200q", got.Data, want.Data)
	case d >= time.Microsecond:
		return fmt.Sprintf("got time %v, want %v to the microsecond", got.Time, want.Time)
	case got.Time.Location() != time.UTC:
		return fmt.Sprintf("got a time in %v, want UTC", got.Time.Location())
	case got.Claim != want.Claim:
		return fmt.Sprintf("got claim %q, want %q", got.Claim, want.Claim)
	case !slices.Equal(got.Refs, want.Refs):
		return fmt.Sprintf("got refs %q, want %q", got.Refs, want.Refs)
	}
	return ""
}

// finds checks which events a session has for a ref.
func (t *trial) finds(id session.ID, ref string, want ...session.Seq) {
	t.Helper()
	records, err := t.store.Find(t.ctx, id, ref)
	if err != nil {
		t.Fatalf("find %q in session %q: %v", ref, id, err)
	}
	if got := seqs(records); !slices.Equal(got, want) {
		t.Fatalf("S1 find returns the records that have the ref, in order: session %q, %q: got events %v, want %v", id, ref, got, want)
	}
}

func seqs(records []session.Record) []session.Seq {
	var all []session.Seq
	for _, r := range records {
		all = append(all, r.Seq)
	}
	return all
}

// wantGap checks the answer to records that don't follow the log.
func (t *trial) wantGap(err error, id session.ID, got, want session.Seq) {
	t.Helper()
	var gap *session.GapError
	switch {
	case !errors.As(err, &gap) || !errors.Is(err, session.ErrGap):
		t.Fatalf("S2 sequences that don't follow the log are a *GapError: got %v", err)
	case gap.Session != id || gap.Got != got || gap.Want != want:
		t.Fatalf("S2 a GapError names the first wrong sequence and the right one: got %+v, want {Session:%s Got:%d Want:%d}", *gap, id, got, want)
	}
}

// wantExists checks the answer to a claim that is taken.
func (t *trial) wantExists(err error, claim string, seq session.Seq) {
	t.Helper()
	var exists *session.ExistsError
	switch {
	case !errors.As(err, &exists) || !errors.Is(err, session.ErrExists):
		t.Fatalf("S1 a claim that is taken, %q, is an *ExistsError: got %v", claim, err)
	case exists.Claim != claim || exists.Seq != seq:
		t.Fatalf("S1 an ExistsError names the claim and the event that has it: got %+v, want {Claim:%s Seq:%d}", *exists, claim, seq)
	}
}

// wantNotOwner checks the answer to a void lease. An owner without an id means
// that nobody may be named.
func (t *trial) wantNotOwner(err error, id session.ID, owner string) {
	t.Helper()
	var not *session.NotOwnerError
	if !errors.As(err, &not) || !errors.Is(err, session.ErrNotOwner) {
		t.Fatalf("F4 who doesn't own session %q gets a *NotOwnerError: got %v", id, err)
	}
	want := session.Process{ID: owner}
	if owner != "" {
		want.Address = address(owner)
	}
	if not.Session != id || not.Owner != want {
		t.Fatalf("F4 a NotOwnerError says who owns the session and where it is reached: got %+v, want {Session:%s Owner:%+v}", *not, id, want)
	}
}

// wantIs checks for a sentinel.
func (t *trial) wantIs(err, want error, promise string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: got error %v, want %v", promise, err, want)
	}
}

func (t *trial) no(err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
