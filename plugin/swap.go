package plugin

import (
	"context"
	"fmt"
	"slices"
)

// Shadow makes a scope in s for a new instance of a part: what is registered in
// it is seen from within only, until Swap shows it. From then on it counts as
// registered in s. A start that fails is closed and was never seen.
func (s *Scope) Shadow(name string) (*Scope, error) { return s.sprout(name, hidden) }

// Swap shows the shadow fresh in place of the shadow old, at once: who looks up
// or asks meets all of one or all of the other, and a call that runs goes on as
// it began. Fresh stands where old stood, among the hooks as in the list of what
// Close undoes. If old is nil, or closed, fresh stands where it was made.
//
// Old works on, seen by nobody else, until the caller closes it or swaps it in
// again. Who watches has heard what became of services when Swap returns.
//
// Fresh must be a hidden shadow of s, old a shown one, and s and fresh open, or
// there is an error and nothing has changed.
func (s *Scope) Swap(ctx context.Context, old, fresh *Scope) error {
	home, list, err := s.swap(old, fresh)
	if err != nil {
		return fmt.Errorf("swap in %s: %w", s.Path(), err)
	}
	for _, c := range list {
		tell(ctx, home, watching{}, c)
	}
	return nil
}

// swap answers what became of services, and where to tell it.
func (s *Scope) swap(old, fresh *Scope) (home *Scope, list []Change, err error) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if err := s.maySwap(old, fresh); err != nil {
		return nil, nil, err
	}
	var had []string
	fresh.kind = shown
	if old != nil && slices.Contains(s.offers, undoer(old)) {
		had = old.services()
		old.kind = hidden
		s.replace(old, fresh)
	}
	s.publish()
	if home = s.home(); home.kind == open {
		list = changes(home.Path(), had, fresh.services())
	}
	return home, list, nil
}

func (s *Scope) maySwap(old, fresh *Scope) error {
	switch {
	case s.end != nil || fresh.end != nil:
		return ErrClosed
	case fresh.parent != s || fresh.kind != hidden:
		return fmt.Errorf("%s is not a hidden shadow of it", fresh.Path())
	case old != nil && (old.parent != s || old.kind != shown):
		return fmt.Errorf("%s is not a shadow shown in it", old.Path())
	}
	return nil
}

// replace puts fresh right behind old, in both lists of s.
func (s *Scope) replace(old, fresh *Scope) {
	s.undos.MoveAfter(fresh.place, old.place)
	s.offers = slices.DeleteFunc(s.offers, func(u undoer) bool { return u == undoer(fresh) })
	s.offers = slices.Insert(s.offers, slices.Index(s.offers, undoer(old))+1, undoer(fresh))
}
