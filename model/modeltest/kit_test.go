package modeltest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
)

func TestTheScriptKeepsAllPromises(t *testing.T) {
	Run(t, Config{New: sound})
}

func TestTheKitRunsUnderSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		Run(r, Config{New: sound})
		if len(r.broken) > 0 {
			t.Errorf("broken: %v", r.broken)
		}
	})
}

// sound makes a script; what it was sent is the canonical form.
func sound(t T, turns ...Turn) Subject {
	s := NewScript(turns...)
	t.Cleanup(s.Release)
	return Subject{Model: s, Sent: func() []string {
		var out []string
		for _, r := range s.Requests() {
			body, err := r.Canonical()
			if err != nil {
				t.Errorf("encode: %v", err)
			}
			out = append(out, string(body))
		}
		return out
	}}
}

// fault spoils a sound subject's Ask.
type fault func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error)

// faults are adapters that break a promise, by the clauses that have to notice.
var faults = []struct {
	what    string
	noticed []string
	ask     fault
}{
	{"takes a broken stream for a finish", []string{"broken-stream", "failure-midway"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		finish, err := ask(ctx, r, tell)
		if err != nil && ctx.Err() == nil {
			return chat.FinishStop, nil
		}
		return finish, err
	}},
	{"returns no finish", []string{"text", "finish"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		_, err := ask(ctx, r, tell)
		return "", err
	}},
	{"knows one finish", []string{"finish"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		finish, err := ask(ctx, r, tell)
		if err == nil {
			finish = chat.FinishStop
		}
		return finish, err
	}},
	{"ignores its context", []string{"cancel", "cancel-waiting"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		deaf, hear := context.WithTimeout(context.WithoutCancel(ctx), 200*time.Millisecond)
		defer hear()
		return ask(deaf, r, tell)
	}},
	{"has its own word for a cancel", []string{"cancel", "cancel-waiting", "cancelled"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		finish, err := ask(ctx, r, tell)
		if errors.Is(err, context.Canceled) {
			err = errors.New("stopped")
		}
		return finish, err
	}},
	{"takes a cancel for a finish", []string{"cancel", "cancel-waiting"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		finish, err := ask(ctx, r, tell)
		if errors.Is(err, context.Canceled) {
			return chat.FinishStop, nil
		}
		return finish, err
	}},
	{"asks although it was cancelled", []string{"cancelled"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		if ctx.Err() == nil {
			return ask(ctx, r, tell)
		}
		_, _ = ask(context.WithoutCancel(ctx), r, func(model.Delta) {})
		return "", ctx.Err()
	}},
	{"streams nothing before the end", []string{"cancel", "goroutines"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		var kept []model.Delta
		finish, err := ask(ctx, r, func(d model.Delta) { kept = append(kept, d) })
		if ctx.Err() != nil {
			return finish, err
		}
		for _, d := range kept {
			tell(d)
		}
		return finish, err
	}},
	{"drops provider data", []string{"provider-data"}, telling(func(d model.Delta) []model.Delta {
		if d.Kind == model.DeltaProvider {
			return nil
		}
		return []model.Delta{d}
	})},
	{"sends no provider data", []string{"provider-data"}, sending(func(it model.Item) model.Item {
		if it.Answer == nil {
			return it
		}
		a := it.Answer.Clone()
		for i := range a.Blocks {
			a.Blocks[i].Provider = nil
		}
		return model.Item{Answer: &a}
	})},
	{"tidies arguments", []string{"arguments"}, telling(func(d model.Delta) []model.Delta {
		if d.Kind == model.DeltaArguments {
			d.Text = strings.ReplaceAll(d.Text, " ", "")
		}
		return []model.Delta{d}
	})},
	{"gives all calls one id", []string{"calls", "call-ids"}, telling(func(d model.Delta) []model.Delta {
		if d.Kind == model.DeltaCall {
			d.ID = "call"
		}
		return []model.Delta{d}
	})},
	{"gives calls ids of its own", []string{"call-ids"}, telling(func(d model.Delta) []model.Delta {
		if d.Kind == model.DeltaCall {
			d.ID = "my_" + d.ID
		}
		return []model.Delta{d}
	})},
	{"makes one block of all calls", []string{"calls", "call-ids"}, telling(func(d model.Delta) []model.Delta {
		if (d.Kind == model.DeltaCall || d.Kind == model.DeltaArguments) && d.Block > 0 {
			d.Block = 0
		}
		return []model.Delta{d}
	})},
	{"reports no usage", []string{"usage"}, telling(func(d model.Delta) []model.Delta {
		if d.Kind == model.DeltaUsage {
			return nil
		}
		return []model.Delta{d}
	})},
	{"takes reasoning for text", []string{"reasoning"}, telling(func(d model.Delta) []model.Delta {
		if d.Kind == model.DeltaReasoning {
			d.Kind = model.DeltaText
		}
		return []model.Delta{d}
	})},
	{"tells everything twice", []string{"text"}, telling(func(d model.Delta) []model.Delta {
		return []model.Delta{d, d}
	})},
	{"knows no kinds of failure", []string{"failures", "failure-midway"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		finish, err := ask(ctx, r, tell)
		var f *model.Failure
		if errors.As(err, &f) {
			err = errors.New(f.Text)
		}
		return finish, err
	}},
	{"forgets when to ask again", []string{"failures"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		finish, err := ask(ctx, r, tell)
		var f *model.Failure
		if errors.As(err, &f) {
			err = &model.Failure{Kind: f.Kind, Text: f.Text}
		}
		return finish, err
	}},
	{"sends results without what they say", []string{"items"}, sending(func(it model.Item) model.Item {
		if it.Result == nil {
			return it
		}
		r := *it.Result
		r.Parts = nil
		return model.Item{Result: &r}
	})},
	{"sends no pictures", []string{"pictures"}, sending(func(it model.Item) model.Item {
		if it.Message == nil {
			return it
		}
		m := it.Message.Clone()
		m.Parts = slices.DeleteFunc(m.Parts, func(p chat.Part) bool { return p.Kind == chat.PartImage })
		return model.Item{Message: &m}
	})},
	{"edits the request", []string{"untouched"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		r.System += "!"
		return ask(ctx, r, tell)
	}},
	{"leaves a goroutine", []string{"goroutines"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		go time.Sleep(2 * patience)
		return ask(ctx, r, tell)
	}},
	{"tells after its return", []string{"goroutines"}, func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		finish, err := ask(ctx, r, tell)
		go func() {
			time.Sleep(patience / 20)
			tell(model.Text(0, "late"))
		}()
		return finish, err
	}},
}

