package plugin

import (
	"fmt"
	"slices"
)

// Shadow makes a scope in s whose registrations nobody else sees until Swap. It
// is for a new instance of a part that takes an old one's place at once.
func (s *Scope) Shadow(name string) (*Scope, error) { return s.sprout(name, hidden) }

// Swap shows what is registered in the shadow fresh to all who see s, in the
// place of what is in the shadow old, which is hidden from then on. Old may be
// nil. Calls in old end there; who swaps closes it afterwards.
func (s *Scope) Swap(old, fresh *Scope) error {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	switch {
	case fresh.parent != s || fresh.kind == open || old != nil && (old.parent != s || old.kind == open):
		return fmt.Errorf("swap in %s: not a shadow of it", s.Path())
	case s.end != nil || fresh.end != nil:
		return fmt.Errorf("swap in %s: %w", s.Path(), ErrClosed)
	}
	fresh.kind = shown
	if old != nil && old != fresh {
		old.kind = hidden
		s.offers = moved(s.offers, fresh, old)
	}
	s.publish()
	return nil
}

// moved puts fresh where old is in the order of looking up.
func moved(offers []undoer, fresh, old *Scope) []undoer {
	out := slices.DeleteFunc(slices.Clone(offers), func(u undoer) bool { return u == undoer(fresh) })
	at := slices.Index(out, undoer(old))
	if at < 0 {
		at = len(out)
	}
	return slices.Insert(out, at, undoer(fresh))
}
