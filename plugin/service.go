package plugin

import "fmt"

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
// closed. What was provided later, or nearer, is found first.
func (k *Service[T]) Provide(s *Scope, value T) error {
	if err := s.offer(&offer{key: k, value: value}); err != nil {
		return fmt.Errorf("provide %s: %w", k.name, err)
	}
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
