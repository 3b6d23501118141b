package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tack-agent/tack/session"
)

func memory(now func() time.Time) session.Store { return session.NewMemory(now) }

func reopenMemory(s session.Store) session.Store { return s.(*session.Memory).Reopen() }

func TestMemoryKeepsItsPromises(t *testing.T) {
	Run(t, Config{New: memory, Reopen: reopenMemory})
}

// bad is a memory store that does one thing wrong.
type bad struct {
	session.Store
	append func(s session.Store, ctx context.Context, a []session.Append) []error
	read   func([]session.Record) []session.Record
	find   func([]session.Record) []session.Record
}

func (b bad) Append(ctx context.Context, a ...session.Append) []error {
	if b.append != nil {
		return b.append(b.Store, ctx, a)
	}
	return b.Store.Append(ctx, a...)
}

func (b bad) Read(ctx context.Context, id session.ID, after session.Seq, limit int) ([]session.Record, error) {
	r, err := b.Store.Read(ctx, id, after, limit)
	if b.read != nil {
		r = b.read(slices.Clone(r))
	}
	return r, err
}

func (b bad) Find(ctx context.Context, id session.ID, ref string) ([]session.Record, error) {
	r, err := b.Store.Find(ctx, id, ref)
	if b.find != nil {
		r = b.find(r)
	}
	return r, err
}

// changed hands on appends with their records changed.
func changed(change func(*session.Record)) func(session.Store, context.Context, []session.Append) []error {
	return func(s session.Store, ctx context.Context, appends []session.Append) []error {
		made := slices.Clone(appends)
		for i := range made {
			made[i].Records = slices.Clone(made[i].Records)
			for j := range made[i].Records {
				change(&made[i].Records[j])
			}
		}
		return s.Append(ctx, made...)
	}
}

func TestTheKitFindsWhatAStoreDoesWrong(t *testing.T) {
	faults := map[string]struct {
		bad    bad
		broken string // a promise that must be found broken
	}{
		"claims are not kept": {bad{append: changed(func(r *session.Record) { r.Claim = "" })}, "a claim is had once"},
		"refs are lost":       {bad{append: changed(func(r *session.Record) { r.Refs = nil })}, "refs find all their records"},
		"data is changed": {bad{append: changed(func(r *session.Record) {
			r.Data = []byte(strings.ToUpper(string(r.Data)))
		})}, "records come back as they were"},
		"time is cut": {bad{append: changed(func(r *session.Record) { r.Time = r.Time.Truncate(time.Second) })}, "records come back as they were"},
		"appends aren't atomic": {bad{append: func(s session.Store, ctx context.Context, appends []session.Append) []error {
			errs := make([]error, len(appends))
			for i, a := range appends {
				for _, r := range a.Records {
					if errs[i] == nil {
						errs[i] = s.Append(ctx, session.Append{Lease: a.Lease, Records: []session.Record{r}})[0]
					}
				}
			}
			return errs
		}}, "what is refused changes nothing"},
		"one session's refusal takes others down": {bad{append: func(s session.Store, ctx context.Context, appends []session.Append) []error {
			errs := s.Append(ctx, appends...)
			for _, err := range errs {
				if err != nil {
					return every(appends, err)
				}
			}
			return errs
		}}, "sessions of one append stand for themselves"},
		"pages repeat their first record": {bad{read: func(r []session.Record) []session.Record {
			if len(r) > 2 {
				r[1] = r[0]
			}
			return r
		}}, "reading goes by pages"},
		"only the first is found": {bad{find: func(r []session.Record) []session.Record { return r[:min(1, len(r))] }}, "refs find all their records"},
		"an ended context is ignored": {bad{append: func(s session.Store, ctx context.Context, appends []session.Append) []error {
			return s.Append(context.WithoutCancel(ctx), appends...)
		}}, "a context that has ended writes nothing"},
		"tokens aren't checked": {bad{append: func(s session.Store, ctx context.Context, appends []session.Append) []error {
			made := slices.Clone(appends)
			for i := range made {
				if p, err := s.Owner(ctx, made[i].Lease.Session); err == nil && p.ID != "" {
					made[i].Lease, _ = s.Acquire(ctx, made[i].Lease.Session, p.ID)
				}
			}
			return s.Append(ctx, made...)
		}}, "a stale writer writes nothing"},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			found := Broken(Config{New: func(now func() time.Time) session.Store {
				b := f.bad
				b.Store = memory(now)
				return b
			}})
			if !slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, f.broken) }) {
				t.Errorf("the kit found %q, want among them that %q is broken", found, f.broken)
			}
		})
	}
}

func TestAFaultHappensOnceWhereItWasPut(t *testing.T) {
	f := NewFaulty(memory(nil))
	ctx := context.Background()
	_ = f.Beat(ctx, session.Process{ID: "p"}, time.Hour)
	lease, err := f.Acquire(ctx, "s", "p")
	if err != nil {
		t.Fatal(err)
	}
	f.Add(2, Fails)
	var got []bool
	for seq := range session.Seq(3) {
		r := session.Record{Seq: seq + 1, Type: "t/t", Version: 1, Data: []byte("{}")}
		if seq == 2 {
			r.Seq = 2
		}
		got = append(got, f.Append(ctx, session.Append{Lease: lease, Records: []session.Record{r}})[0] == nil)
	}
	if want := []bool{true, false, true}; !slices.Equal(got, want) {
		t.Errorf("appends that succeeded: %v, want %v", got, want)
	}
}
