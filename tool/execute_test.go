package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

// seen is the order in which things happened.
type seen []string

func (s *seen) note(what string) { *s = append(*s, what) }

func (s *seen) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(*s, want) {
		t.Errorf("got %q, want %q", *s, want)
	}
}

type (
	decideNext = func(context.Context, tool.Proposed) (tool.Decision, error)
	runNext    = func(context.Context, tool.Proposed) (tool.Answer, error)
	afterNext  = func(context.Context, tool.Finished) (tool.Answer, error)
)

func (p *place) deciding(f func(tool.Proposed) (tool.Decision, error)) {
	p.t.Helper()
	p.must(tool.Decide.Wrap(p.scope, "rule", func(_ context.Context, q tool.Proposed, _ decideNext) (tool.Decision, error) { return f(q) }))
}

func (p *place) guarding(name string, f func(tool.Proposed) (tool.Denial, error)) {
	p.t.Helper()
	p.must(tool.Guard(p.scope, name, func(_ context.Context, q tool.Proposed) (tool.Denial, error) { return f(q) }))
}

// listed puts hooks everywhere that note when they are passed.
func (p *place) listed(s *seen) {
	p.t.Helper()
	p.must(tool.Decide.Wrap(p.scope, "d", func(ctx context.Context, q tool.Proposed, next decideNext) (tool.Decision, error) {
		s.note("decide " + q.Arguments)
		q.Arguments = `{"path":"b"}`
		return next(ctx, q)
	}))
	p.guarding("g", func(q tool.Proposed) (tool.Denial, error) { s.note("guard " + q.Arguments); return tool.Denial{}, nil })
	p.must(tool.Running.Wrap(p.scope, "r", func(ctx context.Context, q tool.Proposed, next runNext) (tool.Answer, error) {
		s.note("run " + q.Arguments)
		q.Arguments = `{"path":"smuggled"}`
		a, err := next(ctx, q)
		s.note("ran")
		return a, err
	}))
	p.must(tool.After.Wrap(p.scope, "a", func(ctx context.Context, f tool.Finished, next afterNext) (tool.Answer, error) {
		s.note("after " + chat.PlainText(f.Answer.Parts))
		a, err := next(ctx, f)
		a.Parts = append(a.Parts, chat.Text("context"))
		return a, err
	}))
}

func TestT3TheOrderIsDecideGuardRunAfter(t *testing.T) {
	var s seen
	p := newPlace(t, reader())
	p.listed(&s)
	j := p.job("read", `{"path":"a"}`)
	j.Started = func(_ context.Context, arguments string) error { s.note("started " + arguments); return nil }
	got := p.run(j)
	s.expect(t, `decide {"path":"a"}`, `guard {"path":"b"}`, `run {"path":"b"}`, `started {"path":"b"}`, "ran", `after {"path":"b"}`)
	expect(t, got, chat.CodeOK, `{"path":"b"}`, "context")
}

func TestT3WhatHooksAreToldIsData(t *testing.T) {
	p := newPlace(t, reader(tool.Beside()))
	same := func(v, back any) {
		t.Helper()
		raw, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(raw, back)
		}
		if got := reflect.ValueOf(back).Elem().Interface(); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%+v came back as %+v, %v", v, got, err)
		}
	}
	p.must(tool.Decide.Wrap(p.scope, "d", func(ctx context.Context, q tool.Proposed, next decideNext) (tool.Decision, error) {
		want := tool.Proposed{Key: "s/7.1", Session: "s", Call: "c1", Tool: "read", Arguments: `{"path":"<a>"}`, Trait: session.Trait{Beside: true}}
		if q != want {
			t.Errorf("got %+v, want %+v", q, want)
		}
		same(q, new(tool.Proposed))
		d, err := next(ctx, q)
		same(d, new(tool.Decision))
		same(q.Ask("may it?", "yes", "no"), new(tool.Decision))
		return d, err
	}))
	p.must(tool.After.Wrap(p.scope, "a", func(ctx context.Context, f tool.Finished, next afterNext) (tool.Answer, error) {
		f.Answer.Parts = append(f.Answer.Parts, chat.File("a", "text/plain", []byte{0, 255}))
		f.Answer.Spent = session.Spent{Steps: 1, Cost: 2}
		same(f, new(tool.Finished))
		return next(ctx, f)
	}))
	got := p.run(p.job("read", `{"path":"<a>"}`))
	if got.Spent.Cost != 2 || len(got.Result.Parts) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestT3ADeniedCallDoesntRun(t *testing.T) {
	var s seen
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { s.note("body"); return tool.Answer{}, nil }))
	p.deciding(func(q tool.Proposed) (tool.Decision, error) { return q.Deny("it is Sunday"), nil })
	expect(t, p.run(p.job("go", "")), chat.CodeDenied, "by a rule", "it is Sunday", "didn't run")
	s.expect(t)
}

