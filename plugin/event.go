package plugin

import (
	"context"
	"fmt"
)

// Event is the key of something told: all who listen hear it, none can stop it
// or hold up the others' hearing by failing.
type Event[T any] struct{ name string }

// NewEvent makes a key. The name is for people: agent.opened.
func NewEvent[T any](name string) *Event[T] { return &Event[T]{name} }

// Name is what the key was named.
func (k *Event[T]) Name() string { return k.name }

// String is the name and what it is.
func (k *Event[T]) String() string { return "event " + k.name }

// On has listen called with all that is told in s and the scopes in it, on the
// goroutine of whoever tells, until s is closed.
func (k *Event[T]) On(s *Scope, listen func(context.Context, T)) error {
	return on(s, k, listen)
}

// Any says whether somebody listens in s or a scope it is in. It costs next to
// nothing.
func (k *Event[T]) Any(s *Scope) bool { return s.any(k) }

// Tell calls the listeners of s and of the scopes it is in, one after another,
// the root's first, and returns when all have heard. One that panics is
// reported; the others hear all the same. One whose scope is closed meanwhile
// isn't called any more.
func (k *Event[T]) Tell(ctx context.Context, s *Scope, value T) { tell(ctx, s, k, value) }

func on[T any](s *Scope, key fmt.Stringer, listen func(context.Context, T)) error {
	if err := s.offer(&offer{key: key, value: listen, name: nameOf(listen)}); err != nil {
		return fmt.Errorf("listen to %s: %w", key, err)
	}
	return nil
}

func tell[T any](ctx context.Context, s *Scope, key any, value T) {
	var room [4]call
	calls := s.calls(key, room[:0])
	for i := range calls {
		if calls[i].enter() {
			hear(ctx, calls[i].offer, value)
		}
	}
}

func hear[T any](ctx context.Context, o *offer, value T) {
	defer o.leave()
	ctx = within(ctx, &mark{scope: o.scope})
	defer func() {
		if panicked := recover(); panicked != nil {
			logPanic(ctx, o.scope, o.what(), panicked)
		}
	}()
	o.value.(func(context.Context, T))(ctx, value)
}
