package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Hook is the key of a question. Those who wrap it stand around the answer,
// the root's first as the outermost. In and Out are data: JSON there and back
// leaves them unchanged, so that who wraps may live in another process.
type Hook[In, Out any] struct{ name string }

// NewHook makes a key. The name is for people: agent.entering.
func NewHook[In, Out any](name string) *Hook[In, Out] { return &Hook[In, Out]{name} }

// Name is what the key was named.
func (k *Hook[In, Out]) Name() string { return k.name }

// String is the name and what it is.
func (k *Hook[In, Out]) String() string { return "hook " + k.name }

// wrapper is what Wrap takes.
type wrapper[In, Out any] = func(ctx context.Context, in In, next func(context.Context, In) (Out, error)) (Out, error)

// Wrap puts wrap around the answers to what is asked in s and the scopes in it,
// until s is closed. The name says who it is when it breaks.
//
// Wrap answers the question, or passes it on to next, once, changed or not, and
// may change the answer. Next asks those further in, and last whoever asked.
// Not calling it is an answer.
func (k *Hook[In, Out]) Wrap(s *Scope, name string, wrap func(ctx context.Context, in In, next func(context.Context, In) (Out, error)) (Out, error)) error {
	if err := s.offer(&offer{key: k, value: wrap, name: name}); err != nil {
		return fmt.Errorf("wrap %s: %w", k.name, err)
	}
	return nil
}

// Any says whether somebody wraps the hook in s or a scope it is in. It costs
// next to nothing.
func (k *Hook[In, Out]) Any(s *Scope) bool { return s.any(k) }

// Ask asks those who wrap the hook in s and the scopes it is in; last is the
// innermost answer. Who is asked is settled when it begins: none of them is
// undone before it has answered.
//
// A wrapper that returns an error of its own, panics, or calls next twice is
// named in a *HookError. An error of last comes as it is, and a panic in last
// as a *PanicError: Ask doesn't panic.
func (k *Hook[In, Out]) Ask(ctx context.Context, s *Scope, in In, last func(context.Context, In) (Out, error)) (Out, error) {
	if !s.any(k) {
		return answer(ctx, in, last)
	}
	a := &asking[In, Out]{point: k.name, last: last}
	a.calls = s.enter(k, a.room[:0])
	return a.from(within(ctx, &a.mark), 0, in)
}

// enter holds all that s sees under a key. What can't be held is on its way out
// and no longer seen, so looking again is enough. To go on without it would be
// to skip a guard that is being swapped.
func (s *Scope) enter(key any, room []call) []call {
	for {
		calls := s.calls(key, room)
		held := 0
		for held < len(calls) && calls[held].enter() {
			held++
		}
		if held == len(calls) {
			return calls
		}
		release(calls[:held])
	}
}

func release(calls []call) {
	for i := range calls {
		calls[i].leave()
	}
}

// asking is one Ask that somebody wraps.
type asking[In, Out any] struct {
	mark  // whose calls are the wraps, outermost first; each is held until it has returned
	point string
	last  func(context.Context, In) (Out, error)
	mu    sync.Mutex // guards what is told in calls
	room  [2]call
}

// from answers by the wraps from the i-th one on.
func (a *asking[In, Out]) from(ctx context.Context, i int, in In) (out Out, err error) {
	if i == len(a.calls) {
		return answer(ctx, in, a.last)
	}
	defer func() { err = a.finish(i, caught(recover(), err)) }()
	wrap := a.calls[i].value.(wrapper[In, Out])
	return wrap(ctx, in, func(ctx context.Context, in In) (out Out, err error) {
		if !a.begin(i) {
			return out, a.broken(i, ErrTwice)
		}
		out, err = a.from(ctx, i+1, in)
		a.mu.Lock()
		a.calls[i].inner = err
		a.mu.Unlock()
		return out, err
	})
}

// begin is false if the rest behind the i-th wrap was run, or never will be.
func (a *asking[In, Out]) begin(i int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[i].nexts++
	return a.calls[i].nexts == 1
}

// finish is called when the i-th wrap has returned. If it didn't call next, it
// can't any more.
func (a *asking[In, Out]) finish(i int, err error) error {
	a.mu.Lock()
	c := &a.calls[i]
	nexts, inner := c.nexts, c.inner
	c.nexts = max(nexts, 1)
	a.mu.Unlock()
	if nexts == 0 {
		release(a.calls[i+1:])
	}
	c.leave()
	switch {
	case nexts > 1:
		return a.broken(i, ErrTwice)
	case err == nil || inner != nil && errors.Is(err, inner):
		return err
	}
	return a.broken(i, err)
}

func (a *asking[In, Out]) broken(i int, err error) error {
	return &HookError{Point: a.point, Hook: a.calls[i].name, Err: err}
}

func answer[In, Out any](ctx context.Context, in In, last func(context.Context, In) (Out, error)) (out Out, err error) {
	defer func() { err = caught(recover(), err) }()
	return last(ctx, in)
}