const patience = 100 * time.Millisecond

// telling changes what is told.
func telling(change func(model.Delta) []model.Delta) fault {
	return func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		return ask(ctx, r, func(d model.Delta) {
			for _, changed := range change(d) {
				tell(changed)
			}
		})
	}
}

// sending changes what is sent.
func sending(change func(model.Item) model.Item) fault {
	return func(ask Func, ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		changed := *r
		changed.Items = nil
		for _, it := range r.Items {
			changed.Items = append(changed.Items, change(it))
		}
		return ask(ctx, &changed, tell)
	}
}

func TestTheKitNoticesWhatAnAdapterBreaks(t *testing.T) {
	for _, f := range faults {
		t.Run(f.what, func(t *testing.T) {
			broken := breaks(patience, func(t T, turns ...Turn) Subject {
				s := sound(t, turns...)
				ask := s.Model.Ask
				s.Model = Func(func(ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
					return f.ask(ask, ctx, r, tell)
				})
				return s
			})
			for _, clause := range f.noticed {
				if broken[clause] == "" {
					t.Errorf("clause %s holds for an adapter that %s", clause, f.what)
				}
			}
			t.Logf("broken: %v", slices.Sorted(maps.Keys(broken)))
		})
	}
}

// keeper keeps the items it has seen, wrongly: by a key that is too coarse.
type keeper struct {
	*Script
	key func(*model.Request) string
	mu  sync.Mutex
	had map[string][]model.Item
}

