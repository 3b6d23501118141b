package session

import (
	"context"
	"fmt"
	"time"
)

// memoryProcess is a process that has beaten. Sessions point at their owner,
// so that it leaves all of them at once.
type memoryProcess struct {
	Process
	until time.Time
	left  bool
}

func (p *memoryProcess) lives(now time.Time) bool { return p != nil && !p.left && now.Before(p.until) }

// Beat says that a process lives.
func (m *Memory) Beat(ctx context.Context, p Process, ttl time.Duration) error {
	now := m.now()
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	known := m.disk.processes[p.ID]
	if known == nil {
		known = &memoryProcess{}
		m.disk.processes[p.ID] = known
	}
	known.Process, known.until = p, now.Add(ttl)
	return nil
}

// Leave frees all sessions of a process.
func (m *Memory) Leave(ctx context.Context, process string) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	if p := m.disk.processes[process]; p != nil {
		p.left = true
		delete(m.disk.processes, process)
	}
	return nil
}

// Acquire makes a living process the owner of a session.
func (m *Memory) Acquire(ctx context.Context, id ID, process string) (Lease, error) {
	now := m.now()
	if err := m.enter(ctx); err != nil {
		return Lease{}, err
	}
	defer m.leave()
	p := m.disk.processes[process]
	if !p.lives(now) {
		return Lease{}, fmt.Errorf("acquire session %s: process %q has no heartbeat: beat first", id, process)
	}
	s := m.disk.session(id)
	if s.owner != p && s.owner.lives(now) {
		return Lease{}, &NotOwnerError{Session: id, Owner: s.owner.Process}
	}
	m.disk.token++
	s.owner, s.token = p, m.disk.token
	return Lease{Session: id, Process: process, Token: s.token, Head: s.log.head}, nil
}

// Release frees a session.
func (m *Memory) Release(ctx context.Context, lease Lease) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	if s := m.disk.owned(lease); s != nil {
		s.owner = nil
		m.disk.tidy(lease.Session)
	}
	return nil
}

// Owner returns the living process that owns a session.
func (m *Memory) Owner(ctx context.Context, id ID) (Process, error) {
	now := m.now()
	if err := m.enter(ctx); err != nil {
		return Process{}, err
	}
	defer m.leave()
	return m.disk.owner(id, now), nil
}

// owned returns the session of a lease; nil if the lease is void.
func (d *memoryDisk) owned(lease Lease) *memorySession {
	s := d.sessions[lease.Session]
	if s == nil || s.token != lease.Token || s.owner == nil || s.owner.left || s.owner.ID != lease.Process {
		return nil
	}
	return s
}

// owner returns the living owner of a session, or the zero Process.
func (d *memoryDisk) owner(id ID, now time.Time) Process {
	if s := d.sessions[id]; s != nil && s.owner.lives(now) {
		return s.owner.Process
	}
	return Process{}
}

// notOwner says who owns a session whose lease is void.
func (m *Memory) notOwner(id ID) error {
	now := m.now()
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	return &NotOwnerError{Session: id, Owner: m.disk.owner(id, now)}
}
