package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// home is a host with a memory store and bodies.
func home(t testing.TB, store session.Store, plugins ...Plugin) (*Host, *bodies) {
	t.Helper()
	d := &bodies{}
	return started(t, Options{Plugins: plugins, Store: store, Driver: d}), d
}

func say(id string) chat.Message { m := chat.Say(id); m.ID = id; return m }

func TestAllWhoOpenOneAtTheSameTimeGetTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := home(t, session.NewMemory(nil))
		d.before = func(context.Context, agent.Start) error { time.Sleep(time.Second); return nil }
		var got [8]agent.Running
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				a, err := h.Open(bg, "s", session.OpenContinue)
				if err != nil {
					t.Error(err)
				}
				got[i] = a
			})
		}
		ctx, cancel := context.WithTimeout(bg, time.Millisecond)
		defer cancel()
		if _, err := h.Open(ctx, "s", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an impatient one: %v, want its deadline", err)
		}
		wg.Wait()
		for _, a := range got {
			if a != got[0] {
				t.Error("two who open one session got different agents")
			}
		}
		if d.count() != 1 {
			t.Errorf("%d agents were made, want 1", d.count())
		}
		if a, found := h.Find("s"); !found || a != got[0] {
			t.Error("it is open, but isn't found")
		}
		if _, found := h.Find("other"); found {
			t.Error("found what nobody opened")
		}
		must(t, h.Shutdown(bg))
	})
}

func TestTheFirstOnesContextIsNotTheOpenings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := home(t, session.NewMemory(nil))
		d.before = func(ctx context.Context, _ agent.Start) error { time.Sleep(time.Second); return ctx.Err() }
		ctx, cancel := context.WithCancel(bg)
		go func() {
			if _, err := h.Open(ctx, "s", ""); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want Canceled", err)
			}
		}()
		synctest.Wait()
		cancel()
		if _, err := h.Open(bg, "s", ""); err != nil {
			t.Error(err)
		}
		must(t, h.Shutdown(bg))
	})
}

func TestAFailedOpeningHoldsNothing(t *testing.T) {
	store := session.NewMemory(nil)
	h, d := home(t, store)
	for _, fail := range []func() error{
		func() error { return errors.New("no luck") }, func() error { panic("boom") },
	} {
		d.before = func(context.Context, agent.Start) error { return fail() }
		if _, err := h.Open(bg, "s", ""); err == nil || !strings.HasPrefix(err.Error(), "open session s: ") {
			t.Errorf("%v, want what failed", err)
		}
		if owner, err := store.Owner(bg, "s"); err != nil || owner.ID != "" {
			t.Errorf("F4: the session is owned by %v, %v; want nobody", owner, err)
		}
		if _, err := h.Open(bg, "s", ""); err == nil {
			t.Error("it opened")
		}
	}
	d.before = nil
	if _, err := h.Open(bg, "s", ""); err != nil {
		t.Error(err)
	}
}

func TestWithoutAStoreOrDriverTheErrorSaysSo(t *testing.T) {
	if _, err := started(t, Options{}).Open(bg, "s", ""); !errors.Is(err, ErrNoStore) {
		t.Errorf("%v, want ErrNoStore", err)
	}
	if _, err := started(t, Options{Store: session.NewMemory(nil)}).Open(bg, "s", ""); !errors.Is(err, ErrNoDriver) {
		t.Errorf("%v, want ErrNoDriver", err)
	}
}

func TestD2AHandleOfNoUseIsReopenedOnItsNextUse(t *testing.T) {
	for what, fault := range map[string]error{
		"faulted": fmt.Errorf("%w after: doubt", agent.ErrFaulted), "closed": agent.ErrClosed, "not owner": &session.NotOwnerError{Session: "s"},
		"the store is closed": session.ErrClosed,
	} {
		h, d := home(t, session.NewMemory(nil))
		r := h.Agent("s")
		if _, err := r.Followup(bg, say("1")); err != nil {
			t.Fatal(err)
		}
		d.last().breaks(fault)
		if got, err := r.Steer(bg, say("2")); err != nil || got.ID != "2" || got.Verb != session.Steer {
			t.Errorf("D2: %s: the next use: %+v, %v; want its receipt", what, got, err)
		}
		d.last().breaks(fault)
		held, found := h.Find("s")
		if !found {
			t.Fatal("not open")
		}
		if _, err := held.Followup(bg, say("3")); !errors.Is(err, fault) {
			t.Errorf("D2: %s: the handle of one opening: %v, want the fault", what, err)
		}
		if _, found := h.Find("s"); found {
			t.Errorf("D2: %s: a handle of no use is found", what)
		}
		if _, err := h.Open(bg, "s", ""); err != nil {
			t.Error(err)
		}
		if d.count() != 3 {
			t.Errorf("D2: %s: %d agents were made, want 3", what, d.count())
		}
	}
}

