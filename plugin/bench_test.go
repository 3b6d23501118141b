package plugin_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/tack-agent/tack/plugin"
)

// deep is a turn's scope three below a host that offers much else.
func deep(b *testing.B) (host, turn *plugin.Scope) {
	host = root(b)
	for n := range 50 {
		ok(b, plugin.NewHook[int, int](fmt.Sprint("h", n)).Wrap(host, "w", add(n)))
	}
	return host, child(b, child(b, child(b, host, "agents"), "agent"), "turn")
}

func BenchmarkAsk(b *testing.B) {
	for wraps := range 4 {
		b.Run(fmt.Sprint("wraps=", wraps), func(b *testing.B) {
			host, turn := deep(b)
			h := plugin.NewHook[int, int]("h")
			for range wraps {
				ok(b, h.Wrap(host, "w", add(1)))
			}
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				_, _ = h.Ask(ctx, turn, 1, double)
			}
		})
	}
}

func BenchmarkAskInParallel(b *testing.B) {
	host, turn := deep(b)
	h := plugin.NewHook[int, int]("h")
	ok(b, h.Wrap(host, "w", add(1)))
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			_, _ = h.Ask(context.Background(), turn, 1, double)
		}
	})
}

func BenchmarkTell(b *testing.B) {
	for listeners := range 2 {
		b.Run(fmt.Sprint("listeners=", listeners), func(b *testing.B) {
			host, turn := deep(b)
			e := plugin.NewEvent[int]("e")
			for range listeners {
				ok(b, e.On(host, func(context.Context, int) {}))
			}
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				e.Tell(ctx, turn, 1)
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	host, turn := deep(b)
	v := plugin.NewService[int]("v")
	ok(b, v.Provide(host, 1))
	b.ReportAllocs()
	for b.Loop() {
		v.Get(turn)
	}
}

func BenchmarkOpenAndClose(b *testing.B) {
	host := root(b)
	h := plugin.NewHook[int, int]("h")
	b.ReportAllocs()
	for b.Loop() {
		s := child(b, host, "agent")
		ok(b, h.Wrap(s, "w", add(1)))
		ok(b, s.Close(context.Background()))
	}
}

// weigh is what doing something many times leaves on the heap, in bytes each.
func weigh(tb testing.TB, many int, do func(host *plugin.Scope)) float64 {
	host := root(tb)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range many {
		do(host)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(host)
	return (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(many)
}

func BenchmarkIdleScope(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(weigh(b, 100_000, func(host *plugin.Scope) { child(b, host, "agent") }), "B/scope")
	}
}

func TestAnIdleScopeCostsLittle(t *testing.T) {
	const most = 240 // 160, or more under the race detector
	if got := weigh(t, 10_000, func(host *plugin.Scope) { child(t, host, "agent") }); got > most {
		t.Errorf("an empty scope takes %.0f bytes, at most %d are promised", got, most)
	}
}

func TestWhatHasEndedIsForgotten(t *testing.T) {
	e := plugin.NewEvent[int]("e")
	for what, do := range map[string]func(*plugin.Scope){
		"scope": func(host *plugin.Scope) {
			s := child(t, host, "agent")
			ok(t, e.On(s, func(context.Context, int) {}))
			ok(t, s.Close(context.Background()))
		},
		"shadow": func(host *plugin.Scope) {
			s := shadow(t, host, "p")
			ok(t, host.Swap(context.Background(), nil, s))
			ok(t, s.Close(context.Background()))
		},
		"goroutine": func(host *plugin.Scope) {
			done := make(chan struct{})
			ok(t, host.Go(func(context.Context) { close(done) }))
			<-done
		},
	} {
		if got := weigh(t, 2000, do); got > 100 {
			t.Errorf("each %s that has ended leaves %.0f bytes", what, got)
		}
	}
}
