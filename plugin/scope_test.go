package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/tack-agent/tack/plugin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("broken")

// root makes a scope that the test closes, if it isn't closed by then.
func root(t testing.TB) *plugin.Scope {
	s := plugin.NewScope("host", nil)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// child and shadow make scopes that must be made.
func child(t testing.TB, s *plugin.Scope, name string) *plugin.Scope {
	t.Helper()
	return must(t)(s.Child(name))
}

func shadow(t testing.TB, s *plugin.Scope, name string) *plugin.Scope {
	t.Helper()
	return must(t)(s.Shadow(name))
}

func must(t testing.TB) func(*plugin.Scope, error) *plugin.Scope {
	return func(s *plugin.Scope, err error) *plugin.Scope {
		t.Helper()
		ok(t, err)
		return s
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same fails with the promise when got isn't want.
func same[T any](t testing.TB, got, want T, promise string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", promise, diff)
	}
}

// is fails with the promise when err isn't want.
func is(t testing.TB, err, want error, promise string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", promise, err, want)
	}
}

// note returns a cleanup that adds its name to the list.
func note(list *[]string, name string) func(context.Context) error {
	return func(context.Context) error { *list = append(*list, name); return nil }
}

// history is a random tree of scopes and what ought to be undone, in which order.
type history struct {
	undone []string
	next   int
}

// branch is the reference: a scope, and in order what is registered in it.
type branch struct {
	scope  *plugin.Scope
	in     *branch
	leaves []any // string or *branch
}

func (b *branch) order() []string {
	var names []string
	for _, l := range slices.Backward(b.leaves) {
		switch l := l.(type) {
		case string:
			names = append(names, l)
		case *branch:
			names = append(names, l.order()...)
		}
	}
	return names
}

func (b *branch) all() []*branch {
	list := []*branch{b}
	for _, l := range b.leaves {
		if in, ok := l.(*branch); ok {
			list = append(list, in.all()...)
		}
	}
	return list
}

func (h *history) register(rt *rapid.T, b *branch, what string) {
	h.next++
	name := fmt.Sprint(what, " ", h.next)
	var err error
	switch what {
	case "cleanup":
		err = b.scope.Cleanup(note(&h.undone, name))
	case "failing":
		err = b.scope.Cleanup(func(ctx context.Context) error { _ = note(&h.undone, name)(ctx); return errBroken })
	case "panicking":
		err = b.scope.Cleanup(func(ctx context.Context) error { _ = note(&h.undone, name)(ctx); panic(name) })
	case "goroutine":
		err = b.scope.Go(func(ctx context.Context) { <-ctx.Done(); _ = note(&h.undone, name)(ctx) })
	case "child", "shadow":
		grow := b.scope.Child
		if what == "shadow" {
			grow = b.scope.Shadow
		}
		var in *plugin.Scope
		in, err = grow(name)
		b.leaves = append(b.leaves, &branch{scope: in, in: b})
	}
	if err != nil {
		rt.Fatal(err)
	}
	if what != "child" && what != "shadow" {
		b.leaves = append(b.leaves, name)
	}
}

func TestP1EverythingIsUndoneLastFirst(t *testing.T) {
	kinds := []string{"cleanup", "cleanup", "failing", "panicking", "goroutine", "child", "child", "shadow"}
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{}
		top := &branch{scope: plugin.NewScope("host", nil)}
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			all := top.all()
			b := all[rapid.IntRange(0, len(all)-1).Draw(rt, "scope")]
			if b != top && rapid.IntRange(0, 9).Draw(rt, "close") == 0 {
				h.close(rt, b)
				i := slices.Index(b.in.leaves, any(b))
				b.in.leaves = slices.Delete(b.in.leaves, i, i+1)
				continue
			}
			h.register(rt, b, rapid.SampledFrom(kinds).Draw(rt, "kind"))
		}
		h.close(rt, top)
	})
}

func (h *history) close(rt *rapid.T, b *branch) {
	h.undone = nil
	err := b.scope.Close(context.Background())
	if diff := cmp.Diff(b.order(), h.undone); diff != "" {
		rt.Fatalf("everything is undone once, last first (-want +got):\n%s", diff)
	}
	for _, name := range h.undone {
		if strings.HasPrefix(name, "panicking") && !strings.Contains(fmt.Sprint(err), "panic: "+name) {
			rt.Fatalf("the panic of %s isn't reported: %v", name, err)
		}
		if strings.HasPrefix(name, "failing") && !errors.Is(err, errBroken) {
			rt.Fatalf("the error of %s isn't reported: %v", name, err)
		}
	}
	if again := b.scope.Close(context.Background()); fmt.Sprint(again) != fmt.Sprint(err) {
		rt.Fatalf("closing again answers %v, not the same as the first: %v", again, err)
	}
}

