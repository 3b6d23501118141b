package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/plugin"
)

func TestP2PluginsStartByTheirNeedsAndStopTheOtherWay(t *testing.T) {
	var n notes
	h := started(t, Options{Plugins: Shelf{
		part(&n, "top", keys(keyA, keyB), nil), part(&n, "alone", nil, nil),
		part(&n, "b", keys(keyA), keys(keyB)), part(&n, "a", nil, keys(keyA)),
	}})
	if got, want := n.take(), "+alone +a +b +top"; got != want {
		t.Errorf("P2: started %s, want %s", got, want)
	}
	must(t, h.Shutdown(bg))
	if got, want := n.take(), "-top -b -a -alone"; got != want {
		t.Errorf("P2: stopped %s, want %s", got, want)
	}
}

func TestP2WhoNeedsAServiceWaitsForAllThatGiveIt(t *testing.T) {
	var n notes
	started(t, Options{Plugins: Shelf{
		part(&n, "one", nil, keys(keyA)), part(&n, "user", keys(keyA), nil), part(&n, "two", nil, keys(keyA)),
		// Around wraps what it gives itself.
		part(&n, "around", keys(keyB), keys(keyB)), part(&n, "b", nil, keys(keyB)),
	}})
	if got, want := n.take(), "+one +two +user +b +around"; got != want {
		t.Errorf("P2: started %s, want %s", got, want)
	}
}

func TestP2AMissingNeedIsReportedByName(t *testing.T) {
	var n notes
	h := started(t, Options{Plugins: Shelf{
		part(&n, "top", keys(keyB), nil), part(&n, "b", keys(keyA), keys(keyB)), part(&n, "alone", nil, nil),
	}})
	if got := n.take(); got != "+alone" {
		t.Errorf("P2: started %s, want +alone", got)
	}
	got := errors.Join(h.Failures()...)
	want := "plugin top: service test.b isn't there: it is given by b, not started\nplugin b: service test.a isn't there: no plugin gives it"
	if !errors.Is(got, ErrMissing) || got.Error() != want {
		t.Errorf("P2: reported\n%v\nwant\n%s", got, want)
	}
}

func TestP2WhoOnlyGivesItselfWhatItNeedsLacksIt(t *testing.T) {
	var n notes
	h := started(t, Options{Plugins: Shelf{part(&n, "around", keys(keyA), keys(keyA))}})
	if got := errors.Join(h.Failures()...); !errors.Is(got, ErrMissing) {
		t.Errorf("P2: %v, want ErrMissing", got)
	}
}

func TestP2ACycleIsReportedByName(t *testing.T) {
	var n notes
	h := started(t, Options{Plugins: Shelf{
		part(&n, "hanger-on", keys(keyA), nil), part(&n, "a", keys(keyB), keys(keyA)), part(&n, "b", keys(keyC), keys(keyB)),
		part(&n, "c", keys(keyA), keys(keyC)), part(&n, "alone", nil, nil),
	}})
	if got := n.take(); got != "+alone" {
		t.Errorf("P2: started %s, want +alone", got)
	}
	got := errors.Join(h.Failures()...).Error()
	for _, want := range []string{
		"plugin hanger-on: service test.a isn't there: it is given by a, not started",
		"plugin a: needs itself: a needs service test.b of b, which needs service test.c of c, which needs service test.a of a",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("P2: reported\n%s\nwant in it\n%s", got, want)
		}
	}
}

func TestP2AWrongShelfStartsNothing(t *testing.T) {
	var n notes
	for want, shelf := range map[string]Shelf{
		"a is on the shelf twice": {part(&n, "a", nil, nil), part(&n, "a", nil, nil)},
		"plugin 1 of the shelf":   {part(&n, "a", nil, nil), part(&n, "", nil, nil)},
		"a has no Start":          {{Name: "a"}},
	} {
		if _, err := Start(bg, Options{Plugins: shelf}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if got := n.take(); got != "" {
		t.Errorf("started %s, want nothing", got)
	}
}

func TestP1AFailedStartIsCleanedUp(t *testing.T) {
	var n notes
	h := started(t, Options{Plugins: Shelf{broken(part(&n, "a", nil, keys(keyA)))}})
	if got := n.take(); got != "+a -a" {
		t.Errorf("P1: %s, want +a -a", got)
	}
	if keyA.Provided(h.Scope()) {
		t.Error("P1: what a failed start provided is still there")
	}
}

func TestP1AStartIsUnseenUntilItIsDone(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	seen := make(chan bool)
	slow := Plugin{Name: "slow", Gives: keys(keyA), Start: func(_ context.Context, s *plugin.Scope) error {
		err := keyA.Provide(s, "slow")
		close(inside)
		<-release
		return err
	}}
	early := Plugin{Name: "early", Needs: keys(Self), Start: func(_ context.Context, s *plugin.Scope) error {
		h, _ := Self.Get(s)
		return s.Go(func(context.Context) {
			<-inside
			seen <- keyA.Provided(h.Scope())
			close(release)
		})
	}}
	go func() {
		if <-seen {
			t.Error("what a plugin registers is seen before its start is done")
		}
	}()
	h := started(t, Options{Plugins: Shelf{early, slow}})
	if !keyA.Provided(h.Scope()) {
		t.Error("what a plugin registered isn't seen after its start")
	}
}

func TestP4OneFailingPluginIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, start := range map[string]func(context.Context, *plugin.Scope) error{
			"no luck":                  func(context.Context, *plugin.Scope) error { return errors.New("no luck") },
			"panic: boom":              func(context.Context, *plugin.Scope) error { panic("boom") },
			"took more than 30s":       func(ctx context.Context, _ *plugin.Scope) error { time.Sleep(time.Minute); return nil },
			"its start didn't provide": func(context.Context, *plugin.Scope) error { return nil },
		} {
			var n notes
			h := started(t, Options{Plugins: Shelf{
				{Name: "bad", Gives: keys(keyA), Start: start}, part(&n, "user", keys(keyA), nil), part(&n, "good", nil, nil),
			}})
			if got := n.take(); got != "+good" {
				t.Errorf("P4: %s: started %s, want +good", what, got)
			}
			failures := h.Failures()
			if len(failures) != 2 || !strings.Contains(failures[0].Error(), "plugin bad: ") || !strings.Contains(failures[0].Error(), what) ||
				!errors.Is(failures[1], ErrMissing) {
				t.Errorf("P4: reported %v, want bad with %q, and user", failures, what)
			}
			must(t, h.Shutdown(bg))
		}
		time.Sleep(time.Hour) // the one that was left behind
	})
}

