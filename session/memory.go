package session

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/tack-agent/tack/chat"
)

// Memory is a store that is gone with its process: its level is Ephemeral. The
// values it is given are kept as they are, not copied.
type Memory struct {
	now func() time.Time

	mu       sync.Mutex // guards what follows; never held while calling out
	sessions map[ID]*memorySession
	owners   map[string]*memoryOwner
	closed   bool
}

// memorySession is one log and what belongs to it.
type memorySession struct {
	records   []Record // record i has sequence i+1
	claims    map[string]Seq
	refs      map[string][]Seq
	snapshots map[string]Snapshot
	blobs     map[string][]byte
	token     uint64 // of the last owner
	process   string // the owner; empty: none
	changed   chan struct{}
}

// memoryOwner is a process and until when it lives.
type memoryOwner struct {
	Process
	until time.Time
}

// NewMemory is an empty store. Leases end by the clock now; nil is time.Now.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now, sessions: map[ID]*memorySession{}, owners: map[string]*memoryOwner{}}
}

// Level is Ephemeral.
func (m *Memory) Level() Level { return Ephemeral }

// Close ends the store. What it held is kept for Reopen.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, s := range m.sessions {
		s.rouse()
	}
	return nil
}

// Reopen is the store as another process would find it, were it on a disk. The
// old one is closed. It is for tests of crashes.
func (m *Memory) Reopen() *Memory {
	_ = m.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory{now: m.now, sessions: m.sessions, owners: m.owners}
}

// enter takes the lock, unless the caller gave up or the store is closed.
func (m *Memory) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// session returns the session id, made if there is none. The caller holds mu.
func (m *Memory) session(id ID) *memorySession {
	s := m.sessions[id]
	if s == nil {
		s = &memorySession{}
		m.sessions[id] = s
	}
	return s
}

// Append commits records to sessions.
func (m *Memory) Append(ctx context.Context, appends ...Append) []error {
	errs := make([]error, len(appends))
	if err := m.enter(ctx); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	defer m.mu.Unlock()
	for i, a := range appends {
		s, err := m.held(a.Lease)
		if err == nil {
			err = s.append(a)
		}
		errs[i] = err
	}
	return errs
}

// held returns the session of a lease that is valid. The caller holds mu.
func (m *Memory) held(l Lease) (*memorySession, error) {
	s := m.sessions[l.Session]
	if s == nil || s.token != l.Token || s.process != l.Process || l.Process == "" {
		return nil, &NotOwnerError{Session: l.Session, Owner: m.owner(s)}
	}
	return s, nil
}

// append adds records, or changes nothing.
func (s *memorySession) append(a Append) error {
	for i, r := range a.Records {
		want := Seq(len(s.records) + i + 1)
		if r.Seq != want {
			return &GapError{Session: a.Lease.Session, Got: r.Seq, Want: want}
		}
		if seq, taken := s.claimed(r.Claim, a.Records[:i]); taken {
			return &ExistsError{Claim: r.Claim, Seq: seq}
		}
	}
	for _, r := range a.Records {
		s.index(r)
	}
	s.records = append(s.records, a.Records...)
	s.rouse()
	return nil
}

// claimed says who has a claim, in the log or among the records before.
func (s *memorySession) claimed(claim string, before []Record) (Seq, bool) {
	if claim == "" {
		return 0, false
	}
	if seq, taken := s.claims[claim]; taken {
		return seq, true
	}
	for _, r := range before {
		if r.Claim == claim {
			return r.Seq, true
		}
	}
	return 0, false
}

// index makes a record's keys known.
func (s *memorySession) index(r Record) {
	if r.Claim != "" {
		if s.claims == nil {
			s.claims = map[string]Seq{}
		}
		s.claims[r.Claim] = r.Seq
	}
	for _, ref := range r.Refs {
		if s.refs == nil {
			s.refs = map[string][]Seq{}
		}
		if seqs := s.refs[ref]; len(seqs) == 0 || seqs[len(seqs)-1] != r.Seq {
			s.refs[ref] = append(seqs, r.Seq)
		}
	}
}

