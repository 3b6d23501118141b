package plugin_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/tack-agent/tack/plugin"
)

// changes is what is told in s of services, as one word each.
func changes(t *testing.T, s *plugin.Scope) *[]string {
	var list []string
	ok(t, s.Watch(func(_ context.Context, c plugin.Change) {
		list = append(list, fmt.Sprintf("%s %s in %s", c.Service, c.Kind, c.Scope))
	}))
	return &list
}

func TestP2AServiceWorksUntilThoseWhoNeedItHaveStopped(t *testing.T) {
	host, clock := root(t), plugin.NewService[string]("clock")
	var dependent *plugin.Scope
	var undone []string
	ok(t, host.Watch(func(ctx context.Context, c plugin.Change) {
		switch {
		case c.Kind == plugin.Provided && dependent == nil:
			dependent = child(t, host, "dependent")
			ok(t, dependent.Cleanup(func(ctx context.Context) error {
				now, _ := clock.Get(dependent)
				same(t, now, "noon", "a service that is leaving works")
				return note(&undone, "dependent")(ctx)
			}))
		case c.Kind == plugin.Leaving:
			ok(t, dependent.Close(ctx))
		}
	}))

	p := shadow(t, host, "p")
	ok(t, p.Cleanup(note(&undone, "clock")))
	same(t, plugin.Missing(host, clock), []string{"clock"}, "a missing need is reported by name")
	ok(t, clock.Provide(p, "noon"))
	if dependent != nil {
		t.Fatal("started by what a hidden shadow provides")
	}
	ok(t, host.Swap(t.Context(), nil, p))
	if dependent == nil {
		t.Fatal("not started when what it needs was there")
	}
	same(t, plugin.Missing(host, clock), nil, "a need that is met")
	same(t, p.Provides(), []string{"clock"}, "what the plugin provides")

	ok(t, p.Close(t.Context()))
	same(t, undone, []string{"dependent", "clock"}, "who needs a service stops before it goes")
	same(t, plugin.Missing(host, clock), []string{"clock"}, "it is gone")
}

func TestP3AnAgentsServiceShadowsTheHosts(t *testing.T) {
	host, model := root(t), plugin.NewService[string]("model")
	a, b := child(t, host, "a"), child(t, host, "b")
	heard := changes(t, host)
	ok(t, model.Provide(host, "big"))
	ok(t, model.Provide(a, "small"))
	turn := child(t, a, "turn")
	for s, want := range map[*plugin.Scope]string{host: "big", a: "small", turn: "small", b: "big"} {
		got, found := model.Get(s)
		if got != want || !found {
			t.Errorf("the model of %s: got %q, want %q", s.Path(), got, want)
		}
	}
	ok(t, a.Close(t.Context()))
	if got, _ := model.Get(turn); got != "big" {
		t.Errorf("after the agent's is undone: got %q, want the host's", got)
	}
	same(t, *heard, []string{"model provided in host", "model provided in host/a", "model leaving in host/a"}, "it is said where a service is seen")
}

func TestP3AScopeSeesAllThatIsProvidedAroundIt(t *testing.T) {
	host, tool := root(t), plugin.NewService[string]("tool")
	a, b := child(t, host, "a"), child(t, host, "b")
	p := shadow(t, host, "p")
	ok(t, tool.Provide(a, "a's"))
	ok(t, tool.Provide(p, "p's"))
	ok(t, tool.Provide(host, "host's"))
	same(t, tool.All(a), []string{"host's", "a's"}, "the root's first")
	same(t, tool.All(p), []string{"host's", "p's"}, "a hidden shadow's, from within")
	ok(t, host.Swap(t.Context(), nil, p))
	same(t, tool.All(a), []string{"p's", "host's", "a's"}, "a shown shadow's where it was made")
	same(t, tool.All(b), []string{"p's", "host's"}, "another agent")
	got, _ := tool.Get(b)
	same(t, got, "host's", "what was provided later is found first")
	ok(t, p.Close(t.Context()))
	same(t, tool.All(b), []string{"host's"}, "a closed one's are gone")
	same(t, plugin.NewService[int]("none").All(b), nil, "of what nobody provides")
}

func TestServicesAreToldApartByKeyNotByName(t *testing.T) {
	host := root(t)
	a, b := plugin.NewService[string]("same"), plugin.NewService[string]("same")
	ok(t, a.Provide(host, "a"))
	if b.Provided(host) {
		t.Error("one key finds what another provided")
	}
	if a == b {
		t.Error("two keys are equal")
	}
}

func TestANilInterfaceIsAValue(t *testing.T) {
	host, reader := root(t), plugin.NewService[io.Reader]("reader")
	ok(t, reader.Provide(host, nil))
	if got, found := reader.Get(host); got != nil || !found {
		t.Errorf("got %v, %t, want nil, true", got, found)
	}
}
