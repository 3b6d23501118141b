package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// offer is a service, a listener or a hook, registered in a scope.
type offer struct {
	gate
	scope *Scope
	key   any    // a pointer to a Service, an Event or a Hook
	name  string // of a hook or a listener
	value any    // as the key wants it
}

// table holds the offers seen in one scope, in order.
type table map[any][]*offer

// offer registers o in s, where whoever may look there finds it at once.
func (s *Scope) offer(o *offer) error {
	o.scope = s
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if _, err := s.push(o); err != nil {
		return err
	}
	s.offers = append(s.offers, o)
	s.publish()
	return nil
}

// withdraw takes u out of what s offers.
func (s *Scope) withdraw(u undoer) {
	if i := slices.Index(s.offers, u); i >= 0 {
		s.offers = slices.Delete(s.offers, i, i+1)
		s.publish()
	}
}

// home is where the offers of s are seen.
func (s *Scope) home() *Scope {
	for s.kind == shown {
		s = s.parent
	}
	return s
}

// publish makes the table of s anew, and of those that show what s offers.
func (s *Scope) publish() {
	t := table{}
	s.fill(t)
	if len(t) == 0 {
		s.table.Store(nil)
	} else {
		s.table.Store(&t)
	}
	if s.kind == shown {
		s.parent.publish()
	}
}

// fill adds the offers of s, and of the shadows shown in it, to a table.
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

// own is what is registered in s, and shown in it. Nobody changes the answer.
func (s *Scope) own(key any) []*offer {
	if t := s.table.Load(); t != nil {
		return (*t)[key]
	}
	return nil
}

// any says whether s sees something under a key.
func (s *Scope) any(key any) bool {
	for ; s != nil; s = s.parent {
		if len(s.own(key)) > 0 {
			return true
		}
	}
	return false
}

// call is an offer that takes part in an Ask or Tell.
type call struct {
	*offer
	nexts int   // how often its next was called
	inner error // what next answered
}

// calls appends all that s sees under a key, the root's first. What a shadow
// has and shows is seen from within it in two places, but counts once.
func (s *Scope) calls(key any, list []call) []call {
	if s == nil {
		return list
	}
	list = s.parent.calls(key, list)
	for _, o := range s.own(key) {
		if s.shadow && slices.ContainsFunc(list, func(c call) bool { return c.offer == o }) {
			continue
		}
		list = append(list, call{offer: o})
	}
	return list
}

// undo takes o out of sight and waits for the calls in it.
func (o *offer) undo(ctx context.Context) error {
	if service, ok := o.key.(Key); ok {
		o.scope.changed(ctx, service, Leaving)
	}
	o.scope.tree.mu.Lock()
	o.scope.withdraw(o)
	o.scope.tree.mu.Unlock()
	<-o.shut()
	return nil
}

func (o *offer) what() string {
	if o.name == "" {
		return fmt.Sprint(o.key)
	}
	return fmt.Sprintf("%v of %s", o.key, o.name)
}

// gate knows how many are inside, and can be shut.
type gate struct {
	mu     sync.Mutex
	inside int
	empty  chan struct{} // not nil: shut; closed when nobody is inside
}

// enter is false when the gate is shut.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty != nil {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
	}
}

// shut lets nobody in any more and tells when all have left. It is called once.
func (g *gate) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.empty = make(chan struct{})
	if g.inside == 0 {
		close(g.empty)
	}
	return g.empty
}