func TestP4AServiceThatAnotherGivesTooIsThere(t *testing.T) {
	var n notes
	started(t, Options{Plugins: Shelf{
		broken(part(&n, "bad", nil, keys(keyA))), part(&n, "good", nil, keys(keyA)), part(&n, "user", keys(keyA), nil),
	}})
	if got, want := n.take(), "+bad -bad +good +user"; got != want {
		t.Errorf("P4: %s, want %s", got, want)
	}
}

func TestP4ARequiredPluginStopsTheStart(t *testing.T) {
	var n notes
	bad := broken(part(&n, "bad", keys(keyA), nil))
	bad.Required = true
	_, err := Start(bg, Options{Plugins: Shelf{part(&n, "a", nil, keys(keyA)), bad, part(&n, "later", nil, nil)}})
	var of *PluginError
	if !errors.As(err, &of) || of.Plugin != "bad" {
		t.Errorf("P4: start answers %v, want that bad failed", err)
	}
	if got, want := n.take(), "+a +bad -bad -a"; got != want {
		t.Errorf("P4: %s, want %s", got, want)
	}
	bad = part(&n, "bad", keys(keyB), nil)
	bad.Required = true
	if _, err := Start(bg, Options{Plugins: Shelf{part(&n, "a", nil, keys(keyA)), bad}}); !errors.Is(err, ErrMissing) {
		t.Errorf("P4: start answers %v, want ErrMissing", err)
	}
	if got := n.take(); got != "" {
		t.Errorf("P4: %s, want nothing started on a shelf that can't do", got)
	}
}

func TestAllWhoShutDownWaitForTheSameEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := errors.New("the answer to all")
		h := started(t, Options{Plugins: Shelf{{Name: "slow", Start: func(_ context.Context, s *plugin.Scope) error {
			return s.Cleanup(func(context.Context) error { time.Sleep(time.Second); return want })
		}}}})
		for range 3 {
			go func() {
				if err := h.Shutdown(bg); !errors.Is(err, want) {
					t.Errorf("shut down: %v, want %v", err, want)
				}
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(bg, time.Millisecond)
		defer cancel()
		if err := h.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an impatient one: %v, want its deadline", err)
		}
		if err := h.Shutdown(bg); !errors.Is(err, want) {
			t.Errorf("shut down: %v, want %v", err, want)
		}
		if err := h.Reload(bg, nil); !errors.Is(err, plugin.ErrClosed) {
			t.Errorf("reload after the end: %v, want ErrClosed", err)
		}
	})
}

func TestWhatDoesNotStopIsNamedAndTheOthersStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		stuck := Plugin{Name: "stuck", Start: func(_ context.Context, s *plugin.Scope) error {
			return s.Cleanup(func(context.Context) error { time.Sleep(time.Hour); return nil })
		}}
		h := started(t, Options{Plugins: Shelf{part(&n, "a", nil, nil), stuck, part(&n, "b", nil, nil)}, Grace: time.Second})
		begun := time.Now()
		err := h.Shutdown(bg)
		var of *PluginError
		var left *plugin.AbandonedError
		if !errors.As(err, &of) || of.Plugin != "stuck" || !errors.As(err, &left) || n.take() != "+a +b -b -a" {
			t.Errorf("shut down: %v, want stuck named and a, b stopped", err)
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("it took %v, want the grace time", took)
		}
		time.Sleep(time.Hour)
	})
}

func TestAStartMayNotReloadOrShutDown(t *testing.T) {
	var got []error
	started(t, Options{Plugins: Shelf{{Name: "eager", Start: func(ctx context.Context, s *plugin.Scope) error {
		h, _ := Self.Get(s)
		got = append(got, h.Reload(ctx, nil), h.Shutdown(ctx))
		return nil
	}}}})
	for _, err := range got {
		if !errors.Is(err, plugin.ErrSelfWait) {
			t.Errorf("%v, want ErrSelfWait", err)
		}
	}
}

func TestTheOrderIsTheSameEachTime(t *testing.T) {
	var first string
	for range 20 {
		var n notes
		var shelf Shelf
		for i := range 20 {
			p := part(&n, fmt.Sprint(i), nil, nil)
			if i%3 == 0 {
				p = part(&n, p.Name, keys(keyA), nil)
			}
			shelf = append(shelf, p)
		}
		h := started(t, Options{Plugins: append(shelf, part(&n, "a", nil, keys(keyA)))})
		must(t, h.Shutdown(bg))
		got := n.take()
		if first == "" {
			first = got
		}
		if got != first {
			t.Fatalf("once %s, once %s", first, got)
		}
	}
}
