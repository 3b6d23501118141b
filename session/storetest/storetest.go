// Package storetest is what a session.Store promises, as tests.
//
// A store's first test is one call:
//
//	storetest.Run(t, storetest.Config{New: func(t testing.TB, c *storetest.Clock) session.Store { … }})
//
// Each promise is a subtest that names the clauses of the contract it comes
// from. Faulty is a store with faults, for the tests of whoever uses one.
package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tack-agent/tack/session"
)

// Config says how the stores to be tested are made. They read the time from
// the clock alone. Who makes a store has it closed at the test's end.
type Config struct {
	// New makes an empty store.
	New func(t testing.TB, c *Clock) session.Store
	// Reopen ends the process of s as kill -9 would, or closes s, and opens its
	// data anew. Nil if the data is gone then; a persistent store has it.
	Reopen func(t testing.TB, s session.Store, c *Clock) session.Store
	// LosePower does the same with all lost that wasn't synced. Nil if that
	// can't be had.
	LosePower func(t testing.TB, s session.Store, c *Clock) session.Store
	// Fault makes an empty store in which an append meets a fault of the
	// store's own. Nil: a Faulty around New.
	Fault func(t testing.TB, c *Clock, f Fault) session.Store
	// Histories is how many random histories are tried; 0: 30.
	Histories int
}

// Clock is a clock that a test sets.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts a clock at some time in the past.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 3, 14, 15, 9, 26, 535_897_000, time.UTC)}
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance lets time pass.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Run tests a store against all promises.
func Run(t *testing.T, c Config) {
	for _, p := range promises() {
		t.Run(p.name, func(t *testing.T) { p.test(t, c) })
	}
}

// promise is one thing that a store promises.
type promise struct {
	name  string
	check func(*trial)
}

func (p promise) test(t testing.TB, c Config) {
	p.check(newTrial(t, c))
}

// promises lists them all, in the order of session/store.go.
func promises() []promise {
	var all []promise
	for _, room := range [][]promise{
		appendPromises(), claimPromises(), readPromises(), waitPromises(),
		leasePromises(), keptPromises(), forkPromises(), faultPromises(), endPromises(), historyPromises(),
	} {
		all = append(all, room...)
	}
	return all
}

// patience ends tests of stores that hang.
const patience = time.Minute

func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
