package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// newWrong is a store in which nothing is wrong yet.
func newWrong(m *session.Memory) *wrong {
	return &wrong{
		Memory: m, append: m.Append, read: m.Read, find: m.Find, wait: m.Wait, list: m.List, fork: m.Fork, remove: m.Remove,
		beat: m.Beat, leave: m.Leave, acquire: m.Acquire, release: m.Release, save: m.Save, snapshot: m.Snapshot,
		put: m.Put, blob: m.Blob, close: m.Close,
		leases: map[session.ID]session.Lease{},
	}
}

// each has every record changed before it is appended.
func (w *wrong) each(m *session.Memory, change func(*session.Record)) {
	w.append = func(ctx context.Context, appends ...session.Append) []error {
		appends = slices.Clone(appends)
		for i := range appends {
			appends[i].Records = slices.Clone(appends[i].Records)
			for j := range appends[i].Records {
				change(&appends[i].Records[j])
			}
		}
		return m.Append(ctx, appends...)
	}
}

// eachAppend answers a call one append after the other.
func eachAppend(f func(context.Context, session.Append) error) func(context.Context, ...session.Append) []error {
	return func(ctx context.Context, appends ...session.Append) []error {
		errs := make([]error, 0, len(appends))
		for _, a := range appends {
			errs = append(errs, f(ctx, a))
		}
		return errs
	}
}

func (w *wrong) Append(ctx context.Context, a ...session.Append) []error { return w.append(ctx, a...) }

func (w *wrong) Read(ctx context.Context, id session.ID, after session.Seq, limit int) ([]session.Record, error) {
	return w.read(ctx, id, after, limit)
}

func (w *wrong) Find(ctx context.Context, id session.ID, ref string) ([]session.Record, error) {
	return w.find(ctx, id, ref)
}

func (w *wrong) Wait(ctx context.Context, id session.ID, after session.Seq) error {
	return w.wait(ctx, id, after)
}

func (w *wrong) List(ctx context.Context) ([]session.Info, error) { return w.list(ctx) }

func (w *wrong) Fork(ctx context.Context, f session.Fork) error { return w.fork(ctx, f) }

func (w *wrong) Remove(ctx context.Context, l session.Lease) error { return w.remove(ctx, l) }

func (w *wrong) Beat(ctx context.Context, p session.Process, ttl time.Duration) error {
	return w.beat(ctx, p, ttl)
}

func (w *wrong) Leave(ctx context.Context, p string) error { return w.leave(ctx, p) }

func (w *wrong) Acquire(ctx context.Context, id session.ID, p string) (session.Lease, error) {
	l, err := w.acquire(ctx, id, p)
	if err == nil {
		w.mu.Lock()
		w.leases[id] = l
		w.mu.Unlock()
	}
	return l, err
}

func (w *wrong) Release(ctx context.Context, l session.Lease) error { return w.release(ctx, l) }

func (w *wrong) Save(ctx context.Context, l session.Lease, s session.Snapshot) error {
	return w.save(ctx, l, s)
}

func (w *wrong) Snapshot(ctx context.Context, id session.ID, fold string) (session.Snapshot, error) {
	return w.snapshot(ctx, id, fold)
}

func (w *wrong) Put(ctx context.Context, id session.ID, data []byte) (chat.Blob, error) {
	return w.put(ctx, id, data)
}

func (w *wrong) Blob(ctx context.Context, id session.ID, digest string) ([]byte, error) {
	return w.blob(ctx, id, digest)
}

func (w *wrong) Close() error { return w.close() }