func TestT3EveryGuardIsAskedAndAnyDenialCounts(t *testing.T) {
	var s seen
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { s.note("body"); return tool.Answer{}, nil }))
	p.guarding("one", func(tool.Proposed) (tool.Denial, error) {
		s.note("one")
		return tool.Denial{Deny: true, Reason: "too big"}, nil
	})
	p.guarding("two", func(tool.Proposed) (tool.Denial, error) { s.note("two"); panic("oh") })
	p.guarding("three", func(tool.Proposed) (tool.Denial, error) { s.note("three"); return tool.Denial{}, errors.New("no disk") })
	p.guarding("four", func(tool.Proposed) (tool.Denial, error) { s.note("four"); return tool.Denial{}, nil })
	expect(t, p.run(p.job("go", "")), chat.CodeDenied, "one: too big", "two: it is broken", "three: it couldn't tell: no disk")
	slices.Sort(s)
	s.expect(t, "four", "one", "three", "two")
	if !strings.Contains(p.log.String(), "guard two panicked") {
		t.Errorf("the panic isn't in the log: %s", p.log)
	}
}

func TestT3AHookThatBreaksBeforeTheCallDeniesIt(t *testing.T) {
	for name, broken := range map[string]func(q tool.Proposed) (tool.Decision, error){
		"no policy": func(tool.Proposed) (tool.Decision, error) { return tool.Decision{}, errors.New("no policy") },
		"oh":        func(tool.Proposed) (tool.Decision, error) { panic("oh") },
		`"maybe"`:   func(tool.Proposed) (tool.Decision, error) { return tool.Decision{Verdict: "maybe"}, nil },
		"changed": func(tool.Proposed) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.VerdictAllow, Arguments: "{"}, nil
		},
		"none of allow": func(tool.Proposed) (tool.Decision, error) { return tool.Decision{}, nil },
	} {
		p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { t.Error("it ran"); return tool.Answer{}, nil }))
		p.deciding(broken)
		expect(t, p.run(p.job("go", "")), chat.CodeDenied, name, "didn't run")
	}
}

func TestT3AHookAroundMayAnswerItself(t *testing.T) {
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { t.Error("it ran"); return tool.Answer{}, nil }))
	p.must(tool.Running.Wrap(p.scope, "cache", func(context.Context, tool.Proposed, runNext) (tool.Answer, error) { return tool.Text("cached"), nil }))
	j := p.job("go", "")
	j.Started = func(context.Context, string) error { t.Error("a body was announced that doesn't run"); return nil }
	expect(t, p.run(j), chat.CodeOK, "cached")
}

func TestT3AHookAroundThatBreaksIsAnError(t *testing.T) {
	for _, ran := range []bool{false, true} {
		p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { return tool.Text("done"), nil }))
		p.must(tool.Running.Wrap(p.scope, "box", func(ctx context.Context, q tool.Proposed, next runNext) (tool.Answer, error) {
			if ran {
				_, _ = next(ctx, q)
			}
			return tool.Answer{}, errors.New("no sandbox")
		}))
		words := []string{"no sandbox", "didn't run"}
		if ran {
			words[1] = "may have had effects"
		}
		expect(t, p.run(p.job("go", "")), chat.CodeError, words...)
	}
}

