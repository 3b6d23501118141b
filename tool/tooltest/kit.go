// Package tooltest is what a tool promises, as tests. The first test of a tool
// is one call of [Run].
package tooltest

import (
	"context"
	"fmt"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

// T is what the kit needs of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Runner is a T that can run parts of a test: a *testing.T.
type Runner[S any] interface {
	T
	Run(name string, f func(S)) bool
}

// Case is an example of a call, and what is to come of it. The kit runs it
// several times, and with arguments spoilt one by one: the world it works in
// must be one that can be harmed.
type Case struct {
	Name      string
	Arguments string    // JSON; empty: none
	Code      chat.Code // of the result; empty: it succeeds
	// Prepare brings the world to where it was before the call; nil: nothing
	// has to be done. It is called before each run, and once before runs that
	// overlap.
	Prepare func()
	// Check says what is wrong with the result; nil: nothing can be.
	Check func(chat.Result) error
	// Effect tells the world after the call in words. It is asked after one run
	// of a repeatable call and after another right behind it.
	Effect func() string
	// Hangs says that the call goes on until it is stopped. Its code is that of a
	// stopped call, and empty here.
	Hangs bool
	// Inside has something, or is closed, when a call that hangs does; nil: as
	// soon as its body is about to run.
	Inside <-chan struct{}
	// Reply answers the call's questions; nil: nobody can be asked.
	Reply func(session.Question) session.Reply
	// Patience is how long the call may take once it was stopped, and how long
	// it may take to hang. It bounds broken tools only. Default: 10 s.
	Patience time.Duration
}

// Clause is one promise of a tool, and its proof.
type Clause struct {
	Name    string // for go test -run
	Promise string
	check   func(*trial)
}

// Clauses lists all that the kit proves.
func Clauses() []Clause {
	return []Clause{
		{"sound", "a tool has a name and a description and can be offered", (*trial).sound},
		{"schema", "the schema is a compact JSON Schema of an object, the same each time, and says what each argument is", (*trial).schema},
		{"examples", "the arguments of the examples fit the schema, except where that is the example", (*trial).examples},
		{"results", "each example comes to the result it should", (*trial).results},
		{"malformed", "whatever the arguments, there is a result, the tool doesn't panic, and it doesn't run with what doesn't fit", (*trial).malformed},
		{"traits", "the traits of the same arguments are the same each time, and asking breaks nothing", (*trial).traits},
		{"text", "what is answered can be shown: valid UTF-8, pictures and files with a media type", (*trial).text},
		{"data", "a result is data: JSON there and back leaves it unchanged", (*trial).data},
		{"cancel", "a call that is stopped ends at once", (*trial).cancel},
		{"repeatable", "a repeatable call done twice leaves the world as if done once", (*trial).repeatable},
		{"beside", "calls that may run beside others can", (*trial).beside},
	}
}

// Run proves all clauses on a tool, each as a test of its own.
func Run[S Runner[S]](t S, one *tool.Tool, cases ...Case) {
	t.Helper()
	for _, clause := range Clauses() {
		t.Run(clause.Name, func(t S) { clause.Check(t, one, cases...) })
	}
}

// Check proves one clause.
func (c Clause) Check(t T, one *tool.Tool, cases ...Case) {
	t.Helper()
	if err := one.Err(); err != nil {
		t.Errorf("%v\n\tThe promise: %s", err, c.Promise)
		return
	}
	if len(cases) == 0 {
		t.Errorf("there are no examples to prove it with: give tooltest.Run some cases")
		return
	}
	for i := range cases {
		if cases[i].Patience == 0 {
			cases[i].Patience = 10 * time.Second
		}
		if cases[i].Name == "" {
			cases[i].Name = fmt.Sprintf("case %d", i+1)
		}
	}
	c.check(&trial{T: t, tool: one, cases: cases, promise: c.Promise})
}

// trial is one clause being checked.
type trial struct {
	T
	tool    *tool.Tool
	cases   []Case
	promise string
}

// broken reports that the promise isn't kept.
func (t *trial) broken(format string, args ...any) {
	t.Helper()
	t.Errorf("%s\n\tThe promise: %s", fmt.Sprintf(format, args...), t.promise)
}

// ran is a call under way.
type ran struct {
	begins chan struct{} // closed when the body is about to run
	ends   chan struct{} // closed when there is a result
	result session.Resulted
	raw    tool.Answer // what the body said
}

// start runs the call in a goroutine of its own.
func (t *trial) start(ctx context.Context, c Case) *ran {
	r := &ran{begins: make(chan struct{}), ends: make(chan struct{})}
	go func() {
		defer close(r.ends)
		r.result = t.execute(ctx, c, r)
	}()
	return r
}

// execute brings the call to its result on a scope of its own.
func (t *trial) execute(ctx context.Context, c Case, r *ran) session.Resulted {
	scope := plugin.NewScope("tooltest", nil)
	defer func() {
		if err := scope.Close(context.WithoutCancel(ctx)); err != nil {
			t.broken("%s: %v", c.Name, err)
		}
	}()
	err := tool.Running.Wrap(scope, "tooltest", func(ctx context.Context, p tool.Proposed, next func(context.Context, tool.Proposed) (tool.Answer, error)) (tool.Answer, error) {
		a, err := next(ctx, p)
		r.raw = a
		return a, err
	})
	if err == nil {
		err = tool.Add(scope, t.tool)
	}
	if err != nil {
		t.broken("%s: %v", c.Name, err)
	}
	j := t.job(scope, c)
	j.Started = func(context.Context, string) error { close(r.begins); return nil }
	return tool.Execute(ctx, j)
}

// job is the call of a case. It is treated as not repeatable, so that its start
// is seen.
func (t *trial) job(scope *plugin.Scope, c Case) tool.Job {
	j := tool.Job{
		Scope: scope, Session: "tooltest", Answer: 1,
		Call: chat.Call{ID: "call_1", Name: t.tool.Name(), Arguments: c.Arguments},
	}
	if c.Reply != nil {
		j.Ask = func(_ context.Context, q session.Question) (session.Reply, error) {
			r := c.Reply(q)
			r.ID = q.ID
			return r, nil
		}
	}
	return j
}

// run runs a case that ends by itself; one that doesn't is stopped.
func (t *trial) run(c Case) *ran {
	t.Helper()
	r, ended := t.within(c, c.Patience)
	if !ended {
		t.broken("%s: it hasn't ended after %s; say so with Hangs, if it is to hang", c.Name, c.Patience)
	}
	return r
}

// within runs a case and stops it after a while.
func (t *trial) within(c Case, while time.Duration) (r *ran, ended bool) {
	if c.Prepare != nil {
		c.Prepare()
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	r = t.start(ctx, c)
	wait := time.NewTimer(while)
	defer wait.Stop()
	select {
	case <-r.ends:
		return r, true
	case <-wait.C:
	}
	stop()
	<-r.ends
	return r, false
}

// ending are the cases that end by themselves.
func (t *trial) ending() []Case { return t.those(func(c Case) bool { return !c.Hangs }) }

func (t *trial) those(which func(Case) bool) []Case {
	var out []Case
	for _, c := range t.cases {
		if which(c) {
			out = append(out, c)
		}
	}
	return out
}
