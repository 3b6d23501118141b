package storetest

import (
	"slices"
	"time"

	"github.com/tack-agent/tack/session"
)

// model is what a store promises, as plain as can be.
type model struct {
	now       time.Time
	processes map[string]time.Time // until when they live
	sessions  map[session.ID]*modelSession
	dead      []session.Lease // all that are void
}

type modelSession struct {
	records   []session.Record
	forgotten []forgotten
	lease     session.Lease // the zero Lease: free
	snapshots map[string]session.Snapshot
	blobs     map[string]bool // by content
}

// forgotten says that a fork knows a key of its prefix no more.
type forgotten struct {
	key string
	at  session.Seq
}

func newModel(now time.Time) *model {
	return &model{now: now, processes: map[string]time.Time{}, sessions: map[session.ID]*modelSession{}}
}

func (m *model) session(id session.ID) *modelSession {
	s := m.sessions[id]
	if s == nil {
		s = &modelSession{snapshots: map[string]session.Snapshot{}, blobs: map[string]bool{}}
		m.sessions[id] = s
	}
	return s
}

func (m *model) lives(process string) bool { return m.now.Before(m.processes[process]) }

// owner is the living owner of a session; empty: none.
func (m *model) owner(id session.ID) string {
	if p := m.session(id).lease.Process; m.lives(p) {
		return p
	}
	return ""
}

func (m *model) free(id session.ID) {
	s := m.session(id)
	if s.lease.Token != 0 {
		m.dead = append(m.dead, s.lease)
	}
	s.lease = session.Lease{}
}

// verdict is the answer that an append or a fork should get.
type verdict struct {
	void      bool // of the lease
	got, want session.Seq
	claim     string
	seq       session.Seq
	missing   bool
}

func (v verdict) ok() bool { return v == verdict{} }

func (s *modelSession) head() session.Seq { return session.Seq(len(s.records)) }

// judge says what an append by lease should be answered.
func (m *model) judge(lease session.Lease, records []session.Record) verdict {
	s := m.session(lease.Session)
	if s.lease.Token != lease.Token {
		return verdict{void: true}
	}
	for i, r := range records {
		if want := s.head() + session.Seq(i) + 1; r.Seq != want {
			return verdict{got: r.Seq, want: want}
		}
	}
	all := slices.Concat(s.records, records)
	for i, r := range records {
		if seq := s.claimed(all[:len(s.records)+i], r.Claim); seq != 0 {
			return verdict{claim: r.Claim, seq: seq}
		}
	}
	return verdict{}
}

// claimed is the event among records that has the claim; 0: none.
func (s *modelSession) claimed(records []session.Record, claim string) session.Seq {
	for _, r := range records {
		if claim != "" && r.Claim == claim && !s.forgot(claim, r.Seq) {
			return r.Seq
		}
	}
	return 0
}

func (s *modelSession) forgot(key string, seq session.Seq) bool {
	return slices.ContainsFunc(s.forgotten, func(f forgotten) bool { return f.key == key && seq <= f.at })
}

// known is records without the keys that were forgotten: a store may give them
// back or not.
func (s *modelSession) known(records []session.Record) []session.Record {
	records = slices.Clone(records)
	for i := range records {
		r := &records[i]
		if s.forgot(r.Claim, r.Seq) {
			r.Claim = ""
		}
		r.Refs = slices.DeleteFunc(slices.Clone(r.Refs), func(ref string) bool { return s.forgot(ref, r.Seq) })
	}
	return records
}

// refs lists the events that have the ref.
func (s *modelSession) refs(ref string) []session.Seq {
	var found []session.Seq
	for _, r := range s.records {
		if slices.Contains(r.Refs, ref) && !s.forgot(ref, r.Seq) {
			found = append(found, r.Seq)
		}
	}
	return found
}

// fork makes a session out of another's prefix, if it may.
func (m *model) fork(f session.Fork) verdict {
	child, parent := m.session(f.Lease.Session), m.session(f.Parent)
	switch {
	case child.lease.Token != f.Lease.Token:
		return verdict{void: true}
	case child.head() > 0:
		return verdict{got: 1, want: child.head() + 1}
	case parent.head() < f.At:
		return verdict{missing: true}
	}
	made := *child
	made.records = slices.Clone(parent.records[:f.At])
	made.forgotten = nil
	for _, old := range parent.forgotten {
		made.forgotten = append(made.forgotten, forgotten{old.key, min(old.at, f.At)})
	}
	for _, key := range f.Forget {
		made.forgotten = append(made.forgotten, forgotten{key, f.At})
	}
	if f.Record.Seq != f.At+1 {
		return verdict{got: f.Record.Seq, want: f.At + 1}
	}
	if seq := made.claimed(made.records, f.Record.Claim); seq != 0 {
		return verdict{claim: f.Record.Claim, seq: seq}
	}
	made.records = append(made.records, f.Record)
	made.blobs = map[string]bool{}
	for b := range child.blobs {
		made.blobs[b] = true
	}
	for b := range parent.blobs {
		made.blobs[b] = true
	}
	*child = made
	return verdict{}
}

// remove deletes a session if lease owns it.
func (m *model) remove(lease session.Lease) bool {
	if m.session(lease.Session).lease.Token != lease.Token {
		return false
	}
	m.free(lease.Session)
	delete(m.sessions, lease.Session)
	return true
}
