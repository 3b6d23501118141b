package prompt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
)

var bg = context.Background()

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says is a section or fact that says the same to all.
func says(text string) func(context.Context, Input) (string, error) {
	return func(context.Context, Input) (string, error) { return text, nil }
}

func render(t *testing.T, s *plugin.Scope) string {
	t.Helper()
	text, err := Render(bg, s, Input{Session: "s"})
	must(t, err)
	return text
}

func TestSectionsStandInTheirOrderAndThenByName(t *testing.T) {
	root := plugin.NewScope("root", nil)
	for _, s := range []Section{
		{Name: "z", Order: 1, Text: says("first")},
		{Name: "b", Order: 5, Text: says("third\n")},
		{Name: "a", Order: 5, Text: says("second")},
		{Name: "none", Order: 2, Text: says("  ")},
	} {
		must(t, Add(root, s))
	}
	if got, want := render(t, root), "first\n\nsecond\n\nthird"; got != want {
		t.Errorf("L8: got %q, want %q", got, want)
	}
}

func TestAnAgentsSectionTakesThePlaceOfTheHosts(t *testing.T) {
	root := plugin.NewScope("root", nil)
	agent, err := root.Child("agent")
	must(t, err)
	must(t, Add(root, Section{Name: "style", Text: says("be long")}))
	must(t, Add(root, Section{Name: "tools", Order: 1, Text: says("use them")}))
	must(t, Add(agent, Section{Name: "style", Order: 2, Text: says("be brief")}))
	must(t, Add(agent, Section{Name: "tools", Text: says("")}))
	if got := render(t, agent); got != "be brief" {
		t.Errorf("the agent's: %q, want be brief", got)
	}
	if got := render(t, root); got != "be long\n\nuse them" {
		t.Errorf("P3: the host's: %q, want it as it was", got)
	}
	must(t, agent.Close(bg))
	must(t, root.Close(bg))
	if Any(root) {
		t.Error("P1: sections outlived their scope")
	}
}

func TestASectionThatFailsIsNamed(t *testing.T) {
	root := plugin.NewScope("root", nil)
	broken := errors.New("no such file")
	must(t, Add(root, Section{Name: "instructions", Text: func(context.Context, Input) (string, error) { return "", broken }}))
	if _, err := Render(bg, root, Input{}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "instructions") {
		t.Errorf("got %v, want the section and its error", err)
	}
	var hook *plugin.HookError
	if _, err := Render(bg, root, Input{}); !errors.As(err, &hook) || hook.Hook != "instructions" {
		t.Errorf("got %v, want a HookError that names the section", err)
	}
	must(t, root.Close(bg))

	root = plugin.NewScope("root", nil)
	must(t, Add(root, Section{Name: "wild", Text: func(context.Context, Input) (string, error) { panic("oh no") }}))
	if _, err := Render(bg, root, Input{}); !errors.As(err, &hook) || hook.Hook != "wild" {
		t.Errorf("got %v, want a HookError that names the section that panicked", err)
	}
	for _, bad := range []Section{{Name: "x"}, {Text: says("x")}} {
		if Add(root, bad) == nil {
			t.Errorf("added a section without a name or a text: %+v", bad)
		}
	}
	for _, bad := range []Fact{{Name: "x"}, {Value: says("x")}, {Name: "x\n", Value: says("x")}} {
		if AddFact(root, bad) == nil {
			t.Errorf("added a fact that can't be a message: %+v", bad)
		}
	}
}

func TestASectionThatIsReplacedIsNotMade(t *testing.T) {
	root := plugin.NewScope("root", nil)
	agent, err := root.Child("agent")
	must(t, err)
	must(t, Add(root, Section{Name: "style", Text: func(context.Context, Input) (string, error) {
		t.Error("the host's section is made for an agent that has its own")
		return "", nil
	}}))
	must(t, Add(agent, Section{Name: "style", Text: says("long")}))
	must(t, Add(agent, Section{Name: "style", Text: says("brief")}))
	if got := render(t, agent); got != "brief" {
		t.Errorf("got %q, want what was registered last: brief", got)
	}
}

