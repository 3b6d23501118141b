package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// FailureKind says why a model gave no answer, so that a program can tell what
// to do.
type FailureKind string

const (
	FailureRateLimit     FailureKind = "rate-limit"       // asked too often, for now
	FailureOverloaded    FailureKind = "overloaded"       // the provider has too much to do
	FailureServer        FailureKind = "server"           // the provider is broken
	FailureNetwork       FailureKind = "network"          // the provider can't be reached
	FailureTimeout       FailureKind = "timeout"          // no answer in time
	FailureBroken        FailureKind = "stream-broken"    // the answer broke off or made no sense
	FailureTooLong       FailureKind = "context-too-long" // the request doesn't fit
	FailureInvalid       FailureKind = "invalid-request"  // the provider can't use the request
	FailureAuth          FailureKind = "auth"             // the provider doesn't know us or won't have us
	FailureQuota         FailureKind = "quota"            // what was paid for is used up
	FailureContentFilter FailureKind = "content-filter"   // the provider won't read or say this
	FailureCancelled     FailureKind = "cancelled"        // the caller's context was cancelled
	FailureUnknown       FailureKind = "unknown"          // nothing of the above
)

// policy is what a kind of failure means by default.
type policy struct {
	retry bool
	fix   string
}

var policies = map[FailureKind]policy{
	FailureRateLimit:     {true, "wait, or ask the provider for a higher limit"},
	FailureOverloaded:    {true, "wait, or choose another model"},
	FailureServer:        {true, "try again later, or choose another model"},
	FailureNetwork:       {true, "check the connection, the proxy and the provider's address"},
	FailureTimeout:       {true, "try again, or allow more time"},
	FailureBroken:        {true, "try again; if it stays, the provider or its adapter is at fault"},
	FailureTooLong:       {false, "shorten the history, or choose a model with a bigger context window"},
	FailureInvalid:       {false, "check the model's name and parameters"},
	FailureAuth:          {false, "check the key and what it may use"},
	FailureQuota:         {false, "check the plan and billing at the provider"},
	FailureContentFilter: {false, "say it differently, or choose another model"},
	FailureCancelled:     {false, "ask again if it is still wanted"},
	FailureUnknown:       {false, "see what the provider said"},
}

// Retryable says whether asking again may help, with nothing changed.
func (k FailureKind) Retryable() bool { return policies[k].retry }

// Fix says what a person can do.
func (k FailureKind) Fix() string { return policies[k].fix }

// Failure says why there is no answer. It is data, but for Err.
type Failure struct {
	Kind   FailureKind `json:"kind"`
	Status int         `json:"status,omitempty"` // of HTTP; 0: there was none
	Text   string      `json:"text,omitempty"`   // what happened, in the provider's words where it has some
	Fix    string      `json:"fix,omitempty"`    // what a person can do; empty: what the kind says
	// RetryAfter is how long the provider wants to be left alone, in
	// nanoseconds; 0: it didn't say.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// Final says that the provider rules out what its kind would let try again.
	Final bool  `json:"final,omitempty"`
	Err   error `json:"-"` // the cause
}

// Retryable says whether asking again may help, with nothing changed.
func (f *Failure) Retryable() bool { return f.Kind.Retryable() && !f.Final }

// Error says what happened and what a person can do:
//
//	auth (status 401): invalid key: check the key and what it may use
func (f *Failure) Error() string {
	s := string(f.Kind)
	if f.Status != 0 {
		s += fmt.Sprintf(" (status %d)", f.Status)
	}
	switch {
	case f.Text != "":
		s += ": " + f.Text
	case f.Err != nil:
		s += ": " + f.Err.Error()
	}
	fix := f.Fix
	if fix == "" {
		fix = f.Kind.Fix()
	}
	if fix != "" {
		s += ": " + fix
	}
	return s
}

func (f *Failure) Unwrap() error { return f.Err }

var errUnfinished = errors.New("the answer ended without a finish")

func brokenStream(err error) *Failure { return &Failure{Kind: FailureBroken, Err: err} }

// FailureOf is err as a failure: the one it wraps, else one of the kind that
// fits best. It is nil for nil. A cancelled context counts first, whatever an
// adapter took it for.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return &Failure{Kind: FailureCancelled, Err: err}
	}
	var f *Failure
	if errors.As(err, &f) {
		if f.Kind == "" {
			kinder := *f
			kinder.Kind = kindOf(f.Err)
			return &kinder
		}
		return f
	}
	return &Failure{Kind: kindOf(err), Err: err}
}

func kindOf(err error) FailureKind {
	var timeout interface{ Timeout() bool }
	var network net.Error
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return FailureTimeout
	case errors.As(err, &timeout) && timeout.Timeout():
		return FailureTimeout
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, io.ErrNoProgress):
		return FailureBroken
	case errors.As(err, &network), errors.As(err, &errno), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return FailureNetwork
	default:
		return FailureUnknown
	}
}

// KindOfStatus is the kind of failure that an HTTP status alone tells of. A
// provider's own code, where there is one, tells more.
func KindOfStatus(status int) FailureKind {
	if kind, known := kindsOfStatus[status]; known {
		return kind
	}
	switch status / 100 {
	case 4:
		return FailureInvalid
	case 5:
		return FailureServer
	default:
		return FailureUnknown
	}
}

var kindsOfStatus = map[int]FailureKind{
	401: FailureAuth,
	402: FailureQuota,
	403: FailureAuth,
	408: FailureTimeout,
	413: FailureTooLong,
	429: FailureRateLimit,
	503: FailureOverloaded,
	529: FailureOverloaded, // no standard, but what some answer when they are
}
