package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tack-agent/tack/plugin"
)

// settled waits until what was replaced has ended.
func settled(h *Host) {
	h.turn <- struct{}{}
	buried := h.buried
	<-h.turn
	<-buried
}

func TestP6OnlyWhatChangedIsRestarted(t *testing.T) {
	var n notes
	shelf := func(config int) Shelf {
		return Shelf{
			configured(part(&n, "a", nil, keys(keyA)), []int{1}), configured(part(&n, "b", keys(keyA), keys(keyB)), []int{config}),
			part(&n, "user", keys(keyB), nil),
		}
	}
	h := started(t, Options{Plugins: shelf(1)})
	n.take()
	must(t, h.Reload(bg, shelf(1)))
	settled(h)
	if got := n.take(); got != "" {
		t.Errorf("P6: nothing changed, but %s", got)
	}
	must(t, h.Reload(bg, shelf(2)))
	settled(h)
	if got, want := n.take(), "+b -b"; got != want {
		t.Errorf("P6: %s, want %s: who needs it goes on", got, want)
	}
	must(t, h.Shutdown(bg))
	if got, want := n.take(), "-user -b -a"; got != want {
		t.Errorf("P2: stopped %s, want %s: a new instance has the old one's place", got, want)
	}
}

func TestP6WhoHoldsAServiceIsRestartedWithIt(t *testing.T) {
	var n notes
	shelf := func(config int) Shelf {
		holder := part(&n, "holder", nil, keys(keyB))
		holder.Holds = keys(keyA)
		return Shelf{configured(part(&n, "a", nil, keys(keyA)), config), holder, part(&n, "user", keys(keyB), nil)}
	}
	h := started(t, Options{Plugins: shelf(1)})
	n.take()
	must(t, h.Reload(bg, shelf(2)))
	settled(h)
	if got, want := n.take(), "+a +holder -holder -a"; got != want {
		t.Errorf("P6: %s, want %s", got, want)
	}
	next := shelf(3)
	next[1] = broken(next[1])
	if err := h.Reload(bg, next); err == nil {
		t.Error("P6: a failure was not told")
	}
	settled(h)
	if got, want := n.take(), "+a +holder -holder -user -holder -a"; got != want {
		t.Errorf("P2: %s, want %s: the old holder stops before what it holds goes", got, want)
	}
	if len(h.Failures()) != 2 {
		t.Errorf("P4: failures %v, want those of holder and user", h.Failures())
	}
}

func TestP6TheNewInstanceIsSwappedInAtOnceAndRunningCallsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		wrapper := func(name string) Plugin {
			return Plugin{Name: "w", Config: name, Gives: keys(keyA), Start: func(_ context.Context, s *plugin.Scope) error {
				return errors.Join(keyA.Provide(s, name), asked.Wrap(s, "w", func(ctx context.Context, in string, next func(context.Context, string) (string, error)) (string, error) {
					if in == "slow" {
						<-release
					}
					v, _ := keyA.Get(s)
					return v, nil
				}))
			}}
		}
		h := started(t, Options{Plugins: Shelf{wrapper("old")}})
		ask := func(in string) string {
			out, err := asked.Ask(bg, h.Scope(), in, func(context.Context, string) (string, error) { return "nobody", nil })
			if err != nil {
				t.Error(err)
			}
			return out
		}
		slow := make(chan string, 1)
		go func() { slow <- ask("slow") }()
		synctest.Wait()
		must(t, h.Reload(bg, Shelf{wrapper("new")}))
		if got := ask("quick"); got != "new" {
			t.Errorf("P6: answered by %s, want new", got)
		}
		must(t, h.Reload(bg, Shelf{wrapper("newer")})) // though the first is still inside
		if got := ask("quick"); got != "newer" {
			t.Errorf("P6: answered by %s, want newer", got)
		}
		close(release)
		if got := <-slow; got != "newer" && got != "old" {
			t.Errorf("P6: the running call ended with %q", got)
		}
		settled(h)
		must(t, h.Shutdown(bg))
	})
}