func (k *keeper) Ask(ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
	k.mu.Lock()
	key := k.key(r)
	if had := k.had[key]; len(had) < len(r.Items) {
		k.had[key] = append(had[:len(had):len(had)], r.Items[len(had):]...)
	}
	changed := *r
	changed.Items = k.had[key][:len(r.Items)]
	k.mu.Unlock()
	return k.Script.Ask(ctx, &changed, tell)
}

func TestTheKitNoticesAPrefixKeptTooLong(t *testing.T) {
	keys := map[string]func(*model.Request) string{
		"the session alone":     func(r *model.Request) string { return r.Session },
		"the epoch alone":       func(r *model.Request) string { return fmt.Sprint(r.Epoch) },
		"an empty session, too": func(r *model.Request) string { return fmt.Sprint(r.Session, r.Epoch) },
	}
	for what, key := range keys {
		t.Run(what, func(t *testing.T) {
			broken := breaks(time.Minute, func(t T, turns ...Turn) Subject {
				s := sound(t, turns...)
				s.Model = &keeper{Script: s.Model.(*Script), key: key, had: map[string][]model.Item{}}
				return s
			})
			if broken["prefix"] == "" {
				t.Errorf("clause prefix holds for an adapter that keeps items by %s; broken: %v", what, broken)
			}
		})
	}
}

func TestTheKitAcceptsAPrefixKeptRightly(t *testing.T) {
	broken := breaks(time.Minute, func(t T, turns ...Turn) Subject {
		s := sound(t, turns...)
		n := 0
		s.Model = &keeper{Script: s.Model.(*Script), had: map[string][]model.Item{}, key: func(r *model.Request) string {
			if r.Session == "" {
				n++
				return fmt.Sprint("alone", n)
			}
			return fmt.Sprint(r.Session, r.Epoch)
		}}
		return s
	})
	if len(broken) > 0 {
		t.Errorf("broken: %v", broken)
	}
}

func TestTheKitNoticesAnswersThatAreMixedUp(t *testing.T) {
	broken := breaks(time.Minute, func(t T, turns ...Turn) Subject {
		s := sound(t, turns...)
		ask := s.Model.Ask
		var mu sync.Mutex
		var last func(model.Delta)
		s.Model = Func(func(ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
			mu.Lock()
			last = tell
			mu.Unlock()
			return ask(ctx, r, func(d model.Delta) {
				runtime.Gosched()
				mu.Lock()
				defer mu.Unlock()
				last(d)
			})
		})
		return s
	})
	if broken["concurrent"] == "" {
		t.Errorf("clause concurrent holds for an adapter that tells the last one who asked; broken: %v", broken)
	}
}

func TestASkippedClauseSaysWhy(t *testing.T) {
	r := &recorder{}
	Run(r, Config{New: sound, Skip: map[string]string{"usage": "nothing is counted"}})
	if len(r.broken) > 0 || r.skipped["usage"] != "usage: nothing is counted" {
		t.Errorf("skipped %v, broken %v", r.skipped, r.broken)
	}
}

// breaks runs the kit and says which clauses didn't hold, with the first
// finding about each.
func breaks(patience time.Duration, make func(t T, turns ...Turn) Subject) map[string]string {
	r := &recorder{}
	Run(r, Config{New: make, Patience: patience})
	return r.broken
}

// recorder is a T that notes what fails.
type recorder struct {
	mu       sync.Mutex
	name     string
	broken   map[string]string
	skipped  map[string]string
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = map[string]string{}
	}
	if r.broken[r.name] == "" {
		r.broken[r.name] = fmt.Sprintf(format, args...)
	}
}

func (r *recorder) Skipf(format string, args ...any) {
	if r.skipped == nil {
		r.skipped = map[string]string{}
	}
	r.skipped[r.name] = fmt.Sprintf(format, args...)
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Run(name string, f func(*recorder)) bool {
	r.name = name
	f(r)
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	r.cleanups = nil
	return r.broken[name] == ""
}