func TestD2DoubtIsTheCallersAndTheHandleIsAskedBeforeItsNextUse(t *testing.T) {
	for name, fault := range map[string]error{"the wait ended": nil, "the write is unknown": agent.ErrFaulted} {
		h, d := home(t, session.NewMemory(nil))
		r := h.Agent("s")
		if _, err := r.Status(bg); err != nil {
			t.Fatal(err)
		}
		d.last().breaks(&agent.UncertainError{ID: "1", Err: agent.ErrUncertain})
		if _, err := r.Followup(bg, say("1")); !errors.Is(err, agent.ErrUncertain) {
			t.Errorf("D2: %s: %v, want ErrUncertain, not a second try", name, err)
		}
		d.last().breaks(fault)
		if a, err := h.Open(bg, "s", ""); err != nil {
			t.Error(err)
		} else if _, err := a.Followup(bg, say("1")); err != nil {
			t.Errorf("D2: %s: repeated: %v", name, err)
		}
		want := 1
		if fault != nil {
			want = 2
		}
		if d.count() != want {
			t.Errorf("D2, D4: %s: %d agents were made, want %d", name, d.count(), want)
		}
	}
}

func TestD2WhatMayHaveBeenDoneIsNotTriedAgain(t *testing.T) {
	h, d := home(t, session.NewMemory(nil))
	if _, err := h.Open(bg, "s", ""); err != nil {
		t.Fatal(err)
	}
	d.last().breaks(&agent.UncertainError{ID: "1", Err: session.ErrClosed})
	if _, err := h.Agent("s").Followup(bg, say("")); !errors.Is(err, agent.ErrUncertain) || d.count() != 1 {
		t.Errorf("D2: %v, %d agents; want ErrUncertain from the first", err, d.count())
	}
}

func TestAnAgentThatEndedByItselfIsReopened(t *testing.T) {
	h, d := home(t, session.NewMemory(nil))
	first, err := h.Open(bg, "s", "")
	must(t, err)
	must(t, d.last().Close(bg)) // not by the host's handle
	second, err := h.Open(bg, "s", "")
	must(t, err)
	if first == second || d.count() != 2 {
		t.Error("Open answered an agent whose scope has ended")
	}
}

func TestC11ClosedAgentsAreBackWithTheNextOpen(t *testing.T) {
	store := session.NewMemory(nil)
	h, d := home(t, store)
	a, err := h.Open(bg, "s", "")
	must(t, err)
	must(t, h.Close(bg, "s"))
	must(t, h.Close(bg, "s"))
	must(t, a.Close(bg))
	if _, err := a.Followup(bg, say("1")); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("C11: %v, want ErrClosed", err)
	}
	if owner, _ := store.Owner(bg, "s"); owner.ID != "" {
		t.Errorf("owned by %v, want nobody", owner)
	}
	if _, err := h.Open(bg, "s", ""); err != nil || d.count() != 2 {
		t.Errorf("opened again: %v, %d agents; want 2", err, d.count())
	}
}

func TestC11WhoOpensWhileItClosesGetsTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := home(t, session.NewMemory(nil))
		_, err := h.Open(bg, "s", "")
		must(t, err)
		d.last().close = func(context.Context) error { time.Sleep(time.Second); return nil }
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := h.Close(bg, "s"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for i := range 3 {
			wg.Go(func() {
				if _, err := h.Agent("s").Followup(bg, say(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d.count() != 2 || len(d.last().said) != 3 {
			t.Errorf("%d agents, the last heard %v; want 2, three messages", d.count(), d.last().said)
		}
		must(t, h.Shutdown(bg))
	})
}

func TestC11WhoClosesWhileItOpensWaitsForBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := home(t, session.NewMemory(nil))
		d.before = func(context.Context, agent.Start) error { time.Sleep(time.Second); return nil }
		go func() {
			_, _ = h.Open(bg, "s", "") // it may have to open another
		}()
		synctest.Wait()
		if rested, err := h.Rest(bg, "s"); rested || err != nil {
			t.Errorf("rested while it opens: %v, %v", rested, err)
		}
		must(t, h.Close(bg, "s"))
		if !errors.Is(d.first().failing(), agent.ErrClosed) {
			t.Error("it goes on")
		}
		must(t, h.Shutdown(bg))
	})
}