func TestP6IfTheNewInstanceFailsTheOldOneGoesOn(t *testing.T) {
	var n notes
	h := started(t, Options{Plugins: Shelf{part(&n, "a", nil, keys(keyA)), part(&n, "user", keys(keyA), nil)}})
	n.take()
	err := h.Reload(bg, Shelf{broken(configured(part(&n, "a", nil, keys(keyA)), 2)), part(&n, "user", keys(keyA), nil)})
	var of *PluginError
	if !errors.As(err, &of) || of.Plugin != "a" {
		t.Errorf("P6: %v, want that a failed", err)
	}
	settled(h)
	if got, want := n.take(), "+a -a"; got != want {
		t.Errorf("P6: %s, want %s", got, want)
	}
	if v, _ := keyA.Get(h.Scope()); v != "a" {
		t.Error("P6: the old one's service is gone")
	}
	must(t, h.Reload(bg, Shelf{configured(part(&n, "a", nil, keys(keyA)), 2), part(&n, "user", keys(keyA), nil)}))
	settled(h)
	if got, want := n.take(), "+a -a"; got != want || len(h.Failures()) != 0 {
		t.Errorf("P6: %s, %v; want %s: the same config is tried again", got, h.Failures(), want)
	}
}

func TestP6AnExclusivePluginIsStoppedFirst(t *testing.T) {
	var n notes
	shelf := func(config int) Shelf {
		port := configured(part(&n, "port", nil, keys(keyA)), config)
		port.Exclusive = true
		return Shelf{port, part(&n, "user", keys(keyA), keys(keyB)), part(&n, "top", keys(keyB), nil)}
	}
	h := started(t, Options{Plugins: shelf(1)})
	n.take()
	must(t, h.Reload(bg, shelf(2)))
	if got, want := n.take(), "-top -user -port +port +user +top"; got != want {
		t.Errorf("P6, P2: %s, want %s", got, want)
	}
	next := shelf(3)
	next[0] = broken(next[0])
	if err := h.Reload(bg, next); err == nil {
		t.Error("P6: a failure was not told")
	}
	if got, want := n.take(), "-top -user -port +port -port +port +user +top"; got != want {
		t.Errorf("P6: %s, want %s: the old one is started anew", got, want)
	}
	must(t, h.Shutdown(bg))
	if got, want := n.take(), "-top -user -port"; got != want {
		t.Errorf("P2: %s, want %s", got, want)
	}
}

func TestP2WhatIsRemovedGoesAfterWhoNeedsIt(t *testing.T) {
	var n notes
	a, user, top := part(&n, "a", nil, keys(keyA)), part(&n, "user", keys(keyA), keys(keyB)), part(&n, "top", keys(keyB), nil)
	h := started(t, Options{Plugins: Shelf{a, user, top}})
	n.take()
	err := h.Reload(bg, Shelf{user, top})
	if !errors.Is(err, ErrMissing) {
		t.Errorf("P2: %v, want ErrMissing", err)
	}
	settled(h)
	if got, want := n.take(), "-top -user -a"; got != want {
		t.Errorf("P2: %s, want %s", got, want)
	}
	must(t, h.Reload(bg, Shelf{top, user, part(&n, "other", nil, keys(keyA))}))
	if got, want := n.take(), "+other +user +top"; got != want {
		t.Errorf("P2: %s, want %s", got, want)
	}
	must(t, h.Reload(bg, Shelf{top, user, a}))
	settled(h)
	if got, want := n.take(), "+a -other"; got != want {
		t.Errorf("P6: %s, want %s: the service was there all the time", got, want)
	}
	must(t, h.Reload(bg, nil))
	settled(h)
	if got, want := n.take(), "-top -user -a"; got != want {
		t.Errorf("P2: %s, want %s", got, want)
	}
}

