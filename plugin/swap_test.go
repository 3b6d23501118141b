package plugin_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/tack-agent/tack/plugin"
)

func TestP6TheFreshOneStandsWhereTheOldOneStood(t *testing.T) {
	host, h := root(t), plugin.NewHook[string, string]("h")
	agent := child(t, host, "agent")
	var undone []string
	start := func(name string) *plugin.Scope {
		p := shadow(t, host, name)
		ok(t, p.Cleanup(note(&undone, name)))
		ok(t, h.Wrap(p, name, says(name)))
		return p
	}
	ask := func(in *plugin.Scope, want, promise string) {
		t.Helper()
		got, err := h.Ask(t.Context(), in, "", echo)
		ok(t, err)
		same(t, got, want, promise)
	}
	a := start("a")
	ok(t, host.Swap(t.Context(), nil, a))
	ok(t, h.Wrap(host, "b", says("b")))
	ok(t, host.Cleanup(note(&undone, "b")))
	ok(t, host.Swap(t.Context(), nil, start("c")))
	fresh := start("A")

	ask(agent, "abc(abc)", "a hidden shadow isn't asked")
	ask(fresh, "abcA(abcA)", "but from within")
	ok(t, host.Swap(t.Context(), a, fresh))
	ask(agent, "Abc(Abc)", "swapped at once, in place")
	ask(fresh, "Abc(Abc)", "the same from within")
	ask(a, "Abca(Abca)", "the old one has its own still")
	ok(t, h.Wrap(fresh, "!", says("!")))
	ask(agent, "A!bc(A!bc)", "what comes later joins its scope's")

	ok(t, host.Swap(t.Context(), fresh, a))
	ask(agent, "abc(abc)", "and back")
	ok(t, host.Swap(t.Context(), a, fresh))
	ok(t, a.Close(t.Context()))
	same(t, undone, []string{"a"}, "the caller closes the old one")
	ok(t, host.Close(t.Context()))
	same(t, undone, []string{"a", "c", "b", "A"}, "the fresh one is undone in the old one's turn")
}

func TestP6IfTheFreshOneFailsTheOldOneGoesOn(t *testing.T) {
	host, n := root(t), plugin.NewService[int]("n")
	heard := changes(t, host)
	old := shadow(t, host, "p")
	ok(t, n.Provide(old, 1))
	ok(t, host.Swap(t.Context(), nil, old))
	fresh := shadow(t, host, "p")
	ok(t, n.Provide(fresh, 2))
	ok(t, fresh.Close(t.Context()))
	is(t, host.Swap(t.Context(), old, fresh), plugin.ErrClosed, "showing what is closed")
	got, _ := n.Get(host)
	same(t, got, 1, "the old one goes on")
	same(t, *heard, []string{"n provided in host"}, "nobody hears of it")
}

func TestP6SwapTellsWhatBecameOfServices(t *testing.T) {
	host := root(t)
	kept, lost, won := plugin.NewService[int]("kept"), plugin.NewService[int]("lost"), plugin.NewService[int]("won")
	old, fresh := shadow(t, host, "p"), shadow(t, host, "p")
	ok(t, kept.Provide(old, 1))
	ok(t, lost.Provide(old, 1))
	ok(t, kept.Provide(fresh, 2))
	ok(t, won.Provide(fresh, 2))
	ok(t, host.Swap(t.Context(), nil, old))
	heard := changes(t, host)
	ok(t, host.Swap(t.Context(), old, fresh))
	ok(t, old.Close(t.Context()))
	same(t, *heard, []string{"lost leaving in host", "kept replaced in host", "won provided in host"}, "once each")
}

func TestP6AnExclusiveOneIsClosedFirst(t *testing.T) {
	host, n := root(t), plugin.NewService[int]("n")
	heard := changes(t, host)
	old := shadow(t, host, "p")
	ok(t, n.Provide(old, 1))
	ok(t, host.Swap(t.Context(), nil, old))
	ok(t, old.Close(t.Context()))
	fresh := shadow(t, host, "p")
	ok(t, n.Provide(fresh, 2))
	ok(t, host.Swap(t.Context(), old, fresh))
	got, _ := n.Get(host)
	same(t, got, 2, "the fresh one")
	same(t, *heard, []string{"n provided in host", "n leaving in host", "n provided in host"}, "what is told")
}

func TestSwapRefusesWhatIsNotAShadowOfTheScope(t *testing.T) {
	host := root(t)
	fresh, other, agent := shadow(t, host, "p"), shadow(t, host, "q"), child(t, host, "agent")
	stranger := shadow(t, agent, "p")
	for what, err := range map[string]error{
		"a child":                  host.Swap(t.Context(), nil, agent),
		"another's shadow":         host.Swap(t.Context(), nil, stranger),
		"in place of a hidden one": host.Swap(t.Context(), other, fresh),
		"in place of a child":      host.Swap(t.Context(), agent, fresh),
	} {
		if err == nil {
			t.Errorf("accepted: %s", what)
		}
	}
	ok(t, host.Swap(t.Context(), nil, fresh))
	if err := host.Swap(t.Context(), nil, fresh); err == nil {
		t.Error("accepted: one that is shown")
	}
}