func TestP4AFactThatFailsIsLeftOutAndReported(t *testing.T) {
	var log bytes.Buffer
	root := plugin.NewScope("root", slog.New(slog.NewTextHandler(&log, nil)))
	must(t, AddFact(root, Fact{Name: "git", Value: func(context.Context, Input) (string, error) { return "half a text", errors.New("no repository") }}))
	must(t, AddFact(root, Fact{Name: "wild", Value: func(context.Context, Input) (string, error) { panic("oh no") }}))
	must(t, AddFact(root, Fact{Name: "clock", Value: says("noon\xff\n")}))
	list, err := Changes(bg, root, Input{}, nil)
	must(t, err)
	if len(list) != 1 || chat.PlainText(list[0].Parts) != "noon\uFFFD" {
		t.Errorf("got %+v, want the fact that is sound, as valid text", list)
	}
	must(t, list[0].As("id").Validate())
	for _, want := range []string{"git", "no repository", "wild", "oh no"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log doesn't tell %q: %s", want, log.String())
		}
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := Changes(ctx, root, Input{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want to hear that the caller has no time", err)
	}
}

func TestP6RenderingFinishesOnTheOldOne(t *testing.T) {
	root := plugin.NewScope("root", nil)
	instance := func(text string) (*plugin.Scope, chan struct{}) {
		p, err := root.Shadow("p")
		must(t, err)
		closed := make(chan struct{})
		must(t, p.Cleanup(func(context.Context) error { close(closed); return nil }))
		must(t, Add(p, Section{Name: "p", Text: func(context.Context, Input) (string, error) {
			select {
			case <-closed:
				t.Error("asked for a text after it was closed")
			default:
			}
			return text, nil
		}}))
		return p, closed
	}
	old, _ := instance("p")
	must(t, root.Swap(bg, nil, old))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2000 {
			if got, err := Render(bg, root, Input{}); got != "p" || err != nil {
				t.Errorf("got %q, %v, want one instance's text", got, err)
			}
		}
	}()
	for range 200 {
		fresh, _ := instance("p")
		must(t, root.Swap(bg, old, fresh))
		must(t, old.Close(bg))
		old = fresh
	}
	<-done
	must(t, root.Close(bg))
}

func TestL8FactsAreShownWhenTheyDifferFromTheLastShown(t *testing.T) {
	root := plugin.NewScope("root", nil)
	branch := "main"
	must(t, AddFact(root, Fact{Name: "git", Value: func(context.Context, Input) (string, error) { return branch, nil }}))
	must(t, AddFact(root, Fact{Name: "clock", Value: says("noon")}))
	must(t, AddFact(root, Fact{Name: "nothing", Value: says("")}))
	var shown []chat.Message
	changes := func() string {
		t.Helper()
		list, err := Changes(bg, root, Input{}, shown)
		must(t, err)
		var words []string
		for _, m := range list {
			if err := m.As("id").Validate(); err != nil {
				t.Errorf("a message that can't be added: %v", err)
			}
			words = append(words, m.Source.Name+"="+chat.PlainText(m.Parts))
		}
		shown = append(shown, list...)
		return strings.Join(words, " ")
	}
	for i, want := range []string{"clock=noon git=main", "", "git=feature", "", "git=main"} {
		if i == 2 {
			branch = "feature"
		} else if i == 4 {
			branch = "main"
		}
		if got := changes(); got != want {
			t.Errorf("step %d: %q, want %q", i, got, want)
		}
	}
}

func TestP7InputsAndAnswersAreData(t *testing.T) {
	in := Input{Session: "s", Model: "m", Mode: "plan"}
	out := []Piece{{Name: "a", Order: -1, Text: "x\n"}, {Name: "b", Failed: "no"}}
	var in2 Input
	var out2 []Piece
	for from, to := range map[any]any{&in: &in2, &out: &out2} {
		data, err := json.Marshal(from)
		must(t, err)
		must(t, json.Unmarshal(data, to))
	}
	if diff := cmp.Diff(in, in2) + cmp.Diff(out, out2); diff != "" {
		t.Errorf("P7: JSON there and back changes them:\n%s", diff)
	}
}