// rouse wakes who waits for a record.
func (s *memorySession) rouse() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Read returns records after a sequence.
func (m *Memory) Read(ctx context.Context, id ID, after Seq, limit int) ([]Record, error) {
	if err := m.enter(ctx); err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil || after >= Seq(len(s.records)) || limit <= 0 {
		return nil, nil
	}
	end := min(len(s.records), int(after)+limit)
	return s.records[after:end:end], nil
}

// Find returns the records that have a ref.
func (m *Memory) Find(ctx context.Context, id ID, ref string) ([]Record, error) {
	if err := m.enter(ctx); err != nil {
		return nil, fmt.Errorf("find %s in session %s: %w", ref, id, err)
	}
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil {
		return nil, nil
	}
	var found []Record
	for _, seq := range s.refs[ref] {
		found = append(found, s.records[seq-1])
	}
	return found, nil
}

// Wait returns once there is a record after a sequence.
func (m *Memory) Wait(ctx context.Context, id ID, after Seq) error {
	for {
		if err := m.enter(ctx); err != nil {
			return err
		}
		s := m.session(id)
		if Seq(len(s.records)) > after {
			m.mu.Unlock()
			return nil
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// List returns the sessions with a record, the last changed first.
func (m *Memory) List(ctx context.Context) ([]Info, error) {
	if err := m.enter(ctx); err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	defer m.mu.Unlock()
	var all []Info
	for id, s := range m.sessions {
		if n := len(s.records); n > 0 {
			all = append(all, Info{ID: id, Head: Seq(n), Created: s.records[0].Time, Changed: s.records[n-1].Time})
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if !all[i].Changed.Equal(all[j].Changed) {
			return all[i].Changed.After(all[j].Changed)
		}
		return all[i].ID < all[j].ID
	})
	return all, nil
}

// Fork makes a session that shares a prefix.
func (m *Memory) Fork(ctx context.Context, f Fork) error {
	if err := m.enter(ctx); err != nil {
		return fmt.Errorf("fork session %s: %w", f.Parent, err)
	}
	defer m.mu.Unlock()
	child, err := m.held(f.Lease)
	if err != nil {
		return err
	}
	parent := m.sessions[f.Parent]
	switch {
	case parent == nil || f.At == 0 || Seq(len(parent.records)) < f.At:
		return fmt.Errorf("fork session %s at event %d: %w", f.Parent, f.At, ErrNotFound)
	case len(child.records) > 0:
		return fmt.Errorf("fork session %s into %s, which isn't empty: %w", f.Parent, f.Lease.Session, ErrExists)
	case f.Record.Seq != f.At+1:
		return &GapError{Session: f.Lease.Session, Got: f.Record.Seq, Want: f.At + 1}
	}
	forgotten := func(key string) bool { return slices.Contains(f.Forget, key) }
	var made memorySession
	for _, r := range parent.records[:f.At] {
		if forgotten(r.Claim) {
			r.Claim = ""
		}
		r.Refs = slices.DeleteFunc(slices.Clone(r.Refs), forgotten)
		made.index(r)
		made.records = append(made.records, r)
	}
	if seq, taken := made.claimed(f.Record.Claim, nil); taken {
		return &ExistsError{Claim: f.Record.Claim, Seq: seq}
	}
	made.index(f.Record)
	made.records = append(made.records, f.Record)
	child.records, child.claims, child.refs = made.records, made.claims, made.refs
	for digest, data := range parent.blobs {
		child.keep(digest, data)
	}
	child.rouse()
	return nil
}

// Remove deletes a session. Its token goes on, so that no old lease comes back
// to life.
func (m *Memory) Remove(ctx context.Context, lease Lease) error {
	if err := m.enter(ctx); err != nil {
		return fmt.Errorf("remove session %s: %w", lease.Session, err)
	}
	defer m.mu.Unlock()
	s, err := m.held(lease)
	if err != nil {
		return err
	}
	s.rouse()
	*s = memorySession{token: s.token}
	return nil
}

// Beat says that a process lives.
func (m *Memory) Beat(ctx context.Context, p Process, ttl time.Duration) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.owners[p.ID] = &memoryOwner{Process: p, until: m.now().Add(ttl)}
	return nil
}

// Leave frees all sessions of a process.
func (m *Memory) Leave(ctx context.Context, process string) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	delete(m.owners, process)
	for _, s := range m.sessions {
		if s.process == process {
			s.process = ""
		}
	}
	return nil
}

// owner is the living owner of a session. The caller holds mu.
func (m *Memory) owner(s *memorySession) Process {
	if s == nil {
		return Process{}
	}
	if o := m.owners[s.process]; o != nil && m.now().Before(o.until) {
		return o.Process
	}
	return Process{}
}

// Acquire makes a living process the owner of a session.
func (m *Memory) Acquire(ctx context.Context, id ID, process string) (Lease, error) {
	if err := m.enter(ctx); err != nil {
		return Lease{}, fmt.Errorf("acquire session %s: %w", id, err)
	}
	defer m.mu.Unlock()
	if o := m.owners[process]; o == nil || !m.now().Before(o.until) {
		return Lease{}, fmt.Errorf("acquire session %s: process %s has no heartbeat: %w", id, process, ErrNotFound)
	}
	s := m.session(id)
	if other := m.owner(s); other.ID != "" && other.ID != process {
		return Lease{}, &NotOwnerError{Session: id, Owner: other}
	}
	s.token++
	s.process = process
	return Lease{Session: id, Process: process, Token: s.token}, nil
}

// Release frees a session.
func (m *Memory) Release(ctx context.Context, lease Lease) error {
	if err := m.enter(ctx); err != nil {
		return fmt.Errorf("release session %s: %w", lease.Session, err)
	}
	defer m.mu.Unlock()
	if s, err := m.held(lease); err == nil {
		s.process = ""
	}
	return nil
}

// Owner returns the living owner of a session.
func (m *Memory) Owner(ctx context.Context, id ID) (Process, error) {
	if err := m.enter(ctx); err != nil {
		return Process{}, err
	}
	defer m.mu.Unlock()
	return m.owner(m.sessions[id]), nil
}

// Save keeps a fold's newest snapshot.
func (m *Memory) Save(ctx context.Context, lease Lease, snap Snapshot) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	s, err := m.held(lease)
	if err != nil {
		return err
	}
	if s.snapshots == nil {
		s.snapshots = map[string]Snapshot{}
	}
	s.snapshots[snap.Fold] = snap
	return nil
}

