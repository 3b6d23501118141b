package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

// pad is a world with notes.
type pad struct {
	mu    sync.Mutex
	notes map[string]string
	added []string
}

func (p *pad) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes, p.added = map[string]string{}, nil
}

func (p *pad) write(where, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes[where] = what
	p.added = append(p.added, what)
}

func (p *pad) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprint(p.notes)
}

func (p *pad) everything() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprint(p.added)
}

type noting struct {
	Where string `json:"where" jsonschema:"the note's name"`
	What  string `json:"what,omitempty" jsonschema:"what it is to say; wait for what never comes if empty"`
}

// note is a sound tool.
func note(p *pad) func(context.Context, noting) (string, error) {
	return func(ctx context.Context, n noting) (string, error) {
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case n.Where == "nowhere":
			return "", errors.New("there is no such place: write elsewhere")
		case n.What == "":
			<-ctx.Done()
			return "", ctx.Err()
		}
		p.write(n.Where, n.What)
		return "noted", nil
	}
}

// cases are those of note.
func cases(p *pad) []Case {
	return []Case{
		{
			Arguments: `{"where":"a","what":"b"}`, Prepare: p.clear, Effect: p.String,
			Check: func(r chat.Result) error {
				if got := chat.PlainText(r.Parts); got != "noted" {
					return fmt.Errorf("got %q", got)
				}
				return nil
			},
		},
		{Name: "nowhere", Arguments: `{"where":"nowhere","what":"b"}`, Code: chat.CodeError},
		{Name: "misspelt", Arguments: `{"were":"a"}`, Code: chat.CodeArguments},
		{Name: "waiting", Arguments: `{"where":"a"}`, Hangs: true},
	}
}

func soundOptions() []tool.Option { return []tool.Option{tool.Repeatable(), tool.Beside()} }

func TestASoundToolKeepsAllPromises(t *testing.T) {
	p := &pad{}
	p.clear()
	Run(t, tool.New("note", "writes a note", note(p), soundOptions()...), cases(p)...)
}

// recorder is a T that keeps what it is told.
type recorder struct {
	mu     sync.Mutex
	clause string
	broken []string // clauses
	said   []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = append(r.broken, r.clause)
	r.said = append(r.said, r.clause+": "+fmt.Sprintf(format, args...))
}

func (r *recorder) Run(name string, f func(*recorder)) bool {
	r.clause = name
	f(r)
	return true
}

