package storetest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// recorder is a test whose failure is noted and no failure of the test that
// makes it.
type recorder struct {
	testing.TB
	ctx context.Context //nolint:containedctx // a test's context

	mu       sync.Mutex
	failure  string
	skipped  bool
	cleanups []func()
}

// record runs a promise against a store and returns how it was broken; empty
// if it was kept.
func record(t *testing.T, p promise, c Config, limit time.Duration) (failure string, skipped bool) {
	ctx, cancel := context.WithTimeout(t.Context(), limit) // for stores that hang
	defer cancel()
	r := &recorder{TB: t, ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.cleanUp()
		p.test(r, c)
	}()
	<-done
	return r.failure, r.skipped
}

func (r *recorder) cleanUp() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Helper()                  {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.mu.Lock()
	r.failure = fmt.Sprintf(format, args...)
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *recorder) Skip(...any) {
	r.skipped = true
	runtime.Goexit()
}
