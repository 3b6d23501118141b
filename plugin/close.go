package plugin

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"time"
)

// moment is what each thing still gets to end when its closer's context has
// ended, so that haste changes no order.
const moment = 100 * time.Millisecond

// end is the end of a scope that all who close it wait for.
type end struct {
	done chan struct{}
	err  error // once done
}

// Close undoes everything registered through s, last first: cleanups run,
// goroutines end, scopes in s are closed, services, listeners and hooks go and
// the calls in them finish. It answers the joined errors of all that; one that
// fails or panics keeps nothing else from being undone.
//
// Whoever closes s waits for the same end and gets the same answer. The first
// one's context bounds the undoing: what doesn't end is left behind and named
// in an *AbandonedError. The others' contexts bound their wait. What s would
// have to wait for may not close it: ErrSelfWait.
func (s *Scope) Close(ctx context.Context) error {
	if s.waitsFor(ctx) {
		return fmt.Errorf("close %s: %w", s.Path(), ErrSelfWait)
	}
	e, first := s.begin()
	if first {
		e.err = s.undoAll(within(ctx, &mark{scope: s}))
		s.leave()
		close(e.done)
		return e.err
	}
	if !patient(ctx, e.done) {
		return fmt.Errorf("close %s: wait for who closes it: %w", s.Path(), context.Cause(ctx))
	}
	return e.err
}

func (s *Scope) begin() (e *end, first bool) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.end != nil {
		return s.end, false
	}
	s.end = &end{done: make(chan struct{})}
	if s.life != nil {
		s.life.end(ErrClosed)
	}
	return s.end, true
}

func (s *Scope) undoAll(ctx context.Context) error {
	var errs []error
	for u := s.pop(); u != nil; u = s.pop() {
		if inner, ok := u.(*Scope); ok {
			errs = append(errs, inner.Close(ctx)) // bounded by itself
			continue
		}
		errs = append(errs, s.undoOne(ctx, u))
	}
	return errors.Join(errs...)
}

func (s *Scope) pop() undoer {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.undos == nil || s.undos.Len() == 0 {
		return nil
	}
	return s.undos.Remove(s.undos.Back()).(undoer)
}

// undoOne leaves u behind when its time is over.
func (s *Scope) undoOne(ctx context.Context, u undoer) error {
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { err = caught(recover(), err) }()
		err = u.undo(ctx)
	}()
	switch {
	case !patient(ctx, ended):
		return &AbandonedError{Scope: s.Path(), What: u.what()}
	case err != nil:
		return fmt.Errorf("close %s: %s: %w", s.Path(), u.what(), err)
	}
	return nil
}

// patient waits for an end until ctx has ended, and a moment longer.
func patient(ctx context.Context, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-ctx.Done():
	}
	select {
	case <-ended:
		return true
	case <-time.After(moment):
		return false
	}
}

// leave takes s, which is empty, out of its parent.
func (s *Scope) leave() {
	if s.parent == nil {
		return
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.parent.undos.Remove(s.place)
	if s.shadow {
		s.parent.withdraw(s)
	}
}

func (s *Scope) undo(ctx context.Context) error { return s.Close(ctx) }

func (s *Scope) what() string { return "scope " + s.name }

// cleanup is a function to run.
type cleanup func(context.Context) error

func (c cleanup) undo(ctx context.Context) error { return c(ctx) }

func (c cleanup) what() string { return "cleanup " + nameOf(c) }

// worker is a goroutine.
type worker struct {
	scope *Scope
	place *list.Element
	run   func(context.Context)
	stop  context.CancelCauseFunc
	ended chan struct{}
}

func (w *worker) work(ctx context.Context) {
	defer w.finish()
	defer func() {
		if value := recover(); value != nil {
			logPanic(ctx, w.scope, w.what(), value)
		}
	}()
	w.run(ctx)
}

func (w *worker) finish() {
	w.stop(nil)
	w.scope.tree.mu.Lock()
	w.scope.undos.Remove(w.place)
	w.scope.tree.mu.Unlock()
	close(w.ended)
}

func (w *worker) undo(context.Context) error {
	w.stop(ErrClosed)
	<-w.ended
	return nil
}

func (w *worker) what() string { return "goroutine " + nameOf(w.run) }

// mark is in the context of whatever a scope would wait for while closing.
type mark struct {
	outer *mark
	scope *Scope
	calls []call // which are held by an Ask until it ends
}

type markKey struct{}

func within(ctx context.Context, m *mark) context.Context {
	m.outer, _ = ctx.Value(markKey{}).(*mark)
	return context.WithValue(ctx, markKey{}, m)
}

// waitsFor says whether s, closing, would wait for who runs under ctx.
func (s *Scope) waitsFor(ctx context.Context) bool {
	m, _ := ctx.Value(markKey{}).(*mark)
	for ; m != nil; m = m.outer {
		if s.holds(m.scope) {
			return true
		}
		for i := range m.calls {
			if s.holds(m.calls[i].scope) {
				return true
			}
		}
	}
	return false
}