func TestP4AReloadThatCantDoTouchesNothing(t *testing.T) {
	var n notes
	a, user := part(&n, "a", nil, keys(keyA)), part(&n, "user", keys(keyA), nil)
	user.Required = true
	h := started(t, Options{Plugins: Shelf{a, user}})
	n.take()
	if err := h.Reload(bg, Shelf{user}); !errors.Is(err, ErrMissing) {
		t.Errorf("P4: %v, want ErrMissing", err)
	}
	settled(h)
	if got := n.take(); got != "" {
		t.Errorf("P4: %s, want nothing touched", got)
	}
}

func TestP6ANewGiverRestartsWhoHoldsTheService(t *testing.T) {
	var n notes
	holder := part(&n, "holder", nil, nil)
	holder.Holds = keys(keyA)
	a, b := part(&n, "a", nil, keys(keyA)), part(&n, "b", nil, keys(keyA))
	h := started(t, Options{Plugins: Shelf{a, holder}})
	n.take()
	must(t, h.Reload(bg, Shelf{a, b, holder}))
	settled(h)
	if got, want := n.take(), "+b +holder -holder"; got != want {
		t.Errorf("P6: %s, want %s", got, want)
	}
	must(t, h.Reload(bg, Shelf{a, holder}))
	settled(h)
	if got, want := n.take(), "+holder -holder -b"; got != want {
		t.Errorf("P2: %s, want %s: it doesn't hold what is gone", got, want)
	}
}

func TestP6WhatWasStoppedForAnotherGoesOnAsItWas(t *testing.T) {
	var n notes
	shelf := func(config int) Shelf {
		port, user := configured(part(&n, "port", nil, keys(keyA)), config), configured(part(&n, "user", keys(keyA), nil), config)
		port.Exclusive = true
		return Shelf{port, user}
	}
	h := started(t, Options{Plugins: shelf(1)})
	n.take()
	next := shelf(2)
	next[1] = broken(next[1])
	if err := h.Reload(bg, next); err == nil {
		t.Error("P6: a failure was not told")
	}
	if got, want := n.take(), "-user -port +port +user -user +user"; got != want {
		t.Errorf("P6: %s, want %s", got, want)
	}
}

func TestP2WhatWasReplacedEndsBeforeWhatItNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		release := make(chan struct{})
		a, user := part(&n, "a", nil, keys(keyA)), part(&n, "user", keys(keyA), nil)
		start := user.Start
		user.Start = func(ctx context.Context, s *plugin.Scope) error {
			return errors.Join(start(ctx, s), asked.Wrap(s, "w", func(context.Context, string, func(context.Context, string) (string, error)) (string, error) {
				<-release
				return "", nil
			}))
		}
		h := started(t, Options{Plugins: Shelf{a, user}})
		n.take()
		go func() { _, _ = asked.Ask(bg, h.Scope(), "", nil) }()
		synctest.Wait()
		must(t, h.Reload(bg, Shelf{a}))
		must(t, h.Reload(bg, nil))
		synctest.Wait()
		if got := n.take(); got != "" {
			t.Errorf("P6: %s while a call was running", got)
		}
		close(release)
		settled(h)
		if got, want := n.take(), "-user -a"; got != want {
			t.Errorf("P2: %s, want %s", got, want)
		}
		must(t, h.Shutdown(bg))
	})
}

func TestP6AnExclusivePluginThatLeavesIsStoppedBeforeOthersStart(t *testing.T) {
	var n notes
	port := func(name string) Plugin {
		p := part(&n, name, nil, keys(keyA))
		p.Exclusive = true
		return p
	}
	user := part(&n, "user", keys(keyA), nil)
	h := started(t, Options{Plugins: Shelf{port("old"), user}})
	n.take()
	must(t, h.Reload(bg, Shelf{port("new"), user}))
	settled(h)
	if got, want := n.take(), "-user -old +new +user"; got != want {
		t.Errorf("P6: %s, want %s", got, want)
	}
}
