package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func wrongLeases() []breakage {
	return []breakage{
		{"tokens are ignored", "F4 a stale writer is refused after a takeover", func(w *wrong, m *session.Memory) {
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				a.Lease = w.leases[a.Lease.Session]
				return m.Append(ctx, a)[0]
			})
		}},
		{"processes are checked, tokens aren't", "F4 an owner that acquires anew voids its older lease", func(w *wrong, m *session.Memory) {
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				if l := w.leases[a.Lease.Session]; l.Process == a.Lease.Process {
					a.Lease = l
				}
				return m.Append(ctx, a)[0]
			})
		}},
		{"the address is kept back", "F4 a session has one owner, and who asks is told where", func(w *wrong, m *session.Memory) {
			w.acquire = func(ctx context.Context, id session.ID, p string) (session.Lease, error) {
				l, err := m.Acquire(ctx, id, p)
				var not *session.NotOwnerError
				if errors.As(err, &not) {
					not.Owner.Address = ""
				}
				return l, err
			}
		}},
		{"the dead acquire", "F4 a process must beat to acquire", func(w *wrong, m *session.Memory) {
			w.acquire = func(ctx context.Context, id session.ID, p string) (session.Lease, error) {
				_ = m.Beat(ctx, session.Process{ID: p}, time.Hour)
				return m.Acquire(ctx, id, p)
			}
		}},
		{"whoever acquires gets it", "F4 of 16 processes that acquire at once one wins", func(w *wrong, m *session.Memory) {
			w.acquire = func(ctx context.Context, id session.ID, p string) (session.Lease, error) {
				l, err := m.Acquire(ctx, id, p)
				if err == nil {
					_ = m.Release(ctx, l)
				}
				return l, err
			}
		}},
		{"the late may not write", "F4 without a takeover a late process goes on writing", func(w *wrong, m *session.Memory) {
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				if p, _ := m.Owner(ctx, a.Lease.Session); p.ID == "" {
					return &session.NotOwnerError{Session: a.Lease.Session}
				}
				return m.Append(ctx, a)[0]
			})
		}},
		{"late heartbeats are lost", "F4 a late heartbeat makes a process live again", func(w *wrong, m *session.Memory) {
			known := map[string]bool{}
			w.beat = func(ctx context.Context, p session.Process, ttl time.Duration) error {
				if known[p.ID] {
					return nil
				}
				known[p.ID] = true
				return m.Beat(ctx, p, ttl)
			}
		}},
		{"who leaves keeps its sessions", "F4 leaving frees all sessions at once", func(w *wrong, _ *session.Memory) {
			w.leave = func(context.Context, string) error { return nil }
		}},
		{"nothing is released", "F4 releasing frees one session", func(w *wrong, _ *session.Memory) {
			w.release = func(context.Context, session.Lease) error { return nil }
		}},
		{"a void lease releases", "F4 releasing a void lease harms nobody", func(w *wrong, m *session.Memory) {
			w.release = func(ctx context.Context, l session.Lease) error { return m.Release(ctx, w.leases[l.Session]) }
		}},
		{"a void lease saves", "F4 a void lease saves, forks and removes nothing", func(w *wrong, m *session.Memory) {
			w.save = func(ctx context.Context, l session.Lease, s session.Snapshot) error {
				return m.Save(ctx, w.leases[l.Session], s)
			}
		}},
		{"a void lease removes", "F4 a void lease saves, forks and removes nothing", func(w *wrong, m *session.Memory) {
			w.remove = func(ctx context.Context, l session.Lease) error { return m.Remove(ctx, w.leases[l.Session]) }
		}},
		{"leases don't know the head", "S2 what is appended reads back as it was", func(w *wrong, m *session.Memory) {
			w.acquire = func(ctx context.Context, id session.ID, p string) (session.Lease, error) {
				l, err := m.Acquire(ctx, id, p)
				l.Head = 0
				return l, err
			}
		}},
		{"tokens begin anew after a remove", "F4 a removed session's leases are void for ever", func(w *wrong, m *session.Memory) {
			w.append = eachAppend(func(ctx context.Context, a session.Append) error {
				if l := w.leases[a.Lease.Session]; l.Head == 0 && l.Process == a.Lease.Process {
					a.Lease = l
				}
				return m.Append(ctx, a)[0]
			})
		}},
	}
}

