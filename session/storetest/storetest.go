// Package storetest is what a session.Store promises, as tests.
//
// A store's first test is one call:
//
//	storetest.Run(t, storetest.Config{New: func(now func() time.Time) session.Store { … }})
//
// Each promise is a subtest named after what is promised, with the clause of
// the contract it belongs to. Faulty puts faults as data in front of any store.
package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tack-agent/tack/session"
)

// Config says how to make the store under test.
type Config struct {
	// New makes an empty store whose leases end by the given clock.
	New func(now func() time.Time) session.Store
	// Reopen closes a store and opens what it kept, as another process would.
	// Nil: the store keeps nothing; what depends on it is skipped, visibly.
	Reopen func(session.Store) session.Store
}

// Run tests all promises.
func Run(t *testing.T, c Config) {
	for _, p := range promises() {
		t.Run(p.name, func(t *testing.T) {
			if p.reopens && c.Reopen == nil {
				t.Skip("declared: this store can't be reopened")
			}
			for _, b := range c.check(p) {
				t.Error(b)
			}
		})
	}
}

// Broken lists how a store breaks its promises: nothing for a good one.
func Broken(c Config) []string {
	var all []string
	for _, p := range promises() {
		if !p.reopens || c.Reopen != nil {
			all = append(all, c.check(p)...)
		}
	}
	return all
}

// promise is one thing that a store must do.
type promise struct {
	name    string
	clause  string
	reopens bool // it needs Config.Reopen
	check   func(*trial)
}

// trial is one promise being tested on a store of its own.
type trial struct {
	promise
	ctx    context.Context //nolint:containedctx // a trial is one call
	config Config
	store  session.Store
	clock  *clock

	mu     sync.Mutex
	broken []string
}

// clock is the store's: it stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// stop ends a trial that can't go on.
type stop struct{}

// patience is how long a promise may take before it counts as hanging.
const patience = time.Minute

func (c Config) check(p promise) []string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	k := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	t := &trial{promise: p, ctx: ctx, config: c, clock: k, store: c.New(k.time)}
	defer func() { _ = t.store.Close() }()
	func() {
		defer func() {
			if r := recover(); r != nil && r != (stop{}) {
				t.breaks("it panicked: %v", r)
			}
		}()
		p.check(t)
	}()
	return t.broken
}

// breaks notes how the promise is broken.
func (t *trial) breaks(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken = append(t.broken, fmt.Sprintf("%s (%s): %s", t.name, t.clause, fmt.Sprintf(format, args...)))
}

// must ends the trial if something that has to work doesn't.
func (t *trial) must(what string, err error) {
	if err != nil {
		t.breaks("%s: %v", what, err)
		panic(stop{})
	}
}

// want compares, by what is printed.
func (t *trial) want(what string, got, want any) {
	if g, w := fmt.Sprintf("%v", got), fmt.Sprintf("%v", want); g != w {
		t.breaks("%s: got %s, want %s", what, g, w)
	}
}

const ttl = 10 * time.Second

// own makes a process live and the owner of a session.
func (t *trial) own(id session.ID, process string) session.Lease {
	t.must("heartbeat", t.store.Beat(t.ctx, session.Process{ID: process, Address: "unix:" + process}, ttl))
	lease, err := t.store.Acquire(t.ctx, id, process)
	t.must("acquire", err)
	return lease
}

// record is a durable record with keys.
func (t *trial) record(seq session.Seq, claim string, refs ...string) session.Record {
	return session.Record{
		Seq: seq, Time: t.clock.time(), Type: "test/fact", Version: 1,
		Data: fmt.Appendf(nil, `{"n":%d,"claim":%q}`, seq, claim), Claim: claim, Refs: refs, Need: session.Durable,
	}
}

// append appends records to one session.
func (t *trial) append(l session.Lease, records ...session.Record) error {
	return t.store.Append(t.ctx, session.Append{Lease: l, Records: records})[0]
}

// all reads a whole log, in small pages.
func (t *trial) all(id session.ID) []session.Record {
	var out []session.Record
	for {
		got, err := t.store.Read(t.ctx, id, session.Seq(len(out)), 3)
		t.must("read", err)
		if len(got) == 0 {
			return out
		}
		out = append(out, got...)
	}
}

// shape is a log in a line: what must not change by what is refused.
func (t *trial) shape(id session.ID) string {
	var s string
	for _, r := range t.all(id) {
		s += fmt.Sprintf("%d:%s%v ", r.Seq, r.Claim, r.Refs)
	}
	return s
}

// seqs lists the sequences of the records found by a ref.
func (t *trial) seqs(id session.ID, ref string) []session.Seq {
	found, err := t.store.Find(t.ctx, id, ref)
	t.must("find", err)
	var out []session.Seq
	for _, r := range found {
		out = append(out, r.Seq)
	}
	return out
}
