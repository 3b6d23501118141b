package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

// desk is somebody who is asked.
type desk struct {
	asked []session.Question
	reply session.Reply
	err   error
}

func (d *desk) ask(_ context.Context, q session.Question) (session.Reply, error) {
	d.asked = append(d.asked, q)
	r := d.reply
	r.ID = q.ID
	return r, d.err
}

// asking is a place where a rule has a person decide on reading b instead.
func asking(t *testing.T) (p *place, decided *int) {
	t.Helper()
	p, decided = newPlace(t, reader()), new(int)
	p.deciding(func(q tool.Proposed) (tool.Decision, error) {
		*decided++
		q.Arguments = `{"path":"b"}`
		return q.Ask("may it read b?", "once", "always"), nil
	})
	return p, decided
}

var approval = session.Question{
	ID: "7.1.0", Kind: session.QuestionApproval, Text: "may it read b?", Options: []string{"once", "always"},
	Arguments: `{"path":"b"}`, Answer: 7, Index: 1,
}

func TestQ1AQuestionShowsTheArgumentsThatWillRun(t *testing.T) {
	p, _ := asking(t)
	d := &desk{reply: session.Reply{Allow: true, Text: "always"}}
	j := p.job("read", `{"path":"a"}`)
	j.Ask = d.ask
	j.Started = func(_ context.Context, arguments string) error {
		if arguments != approval.Arguments {
			t.Errorf("started with %s, want %s", arguments, approval.Arguments)
		}
		return nil
	}
	expect(t, p.run(j), chat.CodeOK, `{"path":"b"}`)
	if len(d.asked) != 1 || !reflect.DeepEqual(d.asked[0], approval) {
		t.Errorf("asked %+v, want once %+v", d.asked, approval)
	}
}

func TestT4ANoIsADeniedResultWithWhatWasSaid(t *testing.T) {
	p, _ := asking(t)
	for _, c := range []struct {
		reply session.Reply
		words []string
	}{
		{session.Reply{By: chat.User(), Text: "no, read c instead"}, []string{"by the user", "no, read c instead"}},
		{session.Reply{By: chat.Agent("parent")}, []string{"by parent", "find another way"}},
		{session.Reply{By: chat.Source{Kind: chat.SourceHost}}, []string{"by host"}},
	} {
		j := p.job("read", `{"path":"a"}`)
		j.Ask = (&desk{reply: c.reply}).ask
		j.Started = func(context.Context, string) error { t.Error("it was announced"); return nil }
		expect(t, p.run(j), chat.CodeDenied, append(c.words, "didn't run")...)
	}
}

func TestQ2AfterARestartAnOpenQuestionIsAskedAgainAndNotDecidedAnew(t *testing.T) {
	p, decided := asking(t)
	d := &desk{reply: session.Reply{Allow: true}}
	j := p.job("read", `{"path":"a"}`)
	stored := approval
	stored.Turn, stored.Arguments = 3, `{"path":"then"}`
	j.Ask, j.Questions = d.ask, []*session.Asked{{Question: stored}}
	expect(t, p.run(j), chat.CodeOK, `{"path":"then"}`)
	if *decided != 0 || len(d.asked) != 1 || !reflect.DeepEqual(d.asked[0], stored) {
		t.Errorf("decided %d times and asked %+v, want never and once %+v", *decided, d.asked, stored)
	}
}

func TestQ2AfterARestartAReplyCountsAndNobodyIsAsked(t *testing.T) {
	for _, allow := range []bool{true, false} {
		p, decided := asking(t)
		d := &desk{}
		j := p.job("read", `{"path":"a"}`)
		j.Ask, j.Questions = d.ask, []*session.Asked{{Question: approval, Reply: &session.Reply{Allow: allow, Text: "so be it"}}}
		code, words := chat.CodeOK, `{"path":"b"}`
		if !allow {
			code, words = chat.CodeDenied, "so be it"
		}
		expect(t, p.run(j), code, words)
		if *decided != 0 || len(d.asked) != 0 {
			t.Errorf("decided %d times, asked %+v", *decided, d.asked)
		}
	}
}

func TestQ2ArgumentsThatDontFitAnyMoreDontRun(t *testing.T) {
	p, _ := asking(t)
	stored := approval
	stored.Arguments = `{"file":"b"}`
	j := p.job("read", `{"path":"a"}`)
	j.Questions = []*session.Asked{{Question: stored, Reply: &session.Reply{Allow: true}}}
	expect(t, p.run(j), chat.CodeArguments, "file")
}

func TestT3AGuardIsAskedBeforeThePersonAndAfter(t *testing.T) {
	for _, from := range []int{1, 2} {
		p, _ := asking(t)
		times := 0
		p.guarding("g", func(q tool.Proposed) (tool.Denial, error) {
			times++
			if q.Arguments != approval.Arguments {
				t.Errorf("the guard is asked about %s", q.Arguments)
			}
			return tool.Denial{Deny: times >= from, Reason: "locked"}, nil
		})
		d := &desk{reply: session.Reply{Allow: true}}
		j := p.job("read", `{"path":"a"}`)
		j.Ask = d.ask
		expect(t, p.run(j), chat.CodeDenied, "g: locked")
		if times != from || len(d.asked) != from-1 {
			t.Errorf("denied at %d: %d guards and %d persons were asked", from, times, len(d.asked))
		}
	}
}

func TestACallThatNobodyCanBeAskedAboutDoesntStart(t *testing.T) {
	p, _ := asking(t)
	j := p.job("read", `{"path":"a"}`)
	expect(t, p.run(j), chat.CodeNotStarted, "nobody can be asked")
	j.Ask = (&desk{err: errors.New("no screen")}).ask
	expect(t, p.run(j), chat.CodeNotStarted, "no screen")
}

func TestQ1ABodysQuestionsHaveIdsOfTheirOwn(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	p := newPlace(t, saying("go", func(ctx context.Context) (tool.Answer, error) {
		one, err := tool.From(ctx).Ask(ctx, tool.Query{Text: "which?", Options: []string{"a", "b"}})
		if err != nil {
			return tool.Answer{}, err
		}
		two, err := tool.From(ctx).Ask(ctx, tool.Query{Kind: session.QuestionElicitation, Schema: schema})
		return tool.Text(one.Text + two.Text), err
	}))
	d := &desk{reply: session.Reply{Text: "x"}}
	j := p.job("go", "")
	j.Ask = d.ask
	expect(t, p.run(j), chat.CodeOK, "xx")
	want := []session.Question{
		{ID: "7.1.1", Kind: session.QuestionText, Text: "which?", Options: []string{"a", "b"}, Answer: 7, Index: 1},
		{ID: "7.1.2", Kind: session.QuestionElicitation, Schema: schema, Answer: 7, Index: 1},
	}
	if !reflect.DeepEqual(d.asked, want) {
		t.Errorf("asked %+v, want %+v", d.asked, want)
	}

	// Repeated after a crash: the first has a reply, the second is open, and
	// one between was asked by a body that went another way.
	other := session.Question{ID: "7.1.2", Kind: session.QuestionText, Text: "another?"}
	open := want[1]
	open.ID = "7.1.3"
	j.Questions = []*session.Asked{
		{Question: want[0], Reply: &session.Reply{Text: "y"}},
		{Question: other, Reply: &session.Reply{Text: "no"}},
		{Question: open},
	}
	d.asked = nil
	expect(t, p.run(j), chat.CodeOK, "yx")
	if !reflect.DeepEqual(d.asked, []session.Question{open}) {
		t.Errorf("asked %+v, want %+v", d.asked, open)
	}
}