func wrongKeeping() []breakage {
	return []breakage{
		{"the last snapshot wins", "S5 the newest snapshot is kept", func(w *wrong, _ *session.Memory) {
			saved := map[string]session.Snapshot{}
			w.save = func(_ context.Context, _ session.Lease, s session.Snapshot) error { saved[s.Fold] = s; return nil }
			w.snapshot = func(_ context.Context, _ session.ID, fold string) (session.Snapshot, error) {
				if s, ok := saved[fold]; ok {
					return s, nil
				}
				return session.Snapshot{}, session.ErrNotFound
			}
		}},
		{"snapshots lose their version", "S5 a snapshot of another fold version is handed out as such", func(w *wrong, m *session.Memory) {
			w.save = func(ctx context.Context, l session.Lease, s session.Snapshot) error {
				s.Version = 1
				return m.Save(ctx, l, s)
			}
		}},
		{"no snapshot is the zero one", "S5 the newest snapshot is kept", func(w *wrong, m *session.Memory) {
			w.snapshot = func(ctx context.Context, id session.ID, fold string) (session.Snapshot, error) {
				s, _ := m.Snapshot(ctx, id, fold)
				return s, nil
			}
		}},
		{"snapshots run ahead", "S5 no snapshot is ahead of its log", func(w *wrong, m *session.Memory) {
			w.save = func(ctx context.Context, l session.Lease, s session.Snapshot) error {
				s.Seq = min(s.Seq, 2)
				return m.Save(ctx, l, s)
			}
		}},
		{"blobs are everybody's", "L7 blobs are their session's own", func(w *wrong, m *session.Memory) {
			w.put = func(ctx context.Context, _ session.ID, data []byte) (chat.Blob, error) {
				return m.Put(ctx, "all", data)
			}
			w.blob = func(ctx context.Context, _ session.ID, d string) ([]byte, error) { return m.Blob(ctx, "all", d) }
		}},
		{"empty blobs are no blobs", "L7 blobs are kept under what they are", func(w *wrong, m *session.Memory) {
			w.blob = func(ctx context.Context, id session.ID, d string) ([]byte, error) {
				b, err := m.Blob(ctx, id, d)
				if err == nil && len(b) == 0 {
					err = session.ErrNotFound
				}
				return b, err
			}
		}},
		{"forks forget nothing", "S3 a fork takes over claims, but for those it forgets", func(w *wrong, m *session.Memory) {
			w.fork = func(ctx context.Context, f session.Fork) error { f.Forget = nil; return m.Fork(ctx, f) }
		}},
		{"forks forget all", "S3 a fork takes over claims, but for those it forgets", func(w *wrong, m *session.Memory) {
			w.fork = func(ctx context.Context, f session.Fork) error {
				f.Forget = []string{"message/1", "message/2", "message/3"}
				return m.Fork(ctx, f)
			}
		}},
		{"forks end with their prefix", "S3 a fork shares the prefix at its sequences", func(w *wrong, m *session.Memory) {
			w.fork = func(ctx context.Context, f session.Fork) error { f.At--; f.Record.Seq--; return m.Fork(ctx, f) }
		}},
		{"a fork goes into what is there", "S3 a fork that may not be changes nothing", func(w *wrong, m *session.Memory) {
			w.fork = func(ctx context.Context, f session.Fork) error {
				if errors.Is(m.Fork(ctx, f), session.ErrGap) {
					return nil
				}
				return m.Fork(ctx, f)
			}
		}},
		{"removing is hiding", "F5 removing a session deletes all of it and nothing else", func(w *wrong, m *session.Memory) {
			w.remove = func(ctx context.Context, l session.Lease) error { return m.Release(ctx, l) }
		}},
		{"removing takes the forks too", "S3 a fork outlives its parent", func(w *wrong, m *session.Memory) {
			w.remove = func(ctx context.Context, l session.Lease) error {
				_ = m.Remove(ctx, w.leases["child"])
				return m.Remove(ctx, l)
			}
		}},
		{"closing does nothing", "C11 a closed store answers ErrClosed", func(w *wrong, _ *session.Memory) {
			w.close = func() error { return nil }
		}},
		{"closing twice is an error", "C11 a closed store answers ErrClosed", func(w *wrong, m *session.Memory) {
			n := 0
			w.close = func() error {
				if n++; n > 1 {
					return session.ErrClosed
				}
				return m.Close()
			}
		}},
		{"closing forgets who waits", "C11 closing ends those that wait", func(w *wrong, m *session.Memory) {
			w.wait = func(ctx context.Context, id session.ID, after session.Seq) error {
				if err := m.Wait(ctx, id, after); !errors.Is(err, session.ErrClosed) {
					return err
				}
				<-ctx.Done()
				return ctx.Err()
			}
		}},
	}
}
