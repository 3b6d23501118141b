package session

import (
	"context"
	"fmt"
	"slices"
)

// Fork makes a session that shares a prefix with another. The records are
// shared; their keys are gathered anew, without holding the store up.
func (m *Memory) Fork(ctx context.Context, f Fork) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	if m.disk.owned(f.Lease) == nil {
		m.leave()
		return m.notOwner(f.Lease.Session)
	}
	child, err := m.disk.prefix(f)
	m.leave()
	if err != nil {
		return err
	}
	child.index()
	if err := child.add(f.Lease.Session, []Record{f.Record}); err != nil {
		return err
	}

	if err := m.enter(ctx); err != nil {
		return err
	}
	s := m.disk.owned(f.Lease)
	if s == nil {
		m.leave()
		return m.notOwner(f.Lease.Session)
	}
	defer m.leave()
	parent := m.disk.sessions[f.Parent]
	switch {
	case s.log.head > 0:
		return notEmpty(f.Lease.Session, s.log.head)
	case parent == nil || parent.log.head < f.At:
		return noEvent(f) // it was removed meanwhile
	}
	s.log, s.keys, s.forgot, s.floor, s.synced = child.log, child.keys, child.forgot, child.floor, child.synced
	s.inherit(parent)
	s.rouse()
	return nil
}

// prefix returns what a fork shares, if it may: a log and what it forgot.
func (d *memoryDisk) prefix(f Fork) (*memorySession, error) {
	id := f.Lease.Session
	if child := d.sessions[id]; child != nil && child.log.head > 0 {
		return nil, notEmpty(id, child.log.head)
	}
	parent := d.sessions[f.Parent]
	if parent == nil || f.At == 0 || parent.log.head < f.At {
		return nil, noEvent(f)
	}
	child := &memorySession{log: parent.log.prefix(f.At), floor: f.At}
	for key, at := range parent.forgot {
		child.forget(key, min(at, f.At))
	}
	for _, key := range f.Forget {
		child.forget(key, f.At)
	}
	return child, nil
}

func (s *memorySession) forget(key string, at Seq) {
	if s.forgot == nil {
		s.forgot = make(map[string]Seq)
	}
	s.forgot[key] = at
}

// index gathers the keys of a log, but for those that were forgotten.
func (s *memorySession) index() {
	for _, chunk := range s.log.chunks {
		for i := range chunk {
			r := &chunk[i]
			if r.Claim != "" && r.Seq > s.forgot[r.Claim] {
				k := s.keys[r.Claim]
				k.claim = r.Seq
				s.setKey(r.Claim, k)
			}
			for _, ref := range r.Refs {
				if r.Seq > s.forgot[ref] {
					s.refer(ref, r.Seq)
				}
			}
		}
	}
}

// inherit takes over the parent's blobs.
func (s *memorySession) inherit(parent *memorySession) {
	for digest, b := range parent.blobs {
		if s.blobs == nil {
			s.blobs = make(map[string]memoryBlob, len(parent.blobs))
		}
		s.blobs[digest] = memoryBlob{data: b.data}
	}
}

func notEmpty(id ID, head Seq) error {
	return &GapError{Session: id, Got: 1, Want: head + 1}
}

func noEvent(f Fork) error {
	return fmt.Errorf("fork session %s from %s: event %d: %w", f.Lease.Session, f.Parent, f.At, ErrNotFound)
}

// Reopen ends the process of m as kill -9 would, for tests: all that was
// written is there in the handle it returns, and m answers ErrClosed.
func (m *Memory) Reopen() *Memory {
	_ = m.Close() // it has no error
	return &Memory{now: m.now, done: make(chan struct{}), disk: m.disk}
}

// LosePower ends the machine of m, for tests: of each session what was synced
// is there in the handle it returns. keep says how many of the records written
// after that are there too, the first ones; nil: none. It is asked for one
// session after the other by id. Who owns what is kept.
func (m *Memory) LosePower(keep func(id ID, written int) int) *Memory {
	next := m.Reopen()
	d := m.disk
	d.mu.Lock()
	written := make(map[ID]int)
	var ids []ID
	for id, s := range d.sessions {
		ids = append(ids, id)
		written[id] = int(s.log.head - s.synced)
	}
	d.mu.Unlock()

	slices.Sort(ids)
	for _, id := range ids {
		if keep == nil {
			written[id] = 0
		} else if n := written[id]; n > 0 {
			written[id] = min(max(keep(id, n), 0), n)
		}
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		d.sessions[id].cut(d.sessions[id].synced + Seq(written[id]))
		d.tidy(id)
	}
	return next
}

// cut takes back what came after head.
func (s *memorySession) cut(head Seq) {
	if head <= s.floor {
		head, s.floor, s.forgot = 0, 0, nil
	}
	s.log = s.log.prefix(head)
	for name, k := range s.keys {
		if k = k.cut(head); k.claim == 0 && k.first == 0 {
			delete(s.keys, name)
		} else {
			s.keys[name] = k
		}
	}
	for fold, snap := range s.snapshots {
		if snap.Seq > head {
			delete(s.snapshots, fold)
		}
	}
	for digest, b := range s.blobs {
		if b.after >= head {
			delete(s.blobs, digest)
		}
	}
	s.synced = head
}
