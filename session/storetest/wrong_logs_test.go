package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tack-agent/tack/session"
)

func wrongAppends() []breakage {
	return []breakage{
		{"claims are ignored", "S1 a claim is one event's for ever", func(w *wrong, m *session.Memory) {
			w.each(m, func(r *session.Record) { r.Claim = "" })
		}},
		{"claims may come twice in an append", "S1 a claim can be had once in an append", func(w *wrong, m *session.Memory) {
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				err := m.Append(ctx, a)[0]
				var exists *session.ExistsError
				if errors.As(err, &exists) && exists.Seq >= first(a.Records) {
					for i := range a.Records {
						a.Records[i].Claim = ""
					}
					return m.Append(ctx, a)[0]
				}
				return err
			})
		}},
		{"claims are shared by all sessions", "S1 a claim is its session's own", func(w *wrong, m *session.Memory) {
			taken := map[string]session.ID{}
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				for _, r := range a.Records {
					if id := taken[r.Claim]; r.Claim != "" && id != "" && id != a.Lease.Session {
						return &session.ExistsError{Claim: r.Claim, Seq: r.Seq}
					}
					taken[r.Claim] = a.Lease.Session
				}
				return m.Append(ctx, a)[0]
			})
		}},
		{"claims are looked up, then taken", "S1 of 64 that claim at once one wins", func(w *wrong, m *session.Memory) {
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				stripped := session.Append{Lease: a.Lease}
				for _, r := range a.Records {
					all, _ := m.Read(ctx, a.Lease.Session, 0, 1000)
					if slices.ContainsFunc(all, func(old session.Record) bool { return string(old.Data) == string(r.Data) }) {
						return &session.ExistsError{Claim: r.Claim, Seq: 1}
					}
					r.Claim = ""
					stripped.Records = append(stripped.Records, r)
				}
				return m.Append(ctx, stripped)[0]
			})
		}},
		{"an append is written one by one", "S2 a refused append changes nothing", func(w *wrong, m *session.Memory) {
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				for i := range a.Records {
					if err := m.Append(ctx, session.Append{Lease: a.Lease, Records: a.Records[i : i+1]})[0]; err != nil {
						return err
					}
				}
				return nil
			})
		}},
		{"sequences are made up", "S2 sequences are consecutive from 1", func(w *wrong, m *session.Memory) {
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				lease := w.leases[a.Lease.Session]
				all, _ := m.Read(ctx, lease.Session, 0, 1000)
				a.Records = slices.Clone(a.Records)
				for i := range a.Records {
					a.Records[i].Seq = session.Seq(len(all) + i + 1)
				}
				return m.Append(ctx, a)[0]
			})
		}},
		{"refs beyond the first are lost", "S1 a record is found by each of its refs, in order", func(w *wrong, m *session.Memory) {
			w.each(m, func(r *session.Record) { r.Refs = r.Refs[:min(1, len(r.Refs))] })
		}},
		{"claims are taken for refs", "S1 claims and refs don't mix", func(w *wrong, m *session.Memory) {
			w.each(m, func(r *session.Record) { r.Refs = append(slices.Clone(r.Refs), r.Claim) })
		}},
		{"one refusal refuses the call", "F5 of many appends in one call, a refused one touches no other", func(w *wrong, m *session.Memory) {
			var stop error
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				if stop == nil {
					stop = m.Append(ctx, a)[0]
				}
				return stop
			})
		}},
		{"an ended context appends", "D4 a context that has ended appends nothing", func(w *wrong, m *session.Memory) {
			w.append = func(ctx context.Context, a ...session.Append) []error {
				return m.Append(context.WithoutCancel(ctx), a...)
			}
		}},
		{"times are kept to the second", "L11 times are kept to the microsecond", func(w *wrong, m *session.Memory) {
			w.each(m, func(r *session.Record) { r.Time = r.Time.Truncate(time.Second) })
		}},
		{"data is encoded anew", "S2 data is kept byte for byte", func(w *wrong, m *session.Memory) {
			w.each(m, func(r *session.Record) {
				var v any
				_ = json.Unmarshal(r.Data, &v)
				r.Data, _ = json.Marshal(v)
			})
		}},
		{"big records are cut", "S2 a record of a megabyte", func(w *wrong, m *session.Memory) {
			w.each(m, func(r *session.Record) { r.Data = r.Data[:min(len(r.Data), 1<<16)] })
		}},
		{"empty appends aren't fenced", "S2 an append without records only checks the lease", func(w *wrong, m *session.Memory) {
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				if len(a.Records) == 0 {
					return nil
				}
				return m.Append(ctx, a)[0]
			})
		}},
		{"ids don't know their case", "F5 sessions and keys are told apart whatever their ids", func(w *wrong, m *session.Memory) {
			w.acquire = func(ctx context.Context, id session.ID, p string) (session.Lease, error) {
				l, err := m.Acquire(ctx, session.ID(strings.ToLower(string(id))), p)
				l.Session = id
				return l, err
			}
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				a.Lease.Session = session.ID(strings.ToLower(string(a.Lease.Session)))
				return m.Append(ctx, a)[0]
			})
		}},
	}
}