func TestEveryCallReachesTheAgent(t *testing.T) {
	h, d := home(t, session.NewMemory(nil))
	held, err := h.Open(bg, "s", "")
	must(t, err)
	b := d.last()
	said := func(what string) { b.said = append(b.said, what) }
	b.OnCancel = func(_ context.Context, s agent.Stop) (agent.Stopped, error) {
		said(s.Reason)
		return agent.Stopped{Seq: 1}, nil
	}
	b.OnResume = func(context.Context) error { said("resume"); return nil }
	b.OnWithdraw = func(_ context.Context, id string) (agent.Fate, error) {
		said("withdraw " + id)
		return agent.Fate{}, nil
	}
	b.OnAmend = func(_ context.Context, id string, _ []chat.Part) (agent.Fate, error) {
		said("amend " + id)
		return agent.Fate{}, nil
	}
	b.OnReply = func(_ context.Context, r session.Reply) (agent.QuestionFate, error) {
		said("reply")
		return agent.QuestionFate{}, nil
	}
	b.OnWaitIdle = func(context.Context) error { said("idle"); return nil }
	for _, a := range []agent.Agent{held, h.Agent("s")} {
		b.said = nil
		_, err1 := a.Followup(bg, say("f"))
		_, err2 := a.Steer(bg, say("s"))
		_, err3 := a.Inject(bg, say("i"))
		_, err4 := a.Cancel(bg, agent.Stop{Reason: "cancel"})
		_, err5 := a.Withdraw(bg, "w")
		_, err6 := a.Amend(bg, "a", nil)
		_, err7 := a.Reply(bg, session.Reply{})
		must(t, errors.Join(err1, err2, err3, err4, a.Resume(bg), err5, err6, err7, a.WaitIdle(bg)))
		if got, want := strings.Join(b.said, ", "), "f, s, i, cancel, withdraw w, amend a, reply, resume, idle"; got != want || a.ID() != "s" {
			t.Errorf("%T: %s heard %s, want %s", a, a.ID(), got, want)
		}
	}
	for range held.Watch(bg) {
		t.Error("a delta of nothing")
	}
	if _, err := held.Record(bg, session.Noted{}); err != nil {
		t.Error(err)
	}
}

func TestAnAgentThatComesTooLateIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := home(t, session.NewMemory(nil))
		d.before = func(context.Context, agent.Start) error { time.Sleep(15 * time.Second); return nil } // deaf
		go func() {
			if _, err := h.Open(bg, "s", ""); !errors.Is(err, agent.ErrClosed) {
				t.Errorf("%v, want ErrClosed", err)
			}
		}()
		synctest.Wait()
		must(t, h.Reload(bg, Shelf{{Name: "store", Gives: keys(Store), Start: func(_ context.Context, s *plugin.Scope) error {
			return Store.Provide(s, session.NewMemory(nil))
		}}}))
		if !errors.Is(d.last().failing(), agent.ErrClosed) {
			t.Error("an agent on a store that was left goes on")
		}
		must(t, h.Shutdown(bg))
	})
}

func TestF4AnAgentThatCantBeClosedKeepsNoSession(t *testing.T) {
	store := session.NewMemory(nil)
	h, d := home(t, store)
	_, err := h.Open(bg, "s", "")
	must(t, err)
	stuck := errors.New("stuck")
	d.last().close = func(context.Context) error { return stuck }
	if err := h.Shutdown(bg); !errors.Is(err, stuck) {
		t.Errorf("shut down: %v, want what went wrong", err)
	}
	other, _ := home(t, store)
	if _, err := other.Open(bg, "s", ""); err != nil {
		t.Errorf("F4: a process that has left still owns a session: %v", err)
	}
}

type insideKey struct{}

func TestClosingFromWithinIsRefusedAndTheAgentGoesOn(t *testing.T) {
	h, d := home(t, session.NewMemory(nil))
	a, err := h.Open(bg, "s", "")
	must(t, err)
	d.last().close = func(ctx context.Context) error {
		if ctx.Value(insideKey{}) != nil {
			return agent.ErrSelfWait
		}
		return nil
	}
	inside := context.WithValue(bg, insideKey{}, true)
	if err := h.Close(inside, "s"); !errors.Is(err, agent.ErrSelfWait) {
		t.Errorf("%v, want ErrSelfWait", err)
	}
	if _, err := a.Followup(bg, say("1")); err != nil {
		t.Errorf("the agent doesn't go on: %v", err)
	}
	must(t, h.Close(bg, "s"))
}

func TestClosingFromWithinIsRefusedAtOnceWhileAnotherCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := home(t, session.NewMemory(nil))
		_, err := h.Open(bg, "s", "")
		must(t, err)
		d.last().close = func(ctx context.Context) error {
			if ctx.Value(insideKey{}) != nil {
				return agent.ErrSelfWait
			}
			time.Sleep(time.Second) // for the turn to end
			return nil
		}
		go func() {
			if err := h.Close(bg, "s"); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if err := h.Close(context.WithValue(bg, insideKey{}, true), "s"); !errors.Is(err, agent.ErrSelfWait) {
			t.Errorf("%v, want ErrSelfWait", err)
		}
		must(t, h.Shutdown(bg))
	})
}