func TestP1RegisteringOnAClosedScopeIsAnError(t *testing.T) {
	s := root(t)
	fresh := shadow(t, s, "p")
	s.Context()
	ok(t, s.Close(t.Context()))

	_, errChild := s.Child("c")
	_, errShadow := s.Shadow("c")
	for what, err := range map[string]error{
		"Child": errChild, "Shadow": errShadow,
		"Cleanup": s.Cleanup(note(new([]string), "")),
		"Go":      s.Go(func(context.Context) { t.Error("a goroutine of a closed scope runs") }),
		"Provide": plugin.NewService[int]("n").Provide(s, 1),
		"On":      plugin.NewEvent[int]("e").On(s, func(context.Context, int) {}),
		"Wrap":    plugin.NewHook[int, int]("h").Wrap(s, "w", add(1)),
		"Watch":   s.Watch(func(context.Context, plugin.Change) {}),
		"Swap":    s.Swap(t.Context(), nil, fresh),
		"Context": context.Cause(s.Context()),
	} {
		is(t, err, plugin.ErrClosed, what+" on a closed scope")
	}
}

func TestP1WhileClosingNothingIsRegisteredAnyMore(t *testing.T) {
	s := root(t)
	ok(t, s.Cleanup(func(context.Context) error { return s.Cleanup(note(new([]string), "")) }))
	is(t, s.Close(t.Context()), plugin.ErrClosed, "a cleanup that registers")
}

func TestP1AFailedStartIsUndoneUnseen(t *testing.T) {
	s, count := root(t), plugin.NewService[int]("count")
	var heard, undone []string
	ok(t, s.Watch(func(_ context.Context, c plugin.Change) { heard = append(heard, c.Service) }))

	p := shadow(t, s, "p")
	ok(t, p.Cleanup(note(&undone, "file")))
	ok(t, count.Provide(p, 1))
	if _, seen := count.Get(s); seen || count.Provided(s) {
		t.Error("what a shadow provides is seen outside")
	}
	if n, _ := count.Get(p); n != 1 {
		t.Errorf("what a shadow provides is seen from within: got %d, want 1", n)
	}
	ok(t, p.Close(t.Context()))
	same(t, undone, []string{"file"}, "a failed start is undone")
	same(t, heard, nil, "nobody hears of a failed start")
}

func TestP4APanicInACleanupIsReportedAndTheOthersRun(t *testing.T) {
	s := root(t)
	var undone []string
	ok(t, s.Cleanup(note(&undone, "first")))
	ok(t, s.Cleanup(func(context.Context) error { panic(errBroken) }))
	ok(t, s.Cleanup(note(&undone, "last")))
	err := s.Close(t.Context())
	if _, found := errors.AsType[*plugin.PanicError](err); !found {
		t.Errorf("Close doesn't report the panic: %v", err)
	}
	is(t, err, errBroken, "a panic with an error")
	same(t, undone, []string{"last", "first"}, "the other cleanups run")
}

func TestP4APanicInAGoroutineIsLogged(t *testing.T) {
	var out bytes.Buffer
	s := plugin.NewScope("host", slog.New(slog.NewTextHandler(&out, nil)))
	p := child(t, s, "p")
	ok(t, p.Go(func(context.Context) { panic("oh no") }))
	ok(t, s.Close(t.Context()))
	for _, want := range []string{"oh no", "scope=host/p", "TestP4APanicInAGoroutineIsLogged"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log doesn't tell %q: %s", want, out.String())
		}
	}
}

func TestGoroutinesEndInTheirTurnBeforeCloseReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := plugin.NewScope("host", nil)
		var undone []string
		ok(t, s.Go(func(ctx context.Context) {
			<-ctx.Done()
			is(t, context.Cause(ctx), plugin.ErrClosed, "why a goroutine is to end")
			time.Sleep(time.Hour)
			undone = append(undone, "goroutine")
		}))
		ok(t, s.Cleanup(func(context.Context) error {
			is(t, context.Cause(s.Context()), plugin.ErrClosed, "the scope's context ends as the closing begins")
			time.Sleep(time.Minute) // the goroutine works on
			undone = append(undone, "what stands on it")
			return nil
		}))
		s.Context()
		ok(t, s.Close(t.Context()))
		same(t, undone, []string{"what stands on it", "goroutine"}, "what came last is undone first")
	})
}