func TestT3WhatABrokenHookShouldHaveSeenIsWithheld(t *testing.T) {
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { return tool.Text("a secret"), nil }))
	p.must(tool.After.Wrap(p.scope, "redact", func(context.Context, tool.Finished, afterNext) (tool.Answer, error) {
		return tool.Answer{}, errors.New("no patterns")
	}))
	got := p.run(p.job("go", ""))
	expect(t, got, chat.CodeError, "redact", "no patterns", "withheld")
	if strings.Contains(text(got), "secret") {
		t.Errorf("the model is told %q", text(got))
	}
}

func TestT4AnUnknownToolIsAResultThatNamesTheKnown(t *testing.T) {
	p := newPlace(t, reader(), saying("write", nil), saying("bash", nil))
	expect(t, p.run(p.job("raed", "")), chat.CodeUnknown, `"raed"`, `did you mean "read"?`, "bash, read, write")
	expect(t, p.run(p.job("", "")), chat.CodeUnknown, `""`)
	p = newPlace(t)
	expect(t, p.run(p.job("read", "")), chat.CodeUnknown, "go on without tools")
}

func TestT4AFailureIsAResultWithWhatThereIsToShow(t *testing.T) {
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) {
		return tool.Answer{Parts: tool.Text("two lines").Parts, Concludes: true}, errors.New("exit status 1")
	}))
	got := p.run(p.job("go", ""))
	expect(t, got, chat.CodeError, "two lines\nexit status 1")
	if got.Concludes {
		t.Error("a failed call concludes the turn")
	}
}

func TestT4AFailureWithoutAWordIsAResultWithSome(t *testing.T) {
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { return tool.Answer{}, errors.New("") }))
	expect(t, p.run(p.job("go", "")), chat.CodeError, "failed")
}

func TestT4APanicNamesTheToolAndIsLogged(t *testing.T) {
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { panic("index out of range") }))
	expect(t, p.run(p.job("go", "")), chat.CodePanicked, "go", "index out of range", "may have had effects")
	for _, want := range []string{"tool go panicked", "index out of range", "execute_test.go"} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("the log doesn't say %q: %s", want, p.log)
		}
	}
}

func TestT4NoPanicOfADriversFunctionGetsOut(t *testing.T) {
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) {
		return tool.Text(strings.Repeat("x", 100)), nil
	}))
	j := p.job("go", "")
	j.Limits.Output = 10
	j.Keep = func(context.Context, []byte) (tool.Kept, error) { panic("no disk") }
	expect(t, p.run(j), chat.CodePanicked, "go", "no disk")
	j = p.job("go", "")
	j.Started = func(context.Context, string) error { panic("no log") }
	expect(t, p.run(j), chat.CodePanicked, "no log")
}

func TestT4AnAnswerThatCantBeShownIsAnError(t *testing.T) {
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) {
		return tool.Answer{Parts: []chat.Part{{Kind: "hologram"}}, Concludes: true}, nil
	}))
	got := p.run(p.job("go", ""))
	expect(t, got, chat.CodeError, "go", "hologram")
	if got.Concludes {
		t.Error("it concludes")
	}
}

func TestASuccessfulCallMayConclude(t *testing.T) {
	p := newPlace(t, saying("done", func(context.Context) (tool.Answer, error) { return tool.Answer{}, nil }, tool.Concludes()))
	if got := p.run(p.job("done", "")); !got.Concludes {
		t.Errorf("got %+v, want it to conclude", got)
	}
}

