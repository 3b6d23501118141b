package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// must fails the test if something that has to work doesn't.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func child(t testing.TB, s *Scope, name string) *Scope {
	t.Helper()
	c, err := s.Child(name)
	must(t, err)
	return c
}

// notes is a list that many may add to.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, s)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.list, " ")
}

func (n *notes) undo(s string) func(context.Context) error {
	return func(context.Context) error { n.add(s); return nil }
}

func TestP1ClosingUndoesAllLastFirst(t *testing.T) {
	var n notes
	root := NewScope("root", nil)
	must(t, root.Cleanup(n.undo("a")))
	c := child(t, root, "child")
	must(t, c.Cleanup(n.undo("c1")))
	must(t, c.Cleanup(n.undo("c2")))
	must(t, root.Go(func(ctx context.Context) { <-ctx.Done(); n.add("goroutine") }))
	must(t, root.Cleanup(n.undo("b")))
	must(t, c.Cleanup(n.undo("c3")))
	must(t, root.Close(bg))
	if got, want := n.String(), "b goroutine c3 c2 c1 a"; got != want {
		t.Errorf("P1: undone in the order %s, want %s", got, want)
	}
	for what, err := range map[string]error{
		"Cleanup": root.Cleanup(n.undo("late")), "Go": c.Go(func(context.Context) {}),
		"Provide": number.Provide(root, 1), "On": spoken.On(root, func(context.Context, string) {}),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("P1: %s in a closed scope: %v, want ErrClosed", what, err)
		}
	}
	if _, err := root.Child("late"); !errors.Is(err, ErrClosed) {
		t.Errorf("P1: Child in a closed scope: %v, want ErrClosed", err)
	}
	must(t, root.Close(bg))
}

func TestP1WhatFailsWhileUndoingKeepsNothingElse(t *testing.T) {
	var n notes
	root := NewScope("root", nil)
	must(t, root.Cleanup(n.undo("first")))
	must(t, root.Cleanup(func(context.Context) error { panic("boom") }))
	must(t, root.Cleanup(func(context.Context) error { return errors.New("broken pipe") }))
	err := root.Close(bg)
	if n.String() != "first" || err == nil || !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("undone %q, error %v; want first, and both failures", n.String(), err)
	}
}

func TestP1RandomRegistrationsAreUndoneInReverse(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var n notes
		root := NewScope("root", nil)
		open := []*Scope{root}
		want := map[*Scope][]string{}
		for i := range 40 {
			s := open[r.IntN(len(open))]
			if r.IntN(4) == 0 {
				open = append(open, child(t, s, fmt.Sprint(i)))
				continue
			}
			name := fmt.Sprint(i)
			must(t, s.Cleanup(n.undo(name)))
			want[s] = append([]string{name}, want[s]...)
		}
		must(t, root.Close(bg))
		for s, names := range want {
			var got []string
			for _, x := range n.list {
				if slices.Contains(names, x) {
					got = append(got, x)
				}
			}
			if !slices.Equal(got, names) {
				t.Fatalf("seed %d: %s undone as %v, want %v", seed, s.Path(), got, names)
			}
		}
	}
}

func TestClosingNamesWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := NewScope("root", nil)
		release := make(chan struct{})
		must(t, root.Go(func(context.Context) { <-release }))
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		err := root.Close(ctx)
		var abandoned *AbandonedError
		if !errors.As(err, &abandoned) || !strings.Contains(abandoned.What, "TestClosingNamesWhatDoesNotEnd") {
			t.Errorf("got %v, want an AbandonedError naming the goroutine", err)
		}
		close(release)
	})
}

func TestAllWhoCloseWaitForTheSameEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := NewScope("root", nil)
		want := errors.New("the answer to all")
		must(t, root.Cleanup(func(context.Context) error { time.Sleep(time.Hour); return want }))
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := root.Close(bg); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			})
		}
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		time.Sleep(time.Second)
		if err := root.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a closer that is impatient: %v, want its deadline", err)
		}
		wg.Wait()
	})
}

func TestClosingFromWithinIsRefusedAtOnce(t *testing.T) {
	root := NewScope("root", nil)
	inner := child(t, root, "inner")
	got := make(chan error, 3)
	must(t, inner.Go(func(ctx context.Context) { got <- root.Close(ctx) }))
	must(t, spoken.On(inner, func(ctx context.Context, _ string) { got <- inner.Close(ctx) }))
	must(t, asked.Wrap(inner, "w", func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
		got <- root.Close(ctx)
		return next(ctx, in)
	}))
	spoken.Tell(bg, inner, "x")
	_, err := asked.Ask(bg, inner, 1, double)
	must(t, err)
	for range 3 {
		if err := <-got; !errors.Is(err, ErrSelfWait) {
			t.Errorf("D17: %v, want ErrSelfWait", err)
		}
	}
	must(t, root.Close(bg))
}

var (
	number = NewService[int]("test.number")
	spoken = NewEvent[string]("test.spoken")
	asked  = NewHook[int, int]("test.asked")
)

