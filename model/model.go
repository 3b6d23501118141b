// Package model asks a language model and hears its answer while it is made.
//
// An adapter turns a [Request] into its provider's words and what comes back
// into deltas. An [Assembler] makes the answer of them. What went wrong is a
// [Failure], of a kind that a program can act on; what a model can do and
// costs is its [Info].
//
//	var a model.Assembler
//	finish, err := m.Ask(ctx, request, a.Tell)
//	answer, err := a.End(finish, err)
//
// The kit in modeltest proves an adapter.
package model

import (
	"context"

	"github.com/tack-agent/tack/chat"
)

// Model is one model of one provider. Any number of goroutines may ask it at
// the same time.
//
// Ask pushes rather than being pulled from, because then the finish is its
// return value, which can't come twice, be missed or be followed by anything;
// an instant answer costs no goroutine; and a caller turns away from a model
// that ignores its context by closing its own ear.
type Model interface {
	// Name says who this is, for people and logs.
	Name() string

	// Info says what the model can do and costs, as far as that is known. It
	// asks nobody and doesn't block.
	Info() Info

	// Ask puts r to the model, tells each delta as it comes and returns why
	// the model stopped. It blocks until the answer is whole or has failed.
	//
	// The deltas describe blocks in the order they begin, as [Delta] says.
	// They are told by one goroutine at a time, none after Ask has returned;
	// tell never blocks for long and does nothing once its owner has lost
	// interest.
	//
	// When ctx ends, Ask stops at once and its error wraps the context's.
	// Every other error is one that [FailureOf] knows a kind for: best a
	// *[Failure]. An answer that breaks off is an error, never a finish. Ask
	// doesn't retry: policy does.
	//
	// r is not to be changed, nor anything it holds; both may be kept.
	Ask(ctx context.Context, r *Request, tell func(Delta)) (chat.Finish, error)
}

// Complete asks m and returns the whole answer, for callers who don't watch it
// being made. The error is a *[Failure].
func Complete(ctx context.Context, m Model, r *Request) (chat.Answer, error) {
	var a Assembler
	finish, err := m.Ask(ctx, r, a.Tell)
	return a.End(finish, err)
}