// spoilt makes tools that break a promise, by the clauses that have to notice.
var spoilt = []struct {
	what    string
	noticed []string
	make    func(p *pad) (*tool.Tool, []Case)
}{
	{"can't be made", []string{"sound"}, func(p *pad) (*tool.Tool, []Case) {
		return tool.New("a note", "d", note(p)), cases(p)
	}},
	{"has no examples", []string{"results"}, func(p *pad) (*tool.Tool, []Case) {
		return tool.New("note", "d", note(p)), nil
	}},
	{"has an empty description", []string{"sound"}, func(p *pad) (*tool.Tool, []Case) {
		return tool.New("note", " ", note(p)), cases(p)
	}},
	{"doesn't describe an argument", []string{"schema"}, func(*pad) (*tool.Tool, []Case) {
		return loose(`{"type":"object","properties":{"where":{"type":"string"}}}`, never), one()
	}},
	{"requires what it doesn't describe", []string{"schema"}, func(*pad) (*tool.Tool, []Case) {
		return loose(`{"type":"object","required":["when"]}`, never), []Case{{Arguments: `{"when":1}`}}
	}},
	{"has examples that don't fit", []string{"examples", "results"}, func(p *pad) (*tool.Tool, []Case) {
		return tool.New("note", "d", note(p)), []Case{{Arguments: `{"what":"b"}`}}
	}},
	{"fails", []string{"results"}, func(p *pad) (*tool.Tool, []Case) {
		return body(func(context.Context) (tool.Answer, error) { return tool.Answer{}, errors.New("no") }), one()
	}},
	{"fails without a word", []string{"results"}, func(*pad) (*tool.Tool, []Case) {
		return body(func(context.Context) (tool.Answer, error) { return tool.Answer{}, errors.New("") }), []Case{{Code: chat.CodeError}}
	}},
	{"answers something else", []string{"results"}, func(p *pad) (*tool.Tool, []Case) {
		all := cases(p)
		all[0].Check = func(chat.Result) error { return errors.New("something else") }
		return tool.New("note", "d", note(p)), all
	}},
	{"panics", []string{"results"}, func(*pad) (*tool.Tool, []Case) {
		return body(func(context.Context) (tool.Answer, error) { panic("oh") }), []Case{{Arguments: "{}", Code: chat.CodeOK}}
	}},
	{"panics on arguments it doesn't expect", []string{"malformed"}, func(*pad) (*tool.Tool, []Case) {
		return loose(`{"type":"object"}`, func(a map[string]any) string { return a["where"].(string) }), []Case{{Arguments: `{"where":"a"}`}}
	}},
	{"has fickle traits", []string{"traits"}, func(p *pad) (*tool.Tool, []Case) {
		var n atomic.Int64
		return tool.New("note", "d", note(p), tool.BesideIf(func(noting) bool { return n.Add(1)%2 == 0 })), cases(p)
	}},
	{"answers what is no text", []string{"text", "data"}, func(*pad) (*tool.Tool, []Case) {
		return body(func(context.Context) (tool.Answer, error) { return tool.Text("\xff"), nil }), one()
	}},
	{"answers a picture of no type", []string{"text", "results"}, func(*pad) (*tool.Tool, []Case) {
		return body(func(context.Context) (tool.Answer, error) {
			return tool.Answer{Parts: []chat.Part{chat.Image("", []byte{1})}}, nil
		}), one()
	}},
	{"ignores its context", []string{"cancel"}, func(*pad) (*tool.Tool, []Case) {
		return body(func(context.Context) (tool.Answer, error) { time.Sleep(time.Minute); return tool.Text("at last"), nil }),
			[]Case{{Arguments: "{}", Hangs: true}}
	}},
	{"takes a stop for success", []string{"cancel"}, func(*pad) (*tool.Tool, []Case) {
		return body(func(ctx context.Context) (tool.Answer, error) { <-ctx.Done(); return tool.Text("done"), nil }),
			[]Case{{Arguments: "{}", Hangs: true}}
	}},
	{"hangs", []string{"results", "text", "data"}, func(*pad) (*tool.Tool, []Case) {
		return body(func(ctx context.Context) (tool.Answer, error) { <-ctx.Done(); return tool.Answer{}, ctx.Err() }), one()
	}},
	{"doesn't hang where it should", []string{"cancel"}, func(*pad) (*tool.Tool, []Case) {
		return body(func(context.Context) (tool.Answer, error) { return tool.Text("done"), nil }),
			[]Case{{Arguments: "{}", Hangs: true, Inside: make(chan struct{})}}
	}},
	{"panics when stopped", []string{"cancel"}, func(*pad) (*tool.Tool, []Case) {
		return body(func(ctx context.Context) (tool.Answer, error) {
			if ctx.Err() != nil {
				panic(ctx.Err())
			}
			return tool.Text("done"), nil
		}), one()
	}},
	{"isn't repeatable though it says so", []string{"repeatable"}, func(p *pad) (*tool.Tool, []Case) {
		all := cases(p)
		all[0].Effect = p.everything
		return tool.New("note", "d", note(p), tool.Repeatable()), all
	}},
	{"fails when repeated", []string{"repeatable"}, func(p *pad) (*tool.Tool, []Case) {
		once := func(context.Context) (tool.Answer, error) {
			if p.String() != "map[]" {
				return tool.Answer{}, errors.New("it is there")
			}
			p.write("a", "b")
			return tool.Answer{}, nil
		}
		return body(once, tool.Repeatable()), []Case{{Prepare: p.clear, Effect: p.String}}
	}},
	{"can't run beside itself though it says so", []string{"beside"}, func(*pad) (*tool.Tool, []Case) {
		var inside atomic.Int64
		return body(func(context.Context) (tool.Answer, error) {
			defer inside.Add(-1)
			if inside.Add(1) > 1 {
				return tool.Answer{}, errors.New("one at a time")
			}
			time.Sleep(time.Millisecond)
			return tool.Answer{}, nil
		}, tool.Beside()), one()
	}},
	{"mixes up the answers of calls beside each other", []string{"beside"}, func(*pad) (*tool.Tool, []Case) {
		var n atomic.Int64
		mixed := body(func(context.Context) (tool.Answer, error) {
			n.Add(1)
			time.Sleep(time.Millisecond)
			return tool.Text(fmt.Sprint(n.Add(-1))), nil
		}, tool.Beside())
		alone := func(r chat.Result) error {
			if got := chat.PlainText(r.Parts); got != "0" {
				return fmt.Errorf("got %s", got)
			}
			return nil
		}
		return mixed, []Case{{Check: alone}}
	}},
}

