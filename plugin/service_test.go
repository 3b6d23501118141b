package plugin_test

import (
	"io"
	"testing"

	"github.com/tack-agent/tack/plugin"
)

func TestP3AnAgentsServiceShadowsTheHosts(t *testing.T) {
	host, model := root(t), plugin.NewService[string]("model")
	a, b := child(t, host, "a"), child(t, host, "b")
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
	ok(t, host.Swap(nil, p))
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