// While a plugin of two hooks is swapped over and over, and each old instance is
// closed at once, whoever asks meets exactly one instance, whole and open.
func TestP6RunningCallsFinishOnTheOldOne(t *testing.T) {
	host, h := root(t), plugin.NewHook[string, string]("h")
	agent := child(t, host, "agent")
	start := func(n int) *plugin.Scope {
		p := shadow(t, host, fmt.Sprint("p", n))
		var closed atomic.Bool
		ok(t, p.Cleanup(func(context.Context) error { closed.Store(true); return nil }))
		for range 2 {
			ok(t, h.Wrap(p, p.Name(), func(ctx context.Context, in string, next func(context.Context, string) (string, error)) (string, error) {
				out, err := next(ctx, in+p.Name()+" ")
				if closed.Load() {
					t.Error("an instance was closed while it was asked")
				}
				return out, err
			}))
		}
		return p
	}
	old := start(0)
	ok(t, host.Swap(t.Context(), nil, old))

	stop := make(chan struct{})
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				got, err := h.Ask(t.Context(), agent, "", echo)
				if met := strings.Fields(strings.Trim(got, "()")); err != nil || len(met) != 2 || met[0] != met[1] {
					t.Errorf("met %v (%v), want one instance, whole", met, err)
					return
				}
			}
		})
	}
	for n := range 300 {
		fresh := start(n + 1)
		ok(t, host.Swap(t.Context(), old, fresh))
		ok(t, old.Close(t.Context()))
		old = fresh
	}
	close(stop)
	askers.Wait()
}

// Who asks from within a shadow, while it is swapped in and out, meets its own
// hook once, neither none nor two.
func TestP6FromWithinAShadowIsSeenOnceWhileItIsSwapped(t *testing.T) {
	host, h := root(t), plugin.NewHook[string, string]("h")
	a, b := shadow(t, host, "a"), shadow(t, host, "b")
	ok(t, h.Wrap(a, "a", says("a")))
	ok(t, host.Swap(t.Context(), nil, b))
	done := make(chan struct{})
	var asker sync.WaitGroup
	asker.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if got, err := h.Ask(t.Context(), a, "", echo); got != "a(a)" || err != nil {
				t.Errorf("met %s (%v), want a once", got, err)
				return
			}
		}
	})
	for range 2000 {
		ok(t, host.Swap(t.Context(), b, a))
		ok(t, host.Swap(t.Context(), a, b))
	}
	close(done)
	asker.Wait()
}

// stand is the reference for shadows: in the order they stand in.
type stand struct {
	*plugin.Scope
	shown bool
	names []string
}

// What is seen is what is registered in shadows that are shown, in the order
// they stand in, whatever was shown, swapped, closed and registered before.
func TestWhatIsSeenIsWhatIsShown(t *testing.T) {
	h := plugin.NewHook[string, string]("h")
	rapid.Check(t, func(rt *rapid.T) {
		must := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		host := plugin.NewScope("host", nil)
		defer func() { must(host.Close(context.Background())) }()
		var all []*stand
		for n := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			act := rapid.SampledFrom([]string{"start", "register", "register", "show", "swap", "swap", "close"}).Draw(rt, "act")
			if act == "start" || len(all) == 0 {
				p, err := host.Shadow(fmt.Sprint("p", n))
				must(err)
				all = append(all, &stand{Scope: p})
				continue
			}
			i, j := rapid.IntRange(0, len(all)-1).Draw(rt, "which"), rapid.IntRange(0, len(all)-1).Draw(rt, "other")
			p, other := all[i], all[j]
			switch {
			case act == "register":
				name := fmt.Sprint(n, " ")
				must(h.Wrap(p.Scope, name, says(name)))
				p.names = append(p.names, name)
			case act == "show" && !p.shown:
				must(host.Swap(context.Background(), nil, p.Scope))
				p.shown = true
			case act == "swap" && p.shown && !other.shown:
				must(host.Swap(context.Background(), p.Scope, other.Scope))
				p.shown, other.shown = false, true
				all = slices.Delete(all, j, j+1)
				all = slices.Insert(all, slices.Index(all, p)+1, other)
			case act == "close":
				must(p.Close(context.Background()))
				all = slices.Delete(all, i, i+1)
			}
			var want strings.Builder
			for _, p := range all {
				if p.shown {
					want.WriteString(strings.Join(p.names, ""))
				}
			}
			got, err := h.Ask(context.Background(), host, "", echo)
			must(err)
			if got != want.String()+"("+want.String()+")" {
				rt.Fatalf("after %s, asked %q, want %q", act, got, want.String())
			}
		}
	})
}