func one() []Case { return []Case{{Arguments: "{}"}} }

func body(f func(context.Context) (tool.Answer, error), options ...tool.Option) *tool.Tool {
	return tool.New("do", "does it", func(ctx context.Context, _ struct{}) (tool.Answer, error) { return f(ctx) }, options...)
}

func never(map[string]any) string { return "" }

// loose is a tool whose schema may promise less than its body takes.
func loose(schema string, f func(map[string]any) string) *tool.Tool {
	return tool.Make(tool.Spec{
		Name: "loose", Description: "d", Schema: json.RawMessage(schema),
		Run: func(_ context.Context, raw json.RawMessage) (tool.Answer, error) {
			var a map[string]any
			if err := json.Unmarshal(raw, &a); err != nil {
				return tool.Answer{}, err
			}
			return tool.Text(f(a)), nil
		},
	})
}

func TestTheKitNoticesWhatIsBroken(t *testing.T) {
	for _, s := range spoilt {
		t.Run(s.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pad{}
				p.clear()
				bad, all := s.make(p)
				r := &recorder{}
				Run(r, bad, all...)
				time.Sleep(time.Hour) // for those that ignore their context
				for _, clause := range s.noticed {
					if !slices.Contains(r.broken, clause) {
						t.Errorf("clause %q noticed nothing; these did: %q", clause, r.said)
					}
				}
			})
		})
	}
}

func TestEveryClauseNoticesSomething(t *testing.T) {
	for _, c := range Clauses() {
		noticed := false
		for _, s := range spoilt {
			noticed = noticed || slices.Contains(s.noticed, c.Name)
		}
		if !noticed {
			t.Errorf("no tool is spoilt in a way that clause %q has to notice", c.Name)
		}
	}
}

func TestAFailureNamesThePromise(t *testing.T) {
	r := &recorder{}
	Run(r, body(func(context.Context) (tool.Answer, error) { return tool.Text("\xff"), nil }), one()...)
	if len(r.said) == 0 || !strings.Contains(r.said[0], "The promise: ") {
		t.Errorf("got %q", r.said)
	}
}

func TestACaseMayAnswerQuestions(t *testing.T) {
	curious := body(func(ctx context.Context) (tool.Answer, error) {
		r, err := tool.From(ctx).Ask(ctx, tool.Query{Text: "well?"})
		return tool.Text(r.Text), err
	})
	Run(t, curious, Case{
		Reply: func(session.Question) session.Reply { return session.Reply{Text: "well"} },
		Check: func(r chat.Result) error {
			if got := chat.PlainText(r.Parts); got != "well" {
				return fmt.Errorf("got %q", got)
			}
			return nil
		},
	})
}
