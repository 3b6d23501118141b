package prompt

import (
	"context"
	"errors"
	"strings"
	"testing"

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
	for _, bad := range []Section{{Name: "x"}, {Text: says("x")}} {
		if Add(root, bad) == nil {
			t.Errorf("added a section without a name or a text: %+v", bad)
		}
	}
	if AddFact(root, Fact{Name: "x"}) == nil {
		t.Error("added a fact without a value")
	}
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
