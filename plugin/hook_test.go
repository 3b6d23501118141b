package plugin_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/plugin"
)

type wrap[In, Out any] = func(context.Context, In, func(context.Context, In) (Out, error)) (Out, error)

// add asks the rest for n more.
func add(n int) wrap[int, int] {
	return func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
		return next(ctx, in+n)
	}
}

func double(_ context.Context, in int) (int, error) { return 2 * in, nil }

// says puts its name into the question and around the answer.
func says(name string) wrap[string, string] {
	return func(ctx context.Context, in string, next func(context.Context, string) (string, error)) (string, error) {
		out, err := next(ctx, in+name)
		return name + out, err
	}
}

func echo(_ context.Context, in string) (string, error) { return "(" + in + ")", nil }

func TestP3HooksOfAnAgentAreItsAlone(t *testing.T) {
	host, h := root(t), plugin.NewHook[string, string]("h")
	a, b := child(t, host, "agent a"), child(t, host, "agent b")
	ok(t, h.Wrap(a, "3", says("3")))
	ok(t, h.Wrap(host, "1", says("1")))
	ok(t, h.Wrap(host, "2", says("2")))
	ok(t, h.Wrap(a, "4", says("4")))
	for s, want := range map[*plugin.Scope]string{host: "12(12)", a: "1234(1234)", b: "12(12)", child(t, a, "turn"): "1234(1234)"} {
		got, err := h.Ask(t.Context(), s, "", echo)
		ok(t, err)
		same(t, got, want, "the root's first is the outermost, "+s.Name()+"'s own the innermost")
	}
}

func TestP5NextRunsTheRestOnce(t *testing.T) {
	s, h := root(t), plugin.NewHook[int, int]("agent.entering")
	ok(t, h.Wrap(s, "outer", add(1)))
	ok(t, h.Wrap(s, "hasty", func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
		_, _ = next(ctx, in)
		out, err := next(ctx, in)
		is(t, err, plugin.ErrTwice, "calling next twice")
		return out, nil // and says nothing
	}))
	runs := 0
	_, err := h.Ask(t.Context(), s, 1, func(context.Context, int) (int, error) { runs++; return 0, nil })
	same(t, runs, 1, "the rest runs once")
	is(t, err, plugin.ErrTwice, "Ask of a hook that called next twice")
	broke(t, err, "hasty")
}

func TestP5NotCallingNextIsAnAnswer(t *testing.T) {
	s, h := root(t), plugin.NewHook[int, int]("h")
	var late func(context.Context, int) (int, error)
	ok(t, h.Wrap(s, "outer", add(1)))
	ok(t, h.Wrap(s, "shortcut", func(_ context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
		late = next
		return -in, nil
	}))
	inner := child(t, s, "inner")
	ok(t, h.Wrap(inner, "never", func(context.Context, int, func(context.Context, int) (int, error)) (int, error) {
		t.Error("the rest runs")
		return 0, nil
	}))
	got, err := h.Ask(t.Context(), inner, 1, double)
	ok(t, err)
	same(t, got, -2, "the answer")
	_, err = late(t.Context(), 1)
	is(t, err, plugin.ErrTwice, "calling next after the answer")
	ok(t, inner.Close(t.Context())) // held by nobody
}

// broke checks who is said to have broken.
func broke(t *testing.T, err error, hook string) {
	t.Helper()
	e, found := errors.AsType[*plugin.HookError](err)
	if !found || e.Hook != hook {
		t.Errorf("the hook that broke: got %v, want %s", err, hook)
	}
}

func TestTheHookThatBrokeIsNamed(t *testing.T) {
	s, h := root(t), plugin.NewHook[int, int]("agent.entering")
	ok(t, h.Wrap(s, "outer", func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
		out, err := next(ctx, in)
		if err != nil {
			err = errors.Join(errors.New("in passing"), err)
		}
		return out, err
	}))
	broken := child(t, s, "a")
	ok(t, h.Wrap(broken, "broken", func(context.Context, int, func(context.Context, int) (int, error)) (int, error) { return 0, errBroken }))
	_, err := h.Ask(t.Context(), broken, 1, double)
	broke(t, err, "broken")
	is(t, err, errBroken, "the hook's own error")

	panicking := child(t, s, "b")
	ok(t, h.Wrap(panicking, "panicking", func(context.Context, int, func(context.Context, int) (int, error)) (int, error) { panic("oh no") }))
	_, err = h.Ask(t.Context(), panicking, 1, double)
	broke(t, err, "panicking")
	if p, found := errors.AsType[*plugin.PanicError](err); !found || !strings.Contains(string(p.Stack), "TestTheHookThatBrokeIsNamed") {
		t.Errorf("got %v, want the panic and where it was", err)
	}

	_, err = h.Ask(t.Context(), child(t, s, "c"), 1, func(context.Context, int) (int, error) { return 0, errBroken })
	if e, found := errors.AsType[*plugin.HookError](err); found {
		t.Errorf("an error of the answer itself is blamed on %s", e.Hook)
	}
	is(t, err, errBroken, "an error of the answer itself")
}