func TestRestDropsAnIdleAgentAndTheNextMessageBringsItBack(t *testing.T) {
	h, d := home(t, session.NewMemory(nil))
	r := h.Agent("s")
	if _, err := r.Inject(bg, say("1")); err != nil {
		t.Fatal(err)
	}
	d.last().is(agent.Working)
	if rested, err := h.Rest(bg, "s"); rested || err != nil {
		t.Errorf("an agent at work: rested %v, %v; want that it goes on", rested, err)
	}
	if _, found := h.Find("s"); !found {
		t.Error("an agent at work was dropped")
	}
	d.last().is(agent.Idle)
	if rested, err := h.Rest(bg, "s"); !rested || err != nil {
		t.Errorf("an idle agent: rested %v, %v", rested, err)
	}
	if _, found := h.Find("s"); found {
		t.Error("it is still open")
	}
	if rested, err := h.Rest(bg, "s"); !rested || err != nil {
		t.Errorf("a rested agent: rested %v, %v", rested, err)
	}
	if _, err := r.Followup(bg, say("2")); err != nil || d.count() != 2 || d.last().said[0] != "2" {
		t.Errorf("the next message: %v, %d agents; want it with a second", err, d.count())
	}
}

func TestNoMessageIsLostToARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := home(t, session.NewMemory(nil))
		r := h.Agent("s")
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if _, err := r.Followup(bg, say(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if _, err := h.Rest(bg, "s"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		heard := 0
		for _, b := range d.made {
			heard += len(b.said)
		}
		if heard != 50 {
			t.Errorf("%d of 50 messages were heard", heard)
		}
		must(t, h.Shutdown(bg))
	})
}

func TestP3WhatIsInAnAgentsScopeIsItsAlone(t *testing.T) {
	var n notes
	h, _ := home(t, session.NewMemory(nil), part(&n, "a", nil, keys(keyA)))
	one, err := h.Open(bg, "1", "")
	must(t, err)
	two, err := h.Open(bg, "2", "")
	must(t, err)
	must(t, keyA.Provide(one.Scope(), "own"))
	get := func(s *plugin.Scope) string { v, _ := keyA.Get(s); return v }
	if get(one.Scope()) != "own" || get(two.Scope()) != "a" || get(h.Scope()) != "a" {
		t.Errorf("P3: %s, %s, %s; want own, a, a", get(one.Scope()), get(two.Scope()), get(h.Scope()))
	}
}

func TestSpawnHandsTheParentOn(t *testing.T) {
	h, d := home(t, session.NewMemory(nil))
	if _, err := h.Spawn(bg, "child", session.Parent{Session: "s", Turn: 3}); err != nil {
		t.Fatal(err)
	}
	if p := d.last().start.Parent; p == nil || p.Session != "s" || p.Turn != 3 {
		t.Errorf("parent %+v, want s, turn 3", p)
	}
}

func TestShutdownClosesAgentsThenLeavesThenStopsPlugins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		store := session.NewMemory(nil)
		d := &bodies{}
		h := started(t, Options{Driver: d, Plugins: Shelf{
			part(&n, "late", keys(Store), nil),
			{Name: "store", Gives: keys(Store), Start: func(_ context.Context, s *plugin.Scope) error {
				return errors.Join(s.Cleanup(func(context.Context) error { n.add("-store"); return store.Close() }), Store.Provide(s, store))
			}},
		}})
		n.take()
		for _, id := range []session.ID{"1", "2"} {
			_, err := h.Open(bg, id, "")
			must(t, err)
			d.last().close = func(context.Context) error { time.Sleep(time.Second); n.add("-agent"); return nil }
		}
		d.before = func(ctx context.Context, _ agent.Start) error { <-ctx.Done(); return ctx.Err() }
		go func() {
			if _, err := h.Open(bg, "3", ""); err == nil {
				t.Error("an opening that the shutdown ended was answered")
			}
		}()
		synctest.Wait()
		begun := time.Now()
		must(t, h.Shutdown(bg))
		if got, want := n.take(), "-agent -agent -late -store"; got != want {
			t.Errorf("shut down %s, want %s", got, want)
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("it took %v: agents are to be closed at the same time", took)
		}
		if _, err := h.Open(bg, "1", ""); !errors.Is(err, agent.ErrClosed) {
			t.Errorf("opened after the end: %v, want ErrClosed", err)
		}
		if _, err := h.Agent("1").Followup(bg, say("1")); !errors.Is(err, agent.ErrClosed) {
			t.Errorf("used after the end: %v, want ErrClosed", err)
		}
	})
}
