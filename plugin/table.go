package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// table is what may be looked up in one scope: by key, in the order in which it
// was registered. It is never changed.
type table map[any][]*offer

// offer is one registration of a value under a key.
type offer struct {
	place place
	scope *Scope
	key   any
	value any
	name  string // of a hook or listener
	calls atomic.Int64
	free  chan struct{} // closed when the last call in it has ended, once closed
	once  sync.Once
}

// closedBit in offer.calls says that no more calls are let in.
const closedBit = 1 << 62

// call is an offer held by whoever is inside it.
type call = *offer

// offer registers a value under a key.
func (s *Scope) offer(o *offer) error {
	o.scope, o.free = s, make(chan struct{})
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if err := s.push(&o.place, o); err != nil {
		return err
	}
	s.offers = append(s.offers, o)
	s.publish()
	return nil
}

// withdraw takes what was offered out of what may be looked up. The caller
// holds tree.mu.
func (s *Scope) withdraw(u undoer) {
	if at := slices.Index(s.offers, u); at >= 0 {
		s.offers = slices.Delete(slices.Clone(s.offers), at, at+1)
		s.publish()
	}
}

// publish makes the table anew, and that of the scope which shows this one's.
// The caller holds tree.mu.
func (s *Scope) publish() {
	t := table{}
	s.fill(t)
	s.table.Store(&t)
	if s.kind == shown {
		s.parent.publish()
	}
}

func (s *Scope) fill(t table) {
	for _, u := range s.offers {
		switch u := u.(type) {
		case *offer:
			t[u.key] = append(t[u.key], u)
		case *Scope:
			if u.kind == shown {
				u.fill(t)
			}
		}
	}
}

// own is what a scope itself has under a key; a shadow that is shown has it in
// its parent.
func (s *Scope) own(key any) []*offer {
	if s.kind == shown {
		return nil
	}
	if t := s.table.Load(); t != nil {
		return (*t)[key]
	}
	return nil
}

// any says whether s or a scope it is in has something under a key.
func (s *Scope) any(key any) bool {
	for x := s; x != nil; x = x.parent {
		if len(x.own(key)) > 0 {
			return true
		}
	}
	return false
}

// chain lists what s sees under a key, the root's first.
func (s *Scope) chain(key any) []*offer {
	n := 0
	for x := s; x != nil; x = x.parent {
		n += len(x.own(key))
	}
	if n == 0 {
		return nil
	}
	out := make([]*offer, n)
	for x := s; x != nil; x = x.parent {
		own := x.own(key)
		n -= len(own)
		copy(out[n:], own)
	}
	return out
}

// enter lets a call in, unless what was offered is being taken away.
func (o *offer) enter() bool {
	if o.calls.Add(1)&closedBit == 0 {
		return true
	}
	o.exit()
	return false
}

func (o *offer) exit() {
	if o.calls.Add(-1) == closedBit {
		o.once.Do(func() { close(o.free) })
	}
}

// undo takes the offer away and waits until the calls in it have ended.
func (o *offer) undo(context.Context) error {
	o.scope.tree.mu.Lock()
	o.scope.withdraw(o)
	o.scope.tree.mu.Unlock()
	o.calls.Add(1) // keeps the last call from closing free before the bit is set
	o.calls.Add(closedBit)
	o.exit()
	<-o.free
	return nil
}

func (o *offer) what() string {
	if o.name != "" {
		return fmt.Sprintf("%v of %s", o.key, o.name)
	}
	return fmt.Sprint(o.key)
}

// logPanic reports a panic of something registered in s.
func logPanic(ctx context.Context, s *Scope, what string, value any) {
	s.Log().ErrorContext(ctx, "panic", "in", what, "error", caught(value, nil))
}