func wrongReads() []breakage {
	return []breakage{
		{"reading repeats the cursor's record", "I2 reading from a cursor misses nothing", func(w *wrong, m *session.Memory) {
			w.read = func(ctx context.Context, id session.ID, after session.Seq, limit int) ([]session.Record, error) {
				return m.Read(ctx, id, max(after, 1)-1, limit)
			}
		}},
		{"reading ignores the limit", "I2 reading from a cursor misses nothing", func(w *wrong, m *session.Memory) {
			w.read = func(ctx context.Context, id session.ID, after session.Seq, _ int) ([]session.Record, error) {
				return m.Read(ctx, id, after, 1000)
			}
		}},
		{"reading ends a record early", "I2 reading from a cursor misses nothing", func(w *wrong, m *session.Memory) {
			w.read = func(ctx context.Context, id session.ID, after session.Seq, limit int) ([]session.Record, error) {
				all, err := m.Read(ctx, id, after, limit)
				return all[:max(len(all), 1)-min(len(all), 1)], err
			}
		}},
		{"local times come back", "S2 what is appended reads back as it was", func(w *wrong, m *session.Memory) {
			w.read = func(ctx context.Context, id session.ID, after session.Seq, limit int) ([]session.Record, error) {
				all, err := m.Read(ctx, id, after, limit)
				all = slices.Clone(all)
				for i := range all {
					all[i].Time = all[i].Time.In(time.FixedZone("here", 3600))
				}
				return all, err
			}
		}},
		{"what is found comes backwards", "S1 a record is found by each of its refs, in order", func(w *wrong, m *session.Memory) {
			w.find = func(ctx context.Context, id session.ID, ref string) ([]session.Record, error) {
				all, err := m.Find(ctx, id, ref)
				slices.Reverse(all)
				return all, err
			}
		}},
		{"the list is backwards", "F5 the list has each session once, the last changed first", func(w *wrong, m *session.Memory) {
			w.list = func(ctx context.Context) ([]session.Info, error) {
				all, err := m.List(ctx)
				slices.Reverse(all)
				return all, err
			}
		}},
		{"wait sees only what comes", "I2 wait returns for what is there", func(w *wrong, m *session.Memory) {
			w.wait = func(ctx context.Context, id session.ID, after session.Seq) error {
				all, _ := m.Read(ctx, id, 0, 1000)
				return m.Wait(ctx, id, max(after, session.Seq(len(all))))
			}
		}},
		{"wait wakes for anything", "I2 wait wakes for what comes, and for nothing else", func(w *wrong, _ *session.Memory) {
			w.wait = func(context.Context, session.ID, session.Seq) error { return nil }
		}},
		{"wait loses wakes", "I2 no wake is lost", func(w *wrong, m *session.Memory) {
			w.wait = func(ctx context.Context, id session.ID, after session.Seq) error {
				if after == 17 {
					after++ // as if it had looked too late
				}
				return m.Wait(ctx, id, after)
			}
		}},
		{"wait ends as if there were something", "D4 wait ends with its context", func(w *wrong, m *session.Memory) {
			w.wait = func(ctx context.Context, id session.ID, after session.Seq) error {
				_ = m.Wait(ctx, id, after)
				return nil
			}
		}},
	}
}