// Snapshot returns the last one saved.
func (m *Memory) Snapshot(ctx context.Context, id ID, fold string) (Snapshot, error) {
	if err := m.enter(ctx); err != nil {
		return Snapshot{}, err
	}
	defer m.mu.Unlock()
	if s := m.sessions[id]; s != nil {
		if snap, found := s.snapshots[fold]; found {
			return snap, nil
		}
	}
	return Snapshot{}, fmt.Errorf("snapshot %s of session %s: %w", fold, id, ErrNotFound)
}

// Put keeps data for a session.
func (m *Memory) Put(ctx context.Context, id ID, data []byte) (chat.Blob, error) {
	blob := chat.BlobOf(data)
	if err := m.enter(ctx); err != nil {
		return chat.Blob{}, err
	}
	defer m.mu.Unlock()
	m.session(id).keep(blob.Digest, slices.Clone(data))
	return blob, nil
}

func (s *memorySession) keep(digest string, data []byte) {
	if s.blobs == nil {
		s.blobs = map[string][]byte{}
	}
	s.blobs[digest] = data
}

// Blob returns what was put.
func (m *Memory) Blob(ctx context.Context, id ID, digest string) ([]byte, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if s := m.sessions[id]; s != nil {
		if data, found := s.blobs[digest]; found {
			return data, nil
		}
	}
	return nil, fmt.Errorf("blob %s of session %s: %w", digest, id, ErrNotFound)
}