func double(_ context.Context, in int) (int, error) { return 2 * in, nil }

func TestP3WhatIsInAnAgentsScopeIsThatAgentsAlone(t *testing.T) {
	root := NewScope("root", nil)
	a, b := child(t, root, "a"), child(t, root, "b")
	must(t, number.Provide(root, 1))
	must(t, number.Provide(a, 2))
	get := func(s *Scope) int { v, _ := number.Get(s); return v }
	if get(a) != 2 || get(b) != 1 || get(root) != 1 {
		t.Errorf("services: a has %d, b %d, root %d; want 2, 1, 1", get(a), get(b), get(root))
	}
	if got := fmt.Sprint(number.All(a)); got != "[1 2]" {
		t.Errorf("all that a sees: %s, want [1 2]", got)
	}
	var n notes
	hear := func(who string) func(context.Context, string) {
		return func(_ context.Context, s string) { n.add(who + s) }
	}
	must(t, spoken.On(a, hear("a")))
	must(t, spoken.On(root, hear("root")))
	spoken.Tell(bg, a, "1")
	spoken.Tell(bg, b, "2")
	if got := n.String(); got != "root1 a1 root2" {
		t.Errorf("events: heard %s, want root1 a1 root2", got)
	}
	must(t, a.Close(bg))
	if !number.Provided(b) || get(b) != 1 {
		t.Error("closing a took b's service away")
	}
	must(t, root.Close(bg))
	if _, found := number.Get(b); found {
		t.Error("P1: a service outlived its scope")
	}
}

func TestI2AListenerThatPanicsBreaksNobody(t *testing.T) {
	var log bytes.Buffer
	root := NewScope("root", slog.New(slog.NewTextHandler(&log, nil)))
	var n notes
	must(t, spoken.On(root, func(context.Context, string) { panic("deaf") }))
	must(t, spoken.On(root, func(_ context.Context, s string) { n.add(s) }))
	spoken.Tell(bg, root, "hello")
	if n.String() != "hello" || !strings.Contains(log.String(), "deaf") {
		t.Errorf("heard %q, logged %q; want hello, and the panic", n.String(), log.String())
	}
	must(t, root.Close(bg))
}

// plus is a wrapper that adds to the question and notes who it is.
func plus(n *notes, who string, add int) func(context.Context, int, func(context.Context, int) (int, error)) (int, error) {
	return func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
		n.add(who)
		return next(ctx, in+add)
	}
}

func TestP5NextRunsTheRestOnce(t *testing.T) {
	root := NewScope("root", nil)
	a := child(t, root, "a")
	var n notes
	must(t, asked.Wrap(a, "inner", plus(&n, "inner", 10)))
	must(t, asked.Wrap(root, "outer", plus(&n, "outer", 1)))
	got, err := asked.Ask(bg, a, 100, double)
	must(t, err)
	if got != 222 || n.String() != "outer inner" {
		t.Errorf("answer %d by %s, want 222 by outer inner", got, n.String())
	}
	must(t, asked.Wrap(a, "answers itself", func(context.Context, int, func(context.Context, int) (int, error)) (int, error) { return 7, nil }))
	if got, err := asked.Ask(bg, a, 100, double); got != 7 || err != nil {
		t.Errorf("not calling next is an answer: got %d, %v; want 7", got, err)
	}
	must(t, root.Close(bg))
}

func TestP5WhoBreaksIsNamed(t *testing.T) {
	broken := errors.New("broken")
	for what, wrap := range map[string]func(context.Context, int, func(context.Context, int) (int, error)) (int, error){
		"next twice": func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
			_, _ = next(ctx, in)
			return next(ctx, in)
		},
		"next twice, hidden": func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
			out, _ := next(ctx, in)
			_, _ = next(ctx, in)
			return out, nil
		},
		"an error": func(context.Context, int, func(context.Context, int) (int, error)) (int, error) { return 0, broken },
		"a panic":  func(context.Context, int, func(context.Context, int) (int, error)) (int, error) { panic(broken) },
	} {
		root := NewScope("root", nil)
		var n notes
		must(t, asked.Wrap(root, "good", plus(&n, "good", 0)))
		must(t, asked.Wrap(root, "bad", wrap))
		must(t, asked.Wrap(root, "inner", plus(&n, "inner", 0)))
		_, err := asked.Ask(bg, root, 1, double)
		var hook *HookError
		if !errors.As(err, &hook) || hook.Hook != "bad" || hook.Point != "test.asked" {
			t.Errorf("%s: %v, want a HookError that names bad", what, err)
		}
		must(t, root.Close(bg))
	}
	root := NewScope("root", nil)
	var n notes
	must(t, asked.Wrap(root, "good", plus(&n, "good", 0)))
	_, err := asked.Ask(bg, root, 1, func(context.Context, int) (int, error) { return 0, broken })
	var hook *HookError
	if !errors.Is(err, broken) || errors.As(err, &hook) {
		t.Errorf("an error of who asked: %v, want it as it is", err)
	}
	must(t, root.Close(bg))
}

func TestClosingWaitsForCallsThatAreInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := NewScope("root", nil)
		a := child(t, root, "a")
		inside, release := make(chan struct{}), make(chan struct{})
		must(t, asked.Wrap(a, "slow", func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
			close(inside)
			<-release
			return next(ctx, in)
		}))
		go func() {
			if got, err := asked.Ask(bg, a, 1, double); got != 2 || err != nil {
				t.Errorf("the call inside: %d, %v; want 2", got, err)
			}
		}()
		<-inside
		closed := make(chan error, 1)
		go func() { closed <- a.Close(bg) }()
		synctest.Wait()
		select {
		case err := <-closed:
			t.Error(err, "closed while a call was inside")
		default:
		}
		if asked.Any(a) {
			t.Error("a hook that is being taken away is still asked")
		}
		close(release)
		must(t, <-closed)
		must(t, root.Close(bg))
	})
}

func TestP6ASwapIsSeenAtOnceAndKeepsThePlace(t *testing.T) {
	root := NewScope("root", nil)
	var n notes
	old, err := root.Shadow("old")
	must(t, err)
	must(t, asked.Wrap(old, "old", plus(&n, "old", 0)))
	must(t, number.Provide(old, 1))
	if asked.Any(root) || number.Provided(root) {
		t.Error("a shadow is seen before it is swapped in")
	}
	if v, _ := number.Get(old); v != 1 {
		t.Error("a shadow doesn't see its own")
	}
	must(t, root.Swap(nil, old))
	must(t, asked.Wrap(root, "after", plus(&n, "after", 0)))
	fresh, err := root.Shadow("fresh")
	must(t, err)
	must(t, asked.Wrap(fresh, "fresh", plus(&n, "fresh", 0)))
	must(t, root.Swap(old, fresh))
	_, err = asked.Ask(bg, root, 1, double)
	must(t, err)
	if got := n.String(); got != "fresh after" {
		t.Errorf("asked %s, want fresh in old's place", got)
	}
	if number.Provided(root) {
		t.Error("what the old one provided is still seen")
	}
	must(t, old.Close(bg))
	if err := root.Swap(nil, child(t, root, "no shadow")); err == nil {
		t.Error("a scope that is no shadow was swapped in")
	}
	must(t, fresh.Close(bg))
	if got, err := asked.Ask(bg, child(t, root, "c"), 1, double); got != 2 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	must(t, root.Close(bg))
}

func TestP6AskingGoesOnWhileInstancesAreSwapped(t *testing.T) {
	root := NewScope("root", nil)
	agent := child(t, root, "agent")
	instance := func(add int) *Scope {
		s, err := root.Shadow(fmt.Sprint("instance ", add))
		must(t, err)
		must(t, asked.Wrap(s, "i", func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
			return next(ctx, in+1)
		}))
		return s
	}
	now := instance(0)
	must(t, root.Swap(nil, now))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got, err := asked.Ask(bg, agent, 1, double); err != nil || got != 4 && got != 2 {
					t.Errorf("%d, %v; want one instance's answer", got, err)
					return
				}
			}
		})
	}
	for i := range 200 {
		fresh := instance(i)
		must(t, root.Swap(now, fresh))
		must(t, now.Close(bg))
		now = fresh
	}
	close(stop)
	wg.Wait()
	must(t, root.Close(bg))
}

func TestP7WithNoHookAskingCostsNothing(t *testing.T) {
	root := NewScope("root", nil)
	agent := child(t, root, "agent")
	if n := testing.AllocsPerRun(100, func() {
		if asked.Any(agent) {
			t.Error("somebody wraps")
		}
		if got, err := asked.Ask(bg, agent, 1, double); got != 2 || err != nil {
			t.Error(got, err)
		}
	}); n != 0 {
		t.Errorf("P7: %v allocations, want none", n)
	}
	must(t, root.Close(bg))
}

func BenchmarkAsk(b *testing.B) {
	for wraps := range 3 {
		b.Run(fmt.Sprint(wraps), func(b *testing.B) {
			root := NewScope("root", nil)
			agent := child(b, root, "agent")
			for range wraps {
				must(b, asked.Wrap(root, "w", func(ctx context.Context, in int, next func(context.Context, int) (int, error)) (int, error) {
					return next(ctx, in)
				}))
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = asked.Ask(bg, agent, 1, double)
			}
			must(b, root.Close(bg))
		})
	}
}

// BenchmarkIdleScope tells what an empty scope costs in memory.
func BenchmarkIdleScope(b *testing.B) {
	root := NewScope("root", nil)
	const n = 10_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	scopes := make([]*Scope, n)
	for i := range scopes {
		scopes[i] = child(b, root, "agent")
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(scopes)
	must(b, root.Close(bg))
	for b.Loop() {
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/scope")
}