func TestT2OnlyABodyThatIsNotRepeatableIsAnnounced(t *testing.T) {
	yes, no := session.Trait{Repeatable: true}, session.Trait{}
	for _, c := range []struct {
		stored    session.Trait
		arguments string
		announced bool
	}{
		{yes, `{"path":"a","limit":9}`, false},
		{no, `{"path":"a","limit":9}`, true},  // was not when the answer was stored
		{yes, `{"path":"a","limit":1}`, true}, // is not any more
	} {
		announced := false
		p := newPlace(t, reader(tool.RepeatableIf(func(r reading) bool { return r.Limit > 5 })))
		j := p.job("read", c.arguments)
		j.Trait = c.stored
		j.Started = func(context.Context, string) error { announced = true; return nil }
		expect(t, p.run(j), chat.CodeOK)
		if announced != c.announced {
			t.Errorf("%+v: announced: %v", c, announced)
		}
	}
}

func TestT2ABodyWhoseStartIsRefusedDoesntRun(t *testing.T) {
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { t.Error("it ran"); return tool.Answer{}, nil }))
	j := p.job("go", "")
	j.Started = func(context.Context, string) error { return errors.New("the turn has ended") }
	expect(t, p.run(j), chat.CodeNotStarted, "the turn has ended")
}

func TestT6ABodyFindsWhatItNeeds(t *testing.T) {
	p := newPlace(t)
	p.add(saying("go", func(ctx context.Context) (tool.Answer, error) {
		i := tool.From(ctx)
		if i.Scope() != p.scope || i.Session() != "s" || i.Call() != "c1" || i.Key() != "s/7.1" {
			t.Errorf("got %v %q %q %q", i.Scope(), i.Session(), i.Call(), i.Key())
		}
		return tool.Text("ok"), nil
	}))
	expect(t, p.run(p.job("go", "")), chat.CodeOK)
	i := tool.From(t.Context())
	if _, err := i.Ask(t.Context(), tool.Query{}); err == nil || i.Scope() != nil || i.Session() != "" || i.Call() != "" || i.Key() != "" {
		t.Errorf("outside of a call, %+v knows something", i)
	}
}

func TestP3AnAgentsOwnToolIsSeenBeforeTheHosts(t *testing.T) {
	host := newPlace(t,
		saying("b", func(context.Context) (tool.Answer, error) { return tool.Text("host's"), nil }),
		saying("c", nil), saying("a", nil))
	child, err := host.scope.Child("agent")
	host.must(err)
	agent := &place{t: t, scope: child, log: host.log}
	before := tool.List(child)
	agent.add(saying("b", func(context.Context) (tool.Answer, error) { return tool.Text("agent's"), nil }), saying("d", nil))
	list := func(s *plugin.Scope) (names []string) {
		for _, one := range tool.List(s) {
			names = append(names, one.Name())
		}
		return names
	}
	if got := list(child); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("the agent is offered %q", got)
	}
	if got := list(host.scope); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the host offers %q", got)
	}
	expect(t, agent.run(agent.job("b", "")), chat.CodeOK, "agent's")
	expect(t, host.run(host.job("b", "")), chat.CodeOK, "host's")
	now := tool.List(child)
	if tool.Same(before, now) || !tool.Same(now, tool.List(child)) {
		t.Error("Same doesn't tell a changed list from an unchanged one")
	}
	host.must(child.Close(t.Context()))
	if err := tool.Add(child, reader()); !errors.Is(err, plugin.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if got := list(host.scope); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the host offers %q", got)
	}
}

func TestOfToolsInOnePlaceTheLastIsSeen(t *testing.T) {
	p := newPlace(t,
		saying("a", func(context.Context) (tool.Answer, error) { return tool.Text("first"), nil }),
		saying("a", func(context.Context) (tool.Answer, error) { return tool.Text("last"), nil }))
	expect(t, p.run(p.job("a", "")), chat.CodeOK, "last")
	if got := tool.List(p.scope); len(got) != 1 {
		t.Errorf("%d tools of one name are listed", len(got))
	}
}