func TestWhatDoesNotEndIsNamedAndTheRestIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := plugin.NewScope("host", nil)
		stuck := make(chan struct{})
		var undone []string
		ok(t, s.Cleanup(note(&undone, "first")))
		p := child(t, s, "p")
		ok(t, p.Cleanup(note(&undone, "inner")))
		ok(t, p.Go(func(context.Context) { <-stuck }))
		ok(t, p.Cleanup(func(context.Context) error { <-stuck; return nil }))
		ok(t, p.Cleanup(func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }))

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errBroken)
		defer cancel()
		begin := time.Now()
		err := s.Close(ctx)
		if took := time.Since(begin); took > time.Minute+time.Second {
			t.Errorf("Close took %s beyond the end of its context", took-time.Minute)
		}
		for _, want := range []string{"close host/p: goroutine", "close host/p: cleanup", "TestWhatDoesNotEnd"} {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("the error doesn't name %q: %v", want, err)
			}
		}
		if _, found := errors.AsType[*plugin.AbandonedError](err); !found {
			t.Errorf("got %v, want an AbandonedError", err)
		}
		is(t, err, errBroken, "a cleanup hears that time is over")
		same(t, undone, []string{"inner", "first"}, "the rest is undone")
		close(stuck)
	})
}

func TestHasteChangesNoOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := plugin.NewScope("host", nil)
		var undone []string
		for _, name := range []string{"a", "b", "c"} {
			in := child(t, s, name)
			ok(t, in.Cleanup(func(ctx context.Context) error {
				time.Sleep(50 * time.Millisecond)
				return note(&undone, name)(ctx)
			}))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ok(t, s.Close(ctx))
		same(t, undone, []string{"c", "b", "a"}, "with no time left it is still last first")
	})
}

func TestAllClosersWaitForTheSameEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := plugin.NewScope("host", nil)
		p := child(t, s, "p")
		ended := false
		ok(t, p.Cleanup(func(context.Context) error { time.Sleep(time.Hour); ended = true; return errBroken }))
		answers := make(chan error, 3)
		for _, close := range []func(context.Context) error{p.Close, p.Close, s.Close} {
			go func() {
				err := close(context.Background())
				if !ended {
					t.Error("a closer returned before the end")
				}
				answers <- err
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		is(t, p.Close(ctx), context.DeadlineExceeded, "a closer's context bounds its wait")
		for range 3 {
			is(t, <-answers, errBroken, "all closers get the same answer")
		}
	})
}

func TestClosingFromWithinWouldWaitForItself(t *testing.T) {
	s := root(t)
	within := map[string]func(p *plugin.Scope, close func(context.Context)) error{
		"cleanup": func(p *plugin.Scope, close func(context.Context)) error {
			ok(t, p.Cleanup(func(ctx context.Context) error { close(ctx); return nil }))
			return p.Close(t.Context())
		},
		"goroutine": func(p *plugin.Scope, close func(context.Context)) error {
			done := make(chan struct{})
			ok(t, p.Go(func(ctx context.Context) { close(ctx); done <- struct{}{} }))
			<-done
			return nil
		},
		"listener": func(p *plugin.Scope, close func(context.Context)) error {
			e := plugin.NewEvent[int]("e")
			ok(t, e.On(p, func(ctx context.Context, _ int) { close(ctx) }))
			e.Tell(t.Context(), p, 1)
			return nil
		},
		"hook": func(p *plugin.Scope, close func(context.Context)) error {
			h := plugin.NewHook[int, int]("h")
			ok(t, h.Wrap(p, "w", func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
				close(ctx)
				return next(ctx, in)
			}))
			_, err := h.Ask(t.Context(), p, 1, double)
			return err
		},
		"answer under a hook": func(p *plugin.Scope, close func(context.Context)) error {
			h := plugin.NewHook[int, int]("h")
			ok(t, h.Wrap(p, "w", add(1)))
			_, err := h.Ask(t.Context(), p, 1, func(ctx context.Context, in int) (int, error) { close(ctx); return in, nil })
			return err
		},
	}
	for what, run := range within {
		t.Run(what, func(t *testing.T) {
			p := child(t, child(t, s, "outer"), "p")
			other := child(t, s, "other")
			called := false
			ok(t, run(p, func(ctx context.Context) {
				called = true
				is(t, p.Close(ctx), plugin.ErrSelfWait, "closing the own scope")
				is(t, s.Close(ctx), plugin.ErrSelfWait, "closing a scope around it")
				ok(t, other.Close(ctx))
			}))
			if !called {
				t.Error("it wasn't called")
			}
			ok(t, p.Close(t.Context()))
		})
	}
}

func TestAContextAskedForTooLateHasEnded(t *testing.T) {
	s := root(t)
	ok(t, s.Close(t.Context()))
	is(t, context.Cause(s.Context()), plugin.ErrClosed, "the context of a closed scope")
}
