package tool

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// Job is a call to be run, and what a driver does for it. All but Scope and
// Call may be left out by those who need no more.
type Job struct {
	Scope   *plugin.Scope // the agent's
	Session session.ID
	Answer  session.Seq // of the answer that asked for the call
	Index   int         // of the call in it
	Call    chat.Call
	Trait   session.Trait // as stored with the answer
	// Questions are those already asked for the call, with the replies.
	Questions []*session.Asked

	// Started stores that the call begins, with these arguments, and returns
	// when that is durable. It is called before the body of a call that isn't
	// repeatable. An error means that the call must not run any more.
	Started func(ctx context.Context, arguments string) error
	// Ask stores the question, unless one with its id is stored, announces it
	// and waits for the reply. An error means that there will be none.
	Ask func(ctx context.Context, q session.Question) (session.Reply, error)
	// Keep keeps an output that is shown in parts, and says where it is.
	Keep func(ctx context.Context, whole []byte) (Kept, error)

	Limits Limits
}

// Kept says where a whole output is.
type Kept struct {
	Blob chat.Blob
	Path string // of a file that the model's tools can read; empty: there is none
}

// Limits bound a call. The zero value of a field means its default.
type Limits struct {
	// Timeout is the longest it may run, hooks around the body included,
	// people's time for replies not. Default: no limit.
	Timeout time.Duration
	// Grace is how long a body may go on after its time was up before it is left
	// behind. Default: 10 s.
	Grace time.Duration
	// Output is how much text the model is shown, in bytes. Default: 50 KiB,
	// some 12,000 tokens: most source files fit, and a careless call takes a
	// sixteenth of a window of 200,000 tokens and not all of it.
	Output int
	// Part is how big one picture or file may be, in bytes. Default: 8 MiB, as
	// for a message.
	Part int64
}

const (
	defaultGrace  = 10 * time.Second
	defaultOutput = 50 << 10
	defaultPart   = 8 << 20
)

func (l Limits) orDefaults() Limits {
	if l.Grace == 0 {
		l.Grace = defaultGrace
	}
	if l.Output == 0 {
		l.Output = defaultOutput
	}
	if l.Part == 0 {
		l.Part = defaultPart
	}
	return l
}

// Execute brings a call to its one final result, on the caller's goroutine. It
// never panics and returns no error: whatever goes wrong is in the result.
//
// When the context ends, so does the call: not started if its body hasn't
// begun, aborted if it was at it. A real answer that comes all the same is
// kept. Execute waits for the body as long as it takes, except for one whose
// own time is up: that is left behind after the grace time.
func Execute(ctx context.Context, j Job) (out session.Resulted) {
	c := &call{Job: j, limits: j.Limits.orDefaults()}
	out = session.Resulted{Answer: j.Answer, Index: j.Index, Result: chat.Result{Call: j.Call.ID, Name: j.Call.Name}}
	defer func() {
		c.over.Store(true)
		if r := recover(); r != nil {
			logPanic(ctx, j.Scope, "the pipeline for tool "+j.Call.Name, r)
			out.Result.Code, out.Result.Parts = chat.CodePanicked, []chat.Part{chat.Text(brokenTool(j.Call.Name, r))}
		}
	}()
	c.settle(ctx, c.answer(ctx), &out)
	return out
}

// call is a job under way.
type call struct {
	Job
	limits    Limits
	tool      *Tool
	arguments string // as they will run

	began atomic.Bool // the body
	over  atomic.Bool // what the body says is no longer heard
	info  Info
	clock clock

	mu    sync.Mutex
	posed int // questions of the body's; guarded by mu
}

// answer is what the call comes to, before it is made fit to show.
func (c *call) answer(ctx context.Context) Answer {
	if ctx.Err() != nil {
		return notStarted("the turn was stopped first")
	}
	var found bool
	if c.tool, found = Find(c.Scope, c.Call.Name); !found {
		return unknown(c.Scope, c.Call.Name)
	}
	var err error
	if c.arguments, err = c.tool.Check(c.Call.Arguments); err != nil {
		return unfit(c.tool, err)
	}
	if end := c.decide(ctx); end != nil {
		return *end
	}
	return c.after(ctx, c.run(ctx))
}

func (c *call) proposed() Proposed {
	return Proposed{
		Key: string(c.Session) + "/" + c.id(), Session: c.Session, Call: c.Call.ID,
		Tool: c.tool.name, Arguments: c.arguments, Trait: c.tool.traitsOf(c.arguments),
	}
}

// id tells the call from all others of its session.
func (c *call) id() string {
	return strconv.FormatUint(uint64(c.Answer), 10) + "." + strconv.Itoa(c.Index)
}

// after lets the hooks see what a call that ran has to say.
func (c *call) after(ctx context.Context, a Answer) Answer {
	if !c.began.Load() && a.Code != chat.CodeOK || !After.Any(c.Scope) {
		return a
	}
	if ctx.Err() != nil { // what was stopped is looked at too
		var end context.CancelFunc
		ctx, end = context.WithTimeout(context.WithoutCancel(ctx), c.limits.Grace)
		defer end()
	}
	said, err := After.Ask(ctx, c.Scope, Finished{Proposed: c.proposed(), Answer: a},
		func(_ context.Context, f Finished) (Answer, error) { return f.Answer, nil })
	if err != nil {
		return failed(chat.CodeError, "the call ran, but what it says is withheld, because a hook that has to look at it broke: %v. Its effects remain", err)
	}
	return said
}

func logPanic(ctx context.Context, scope *plugin.Scope, who string, value any) {
	scope.Log().LogAttrs(ctx, slog.LevelError, who+" panicked",
		slog.Any("panic", value), slog.String("stack", string(debug.Stack())))
}

func failed(code chat.Code, format string, args ...any) Answer {
	return Answer{Code: code, Parts: []chat.Part{chat.Text(fmt.Sprintf(format, args...))}}
}
