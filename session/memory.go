package session

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Store that keeps everything in the process: tables under a
// mutex, which is never held while calling out. It has no goroutine.
//
// A Memory is a handle on its tables, as a process has on a disk. For tests of
// crashes Reopen and LosePower end a handle and make the next one.
type Memory struct {
	now  func() time.Time
	done chan struct{} // closed by Close
	shut bool          // guarded by disk.mu
	disk *memoryDisk
}

var _ Store = (*Memory)(nil)

// NewMemory is an empty store. Heartbeats end by the clock now; nil is time.Now.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now, done: make(chan struct{}), disk: &memoryDisk{
		sessions: map[ID]*memorySession{}, processes: map[string]*memoryProcess{},
	}}
}

// memoryDisk is what outlives a handle.
type memoryDisk struct {
	mu        sync.Mutex
	sessions  map[ID]*memorySession
	processes map[string]*memoryProcess
	token     uint64 // the last one given
}

// Level is Ephemeral.
func (m *Memory) Level() Level { return Ephemeral }

// enter locks the tables for a call. Where it answers an error it has not.
func (m *Memory) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.disk.mu.Lock()
	if m.shut {
		m.disk.mu.Unlock()
		return ErrClosed
	}
	return nil
}

func (m *Memory) leave() { m.disk.mu.Unlock() }

// Append commits records to sessions.
func (m *Memory) Append(ctx context.Context, appends ...Append) []error {
	errs := make([]error, len(appends))
	if err := m.enter(ctx); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	void := false
	for i, a := range appends {
		s := m.disk.owned(a.Lease)
		if s == nil {
			errs[i], void = ErrNotOwner, true
			continue
		}
		errs[i] = s.add(a.Lease.Session, a.Records)
	}
	m.leave()
	if void {
		m.nameOwners(errs, appends)
	}
	return errs
}

// nameOwners says who owns the sessions of the appends refused for their lease.
func (m *Memory) nameOwners(errs []error, appends []Append) {
	for i, a := range appends {
		if errs[i] == ErrNotOwner { //nolint:errorlint // the mark that Append left
			errs[i] = m.notOwner(a.Lease.Session)
		}
	}
}

// Read returns records above a cursor.
func (m *Memory) Read(ctx context.Context, id ID, after Seq, limit int) ([]Record, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.leave()
	if s := m.disk.sessions[id]; s != nil {
		return s.log.after(after, limit), nil
	}
	return nil, nil
}

// Find returns the records that have ref.
func (m *Memory) Find(ctx context.Context, id ID, ref string) ([]Record, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.leave()
	s := m.disk.sessions[id]
	if s == nil {
		return nil, nil
	}
	var found []Record
	for seq := range s.keys[ref].refs() {
		found = append(found, s.log.after(seq-1, 1)...)
	}
	return found, nil
}

// Wait returns once the session has a record above after.
func (m *Memory) Wait(ctx context.Context, id ID, after Seq) error {
	for {
		if err := m.enter(ctx); err != nil {
			return err
		}
		s := m.disk.session(id)
		if s.log.head > after {
			m.leave()
			return nil
		}
		wake := s.attend()
		m.leave()

		var err error
		select {
		case <-wake:
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-m.done:
			err = ErrClosed
		}
		m.disk.mu.Lock()
		if s.wake == wake {
			s.unattend()
		}
		m.disk.tidy(id)
		m.disk.mu.Unlock()
		return err
	}
}

// List returns all sessions that have a record, the last changed first.
func (m *Memory) List(ctx context.Context) ([]Info, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	var list []Info
	for id, s := range m.disk.sessions {
		if s.log.head > 0 {
			list = append(list, Info{
				ID: id, Head: s.log.head,
				Created: s.log.after(0, 1)[0].Time, Changed: s.log.after(s.log.head-1, 1)[0].Time,
			})
		}
	}
	m.leave()
	slices.SortFunc(list, func(a, b Info) int {
		if d := b.Changed.Compare(a.Changed); d != 0 {
			return d
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return list, nil
}

// Remove deletes a session and all that belongs to it.
func (m *Memory) Remove(ctx context.Context, lease Lease) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	s := m.disk.owned(lease)
	if s == nil {
		m.leave()
		return m.notOwner(lease.Session)
	}
	defer m.leave()
	delete(m.disk.sessions, lease.Session)
	s.rouse() // they go on to wait for the id's next session
	return nil
}

// Close ends the handle: what waits on it answers ErrClosed.
func (m *Memory) Close() error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if !m.shut {
		m.shut = true
		close(m.done)
	}
	return nil
}

// session returns the tables of a session, which it makes.
func (d *memoryDisk) session(id ID) *memorySession {
	s := d.sessions[id]
	if s == nil {
		s = &memorySession{}
		d.sessions[id] = s
	}
	return s
}

// tidy forgets a session in which there is nothing.
func (d *memoryDisk) tidy(id ID) {
	s := d.sessions[id]
	if s != nil && s.log.head == 0 && s.owner == nil && s.wake == nil && len(s.blobs) == 0 {
		delete(d.sessions, id)
	}
}
