package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/tack-agent/tack/session"
)

// Fault is what goes wrong with one append.
type Fault struct {
	At   int  // which call of Append, from 1
	Kind Kind // what happens
}

// Kind is a kind of fault.
type Kind int

const (
	// Fails writes nothing and says so.
	Fails Kind = iota
	// Lost writes nothing and says that it doesn't know.
	Lost
	// Unheard writes and says that it doesn't know.
	Unheard
)

// ErrFault is what a Faulty store's failed append says.
var ErrFault = fmt.Errorf("injected fault")

// Faulty is a store with faults in front of it.
type Faulty struct {
	session.Store
	// Before, if set, is called before each append, with its number; it may
	// block. After is called when it is written and not yet answered.
	Before, After func(n int)

	mu     sync.Mutex
	faults map[int]Kind
	calls  int
}

// NewFaulty puts faults in front of a store.
func NewFaulty(s session.Store, faults ...Fault) *Faulty {
	f := &Faulty{Store: s, faults: map[int]Kind{}}
	for _, fault := range faults {
		f.faults[fault.At] = fault.Kind
	}
	return f
}

// Add puts one more fault in front of the n-th append from now.
func (f *Faulty) Add(n int, k Kind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[f.calls+n] = k
}

// Appends says how many appends were asked for.
func (f *Faulty) Appends() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Append appends, or fails as it was told to.
func (f *Faulty) Append(ctx context.Context, appends ...session.Append) []error {
	f.mu.Lock()
	f.calls++
	n := f.calls
	kind, faulty := f.faults[n]
	f.mu.Unlock()
	if f.Before != nil {
		f.Before(n)
	}
	switch {
	case faulty && kind == Fails:
		return every(appends, ErrFault)
	case faulty && kind == Lost:
		return every(appends, session.ErrUncertain)
	}
	errs := f.Store.Append(ctx, appends...)
	if f.After != nil {
		f.After(n)
	}
	if faulty && kind == Unheard {
		for i, err := range errs {
			if err == nil {
				errs[i] = session.ErrUncertain
			}
		}
	}
	return errs
}

func every(appends []session.Append, err error) []error {
	errs := make([]error, len(appends))
	for i := range errs {
		errs[i] = err
	}
	return errs
}
