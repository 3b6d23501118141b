package plugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
)

var (
	// ErrClosed refuses to register in a scope that is closed or closing.
	ErrClosed = errors.New("scope is closed")
	// ErrSelfWait refuses to close a scope from within: by a cleanup, goroutine,
	// hook or listener that the closing would wait for.
	ErrSelfWait = errors.New("would wait for itself")
	// ErrTwice is the answer of a next that has been called before, or whose
	// hook has returned.
	ErrTwice = errors.New("next runs the rest once, before the hook returns")
)

// AbandonedError names something that did not end in the time its closer had.
type AbandonedError struct {
	Scope string // the path of the scope
	What  string // goroutine example.org/p.(*Watcher).watch
}

func (e *AbandonedError) Error() string {
	return fmt.Sprintf("close %s: %s did not end", e.Scope, e.What)
}

// HookError names the hook that broke: it returned an error of its own,
// panicked, or called next twice. An error that came from further in names
// whoever it came from.
type HookError struct {
	Point string // the name of the Hook: agent.entering
	Hook  string // the name it was wrapped under
	Err   error
}

func (e *HookError) Error() string { return fmt.Sprintf("%s: hook %s: %v", e.Point, e.Hook, e.Err) }

func (e *HookError) Unwrap() error { return e.Err }

// PanicError is a panic that was caught.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap is the value, if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// caught makes an error of what recover returned, if it returned something.
func caught(value any, err error) error {
	if value == nil {
		return err
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// logPanic is for panics that no caller waits to hear of.
func logPanic(ctx context.Context, s *Scope, what string, value any) {
	s.Log().ErrorContext(ctx, "panic", "in", what, "panic", value, "stack", string(debug.Stack()))
}

// nameOf is a function as a stack trace would name it.
func nameOf(function any) string {
	return runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
}
