package react

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

// instant is a model that asks for a call until it has had n results, at once.
type instant struct{ n int }

func (instant) Name() string     { return "instant" }
func (instant) Info() model.Info { return model.Info{} }

func (m instant) Ask(_ context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
	if r.Items[len(r.Items)-1].Result != nil && len(r.Items)%(2*m.n+2) == 2*m.n+1 {
		tell(model.Text(0, "done"))
		return chat.FinishStop, nil
	}
	tell(model.Call(0, "c", "nothing"))
	return chat.FinishCalls, nil
}

func benchAgent(b *testing.B, m model.Model) (agent.Running, session.Store) {
	b.Helper()
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	root := plugin.NewScope("root", nil)
	must(model.Source.Provide(root, func(context.Context, string) (model.Model, error) { return m, nil }))
	must(tool.Add(root, tool.New("nothing", "does nothing", func(context.Context, struct{}) (string, error) { return "ok", nil },
		tool.Repeatable())))
	store := session.NewMemory(nil)
	must(store.Beat(ctx, session.Process{ID: "p"}, time.Hour))
	lease, err := store.Acquire(ctx, "s", "p")
	must(err)
	n := 0
	a, err := New(Limits{}).Drive(ctx, agent.Start{
		Store: store, Lease: lease, Scope: root,
		World: agent.World{Now: time.Now, NewID: func() string { n++; return fmt.Sprint("id", n) }},
	})
	must(err)
	return a, store
}

// BenchmarkDriverToolLoop is a turn of 50 steps with an instant model, a tool
// without arguments, no hooks and the memory store.
func BenchmarkDriverToolLoop(b *testing.B) {
	const steps = 50
	ctx := context.Background()
	a, _ := benchAgent(b, instant{steps - 1})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Followup(ctx, chat.Say("go")); err != nil {
			b.Fatal(err)
		}
		if err := a.WaitIdle(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*steps/b.Elapsed().Seconds(), "steps/s")
	if err := a.Close(ctx); err != nil {
		b.Fatal(err)
	}
}
