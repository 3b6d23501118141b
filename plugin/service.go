package plugin

import (
	"context"
	"fmt"
	"slices"
)

// Service is the key of a value that one part provides and others need. Make
// it a package-level variable; two made with the same name are two keys.
type Service[T any] struct{ name string }

// NewService makes a key. The name is for people: model.source.
func NewService[T any](name string) *Service[T] { return &Service[T]{name} }

// Name is what the key was named.
func (k *Service[T]) Name() string { return k.name }

// String is the name and what it is.
func (k *Service[T]) String() string { return "service " + k.name }

// Provide makes value what Get finds in s and the scopes in it, until s is
// closed. What was provided later, or nearer, is found first. Who watches has
// heard of it when Provide returns.
func (k *Service[T]) Provide(s *Scope, value T) error {
	if err := s.offer(&offer{key: k, value: value}); err != nil {
		return fmt.Errorf("provide %s: %w", k.name, err)
	}
	s.changed(context.Background(), k, Provided)
	return nil
}

// Get finds the value in s or the nearest scope it is in.
func (k *Service[T]) Get(s *Scope) (value T, found bool) {
	for ; s != nil; s = s.parent {
		if own := s.own(k); len(own) > 0 {
			value, _ = own[len(own)-1].value.(T) // not ok: a nil interface
			return value, true
		}
	}
	return value, false
}

// All lists the values that s sees, the root's first, in the order in which
// they were provided.
func (k *Service[T]) All(s *Scope) []T {
	var room [8]call
	var values []T
	for _, c := range s.calls(k, room[:0]) {
		value, _ := c.value.(T)
		values = append(values, value)
	}
	return values
}

// Provided says whether s sees a value.
func (k *Service[T]) Provided(s *Scope) bool { return s.any(k) }

// Key is a service's key without its type, for those who wait for services by
// name.
type Key interface {
	Name() string
	// Provided says whether s sees a value.
	Provided(s *Scope) bool
}

// Missing names the needs of which s sees no value.
func Missing(s *Scope, needs ...Key) []string {
	var names []string
	for _, k := range needs {
		if !k.Provided(s) {
			names = append(names, k.Name())
		}
	}
	return names
}

// Watch has listen called, as an Event's listeners are, when a service's value
// comes to be seen in s or a scope in it, or is about to go. It lets a host
// start what needs a service, and stop it before the service goes.
func (s *Scope) Watch(listen func(context.Context, Change)) error {
	return on(s, watching{}, listen)
}

// watching is the key of those who watch.
type watching struct{}

func (watching) String() string { return "changes of services" }

// Change is what becomes of a service's value.
type Change struct {
	Service string     `json:"service"`
	Kind    ChangeKind `json:"kind"`
	Scope   string     `json:"scope"` // the path of where it is seen
}

// ChangeKind is what becomes of a service's value.
type ChangeKind string

const (
	Provided ChangeKind = "provided" // it is there now
	Leaving  ChangeKind = "leaving"  // it works until all who watch have heard, then it goes
	Replaced ChangeKind = "replaced" // by Swap: another is there now, and the old one works until its scope is closed
)

// Provides lists the names of the services provided through s, sorted.
func (s *Scope) Provides() []string {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.services()
}

// services is Provides for who holds tree.mu.
func (s *Scope) services() []string {
	t := table{}
	s.fill(t)
	var names []string
	for key := range t {
		if k, ok := key.(Key); ok {
			names = append(names, k.Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// changed says what becomes of a value provided through s, if it is seen by
// others.
func (s *Scope) changed(ctx context.Context, k Key, what ChangeKind) {
	s.tree.mu.Lock()
	home := s.home()
	seen := home.kind == open
	s.tree.mu.Unlock()
	if seen && home.any(watching{}) {
		tell(ctx, home, watching{}, Change{Service: k.Name(), Kind: what, Scope: home.Path()})
	}
}

// changes compares what a fresh shadow provides with what the old one did.
func changes(home string, had, has []string) []Change {
	var list []Change
	for _, name := range had {
		if !slices.Contains(has, name) {
			list = append(list, Change{Service: name, Kind: Leaving, Scope: home})
		}
	}
	for _, name := range has {
		kind := Provided
		if slices.Contains(had, name) {
			kind = Replaced
		}
		list = append(list, Change{Service: name, Kind: kind, Scope: home})
	}
	return list
}
