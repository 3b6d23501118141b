package plugin

import (
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Scope is a lifetime. What is registered through it ends with it.
//
// All methods may be called at any time, by anyone, from what is registered
// too. Once Close has begun, registering is an error that is ErrClosed. An
// empty scope costs little: there may be one for each of very many agents.
type Scope struct {
	name   string
	parent *Scope // nil: the root
	shadow bool   // its kind is hidden or shown
	tree   *tree
	place  *list.Element // in the parent's list

	// table is what may be looked up here. It is never changed, only replaced.
	table atomic.Pointer[table]

	// Guarded by tree.mu.
	undos  *list.List // of undoers, in the order they came; nil: none yet
	offers []undoer   // those that can be looked up: offers and shadows
	kind   kind
	end    *end // not nil: closing or closed
	life   *life
}

// tree is what all scopes under one root share. The lock is held for a few
// steps at a time and never while calling out; looking up doesn't take it.
type tree struct {
	mu  sync.Mutex
	log *slog.Logger
}

// kind says who sees what is registered in a scope.
type kind uint8

const (
	open   kind = iota // it and the scopes in it
	hidden             // likewise: a shadow that wasn't swapped in, or was swapped out
	shown              // whoever sees what the parent has: a shadow swapped in
)

// life is made for those who ask for a scope's context.
type life struct {
	ctx context.Context //nolint:containedctx // a scope is a lifetime
	end context.CancelCauseFunc
}

// NewScope makes a root. Nil discards what is logged.
func NewScope(name string, log *slog.Logger) *Scope {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Scope{name: name, tree: &tree{log: log}}
}

// Child makes a scope in s that sees what s sees, and keeps what is registered
// in it to itself.
func (s *Scope) Child(name string) (*Scope, error) { return s.sprout(name, open) }

func (s *Scope) sprout(name string, k kind) (*Scope, error) {
	c := &Scope{name: name, parent: s, shadow: k != open, tree: s.tree, kind: k}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	var err error
	if c.place, err = s.push(c); err != nil {
		return nil, err
	}
	if k == hidden {
		s.offers = append(s.offers, c)
	}
	return c, nil
}

// Cleanup runs undo when s is closed, with a context that ends when the
// closer's patience does. Its error is reported by Close.
func (s *Scope) Cleanup(undo func(context.Context) error) error {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	_, err := s.push(cleanup(undo))
	return err
}

// Go runs a goroutine that belongs to s. Its context ends when its turn to be
// undone has come, and Close waits for it to return. A panic is logged.
func (s *Scope) Go(run func(context.Context)) error {
	ctx, stop := context.WithCancelCause(within(context.Background(), &mark{scope: s}))
	w := &worker{scope: s, run: run, stop: stop, ended: make(chan struct{})}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	var err error
	if w.place, err = s.push(w); err != nil {
		stop(err)
		return err
	}
	go w.work(ctx)
	return nil
}

// Context ends when s begins to close, with ErrClosed as its cause.
func (s *Scope) Context() context.Context {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.life == nil {
		ctx, end := context.WithCancelCause(context.Background())
		s.life = &life{ctx, end}
		if s.end != nil {
			end(ErrClosed)
		}
	}
	return s.life.ctx
}

// Name is what s was named.
func (s *Scope) Name() string { return s.name }

// Path is the names from the root to s: host/agent 7.
func (s *Scope) Path() string {
	if s.parent == nil {
		return s.name
	}
	return s.parent.Path() + "/" + s.name
}

// Log says with each record which scope it is from. Who logs often keeps it.
func (s *Scope) Log() *slog.Logger { return s.tree.log.With("scope", s.Path()) }

// holds says whether x is s or in it.
func (s *Scope) holds(x *Scope) bool {
	for ; x != nil; x = x.parent {
		if x == s {
			return true
		}
	}
	return false
}

// undoer is something registered.
type undoer interface {
	// undo returns when nothing is left of it.
	undo(context.Context) error
	// what is it, for those who read that it doesn't end?
	what() string
}

func (s *Scope) push(u undoer) (*list.Element, error) {
	if s.end != nil {
		return nil, fmt.Errorf("register in %s: %w", s.Path(), ErrClosed)
	}
	if s.undos == nil {
		s.undos = list.New()
	}
	return s.undos.PushBack(u), nil
}