func TestAskDoesNotPanic(t *testing.T) {
	s, h := root(t), plugin.NewHook[int, int]("h")
	wrapped := child(t, s, "wrapped")
	ok(t, h.Wrap(wrapped, "outer", add(1)))
	for _, in := range []*plugin.Scope{s, wrapped} {
		_, err := h.Ask(t.Context(), in, 1, func(context.Context, int) (int, error) { panic(errBroken) })
		is(t, err, errBroken, "a panic in the answer")
		if e, found := errors.AsType[*plugin.HookError](err); found {
			t.Errorf("a panic in the answer is blamed on %s", e.Hook)
		}
	}
}

func TestRegisteringWhileAskedIsForTheNextCall(t *testing.T) {
	s, h := root(t), plugin.NewHook[string, string]("h")
	ok(t, h.Wrap(s, "1", func(ctx context.Context, in string, next func(context.Context, string) (string, error)) (string, error) {
		ok(t, h.Wrap(child(t, s, "other"), "x", says("x")))
		ok(t, h.Wrap(s, "2", says("2")))
		return next(ctx, in)
	}))
	got, err := h.Ask(t.Context(), s, "", echo)
	ok(t, err)
	same(t, got, "()", "a call that runs")
	got, err = h.Ask(t.Context(), s, "", echo)
	ok(t, err)
	same(t, got, "2(2)", "the next call")
}

func TestCloseWaitsForTheCallsInAHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := plugin.NewScope("host", nil), plugin.NewHook[int, int]("h")
		p := child(t, s, "p")
		file := "open"
		ok(t, p.Cleanup(func(context.Context) error { file = "closed"; return nil }))
		ok(t, h.Wrap(p, "w", func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
			out, err := next(ctx, in)
			same(t, file, "open", "a hook that runs has what it stands on")
			return out, err
		}))
		go func() {
			_, err := h.Ask(t.Context(), p, 1, func(context.Context, int) (int, error) { time.Sleep(time.Hour); return 0, nil })
			ok(t, err)
		}()
		synctest.Wait()
		ok(t, p.Close(t.Context()))
		same(t, file, "closed", "after Close")
		if h.Any(p) {
			t.Error("the hook is still there")
		}
		ok(t, s.Close(t.Context()))
	})
}

func TestARestThatOutlivesItsHookIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := plugin.NewScope("host", nil), plugin.NewHook[int, int]("h")
		ok(t, h.Wrap(s, "impatient", func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
			go func() { _, _ = next(ctx, in) }()
			time.Sleep(time.Minute)
			return -1, nil
		}))
		p, ended := child(t, s, "p"), false
		ok(t, h.Wrap(p, "slow", func(context.Context, int, func(context.Context, int) (int, error)) (int, error) {
			time.Sleep(time.Hour)
			ended = true
			return 0, nil
		}))
		got, err := h.Ask(t.Context(), p, 1, double)
		ok(t, err)
		same(t, got, -1, "the answer doesn't wait")
		ok(t, p.Close(t.Context()))
		same(t, ended, true, "Close does")
		ok(t, s.Close(t.Context()))
	})
}

func TestP7WithNoHookAskingCostsNothing(t *testing.T) {
	host, h := root(t), plugin.NewHook[int, int]("h")
	s := child(t, child(t, host, "agents"), "agent")
	ok(t, plugin.NewHook[int, int]("another").Wrap(host, "w", add(1)))
	ctx, before := t.Context(), runtime.NumGoroutine()
	allocs := testing.AllocsPerRun(100, func() {
		if h.Any(s) {
			t.Error("a hook, but none was registered")
		}
		if got, err := h.Ask(ctx, s, 21, double); got != 42 || err != nil {
			t.Errorf("got %d, %v, want the answer itself", got, err)
		}
	})
	same(t, allocs, 0, "allocations")
	if after := runtime.NumGoroutine(); after > before { // earlier tests' may just be ending
		t.Errorf("%d goroutines, %d before", after, before)
	}
}
