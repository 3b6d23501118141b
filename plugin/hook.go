package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
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
// innermost answer. Who is asked is settled when it begins. A wrapper that
// returns an error of its own, panics, or calls next twice is named in a
// *HookError.
func (k *Hook[In, Out]) Ask(ctx context.Context, s *Scope, in In, last func(context.Context, In) (Out, error)) (Out, error) {
	chain := s.chain(k)
	if chain == nil {
		return last(ctx, in)
	}
	held := chain[:0]
	for _, o := range chain {
		if o.enter() {
			held = append(held, o)
		}
	}
	defer func() {
		for _, o := range held {
			o.exit()
		}
	}()
	ctx = within(ctx, &mark{calls: held})
	return k.ask(ctx, held, in, last)
}

// ask asks the first of the chain.
func (k *Hook[In, Out]) ask(ctx context.Context, chain []*offer, in In, last func(context.Context, In) (Out, error)) (out Out, err error) {
	if len(chain) == 0 {
		return last(ctx, in)
	}
	o := chain[0]
	var used, over atomic.Bool
	var twice atomic.Bool
	var inner error // what came from further in
	next := func(ctx context.Context, in In) (Out, error) {
		if over.Load() || used.Swap(true) {
			twice.Store(true)
			var none Out
			return none, ErrTwice
		}
		out, err := k.ask(ctx, chain[1:], in, last)
		inner = err
		return out, err
	}
	defer func() {
		over.Store(true)
		value := recover()
		switch {
		case value != nil:
			err = caught(value, nil)
		case twice.Load():
			err = ErrTwice
		case err == nil || inner != nil && errors.Is(err, inner):
			return // as it came from further in
		}
		err = &HookError{Point: k.name, Hook: o.name, Err: err}
	}()
	return o.value.(wrapper[In, Out])(ctx, in, next)
}
