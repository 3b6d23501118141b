package session

import (
	"context"
	"fmt"

	"github.com/tack-agent/tack/chat"
)

// memoryBlob is a blob of one session; forks share its bytes.
type memoryBlob struct {
	data  []byte
	after Seq // the head when it was put: a later record makes it last
}

// Save keeps the newest snapshot of each fold.
func (m *Memory) Save(ctx context.Context, lease Lease, snap Snapshot) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	s := m.disk.owned(lease)
	if s == nil {
		m.leave()
		return m.notOwner(lease.Session)
	}
	defer m.leave()
	if snap.Seq == 0 || snap.Seq > s.log.head {
		return fmt.Errorf("save snapshot of %s, session %s: event %d: %w", snap.Fold, lease.Session, snap.Seq, ErrNotFound)
	}
	if old, kept := s.snapshots[snap.Fold]; kept && old.Seq > snap.Seq {
		return nil
	}
	if s.snapshots == nil {
		s.snapshots = make(map[string]Snapshot)
	}
	s.snapshots[snap.Fold] = snap
	return nil
}

// Snapshot returns the newest snapshot of a fold.
func (m *Memory) Snapshot(ctx context.Context, id ID, fold string) (Snapshot, error) {
	if err := m.enter(ctx); err != nil {
		return Snapshot{}, err
	}
	defer m.leave()
	if s := m.disk.sessions[id]; s != nil {
		if snap, kept := s.snapshots[fold]; kept {
			return snap, nil
		}
	}
	return Snapshot{}, fmt.Errorf("snapshot of %s, session %s: %w", fold, id, ErrNotFound)
}

// Put keeps data for a session.
func (m *Memory) Put(ctx context.Context, id ID, data []byte) (chat.Blob, error) {
	name := chat.BlobOf(data)
	if err := m.enter(ctx); err != nil {
		return chat.Blob{}, err
	}
	defer m.leave()
	s := m.disk.session(id)
	if _, kept := s.blobs[name.Digest]; kept {
		return name, nil
	}
	if s.blobs == nil {
		s.blobs = make(map[string]memoryBlob)
	}
	s.blobs[name.Digest] = memoryBlob{data: data, after: s.log.head}
	return name, nil
}

// Blob returns the bytes that a session has under a digest.
func (m *Memory) Blob(ctx context.Context, id ID, digest string) ([]byte, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.leave()
	if s := m.disk.sessions[id]; s != nil {
		if b, kept := s.blobs[digest]; kept {
			return b.data, nil
		}
	}
	return nil, fmt.Errorf("blob %s, session %s: %w", digest, id, ErrNotFound)
}
