package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

// timed runs f in a bubble and checks how much of its time passed.
func timed(t *testing.T, want time.Duration, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f(t)
		if took := time.Since(began); took != want {
			t.Errorf("it took %s, want %s", took, want)
		}
	})
}

// obedient ends with its context.
func obedient(ctx context.Context) (tool.Answer, error) {
	<-ctx.Done()
	return tool.Text("half"), ctx.Err()
}

func TestT4ATimeoutIsToldFromAStop(t *testing.T) {
	timed(t, 3*time.Second, func(t *testing.T) {
		p := newPlace(t, saying("go", func(ctx context.Context) (tool.Answer, error) {
			defer func() {
				if !errors.Is(context.Cause(ctx), tool.ErrTimeout) {
					t.Errorf("the cause is %v, want ErrTimeout", context.Cause(ctx))
				}
			}()
			return obedient(ctx)
		}))
		j := p.job("go", "")
		j.Limits.Timeout = 3 * time.Second
		expect(t, p.run(j), chat.CodeTimeout, "half", "3s", "may have had effects")
	})
}

func TestC5ACallStoppedWhileItRunsIsAborted(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Hour} {
		timed(t, time.Second, func(t *testing.T) {
			p := newPlace(t, saying("go", obedient))
			p.must(tool.After.Wrap(p.scope, "look", func(ctx context.Context, f tool.Finished, next afterNext) (tool.Answer, error) {
				if ctx.Err() != nil {
					t.Error("a hook that looks at what was stopped is stopped itself")
				}
				return next(ctx, f)
			}))
			ctx, stop := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, stop)
			j := p.job("go", "")
			j.Limits.Timeout = limit
			expect(t, tool.Execute(ctx, j), chat.CodeAborted, "half", "may have had effects")
		})
	}
}

func TestACallWithinOneWhoseTimeIsUpIsAborted(t *testing.T) {
	timed(t, time.Second, func(t *testing.T) {
		p := newPlace(t, saying("inner", obedient))
		p.add(saying("outer", func(ctx context.Context) (tool.Answer, error) {
			expect(t, tool.Execute(ctx, p.job("inner", "")), chat.CodeAborted)
			return obedient(ctx)
		}, tool.Timeout(time.Second)))
		expect(t, p.run(p.job("outer", "")), chat.CodeTimeout, "1s")
	})
}

func TestC5ARealAnswerThatComesAfterTheStopIsKept(t *testing.T) {
	timed(t, 5*time.Second, func(t *testing.T) {
		p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) {
			time.Sleep(5 * time.Second)
			return tool.Text("done"), nil
		}))
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		j := p.job("go", "")
		j.Limits.Timeout = 3 * time.Second
		expect(t, tool.Execute(ctx, j), chat.CodeOK, "done")
	})
}

func TestC5ACallStoppedBeforeItRunsIsNotStarted(t *testing.T) {
	never := saying("go", func(context.Context) (tool.Answer, error) { t.Error("it ran"); return tool.Answer{}, nil })
	type stopping struct {
		*place
		stop context.CancelFunc
		job  tool.Job
	}
	for when, arrange := range map[string]func(s *stopping){
		"at once": func(s *stopping) {
			s.stop()
			s.deciding(func(q tool.Proposed) (tool.Decision, error) { t.Error("a hook is asked"); return q.Allow(), nil })
		},
		"by deciding": func(s *stopping) {
			s.deciding(func(q tool.Proposed) (tool.Decision, error) { s.stop(); return q.Allow(), nil })
		},
		"by breaking": func(s *stopping) {
			s.deciding(func(tool.Proposed) (tool.Decision, error) { s.stop(); return tool.Decision{}, context.Canceled })
		},
		"by guarding": func(s *stopping) {
			s.guarding("g", func(tool.Proposed) (tool.Denial, error) { s.stop(); return tool.Denial{}, context.Canceled })
		},
		"by asking": func(s *stopping) {
			s.deciding(func(q tool.Proposed) (tool.Decision, error) { return q.Ask("?"), nil })
			s.job.Ask = func(context.Context, session.Question) (session.Reply, error) {
				s.stop()
				return session.Reply{}, context.Canceled
			}
		},
		"by a hook around": func(s *stopping) {
			s.must(tool.Running.Wrap(s.scope, "r", func(ctx context.Context, q tool.Proposed, next runNext) (tool.Answer, error) {
				s.stop()
				return next(ctx, q)
			}))
		},
		"by a hook around that breaks": func(s *stopping) {
			s.must(tool.Running.Wrap(s.scope, "r", func(context.Context, tool.Proposed, runNext) (tool.Answer, error) {
				s.stop()
				return tool.Answer{}, context.Canceled
			}))
		},
		"by starting": func(s *stopping) {
			s.job.Started = func(context.Context, string) error { s.stop(); return context.Canceled }
		},
	} {
		t.Run(when, func(t *testing.T) {
			p := newPlace(t, never)
			ctx, stop := context.WithCancel(t.Context())
			s := &stopping{p, stop, p.job("go", "")}
			arrange(s)
			expect(t, tool.Execute(ctx, s.job), chat.CodeNotStarted, "stopped first")
		})
	}
}

func TestC7ABodyDeafToItsTimeoutIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		late := make(chan error, 1)
		p := newPlace(t, saying("deaf", func(ctx context.Context) (tool.Answer, error) {
			<-free
			_, err := tool.From(ctx).Ask(ctx, tool.Query{Text: "still there?"})
			late <- err
			panic("too late")
		}))
		began := time.Now()
		j := p.job("deaf", "")
		j.Ask = func(context.Context, session.Question) (session.Reply, error) {
			t.Error("a body that was left behind asks")
			return session.Reply{}, nil
		}
		j.Limits.Timeout, j.Limits.Grace = time.Second, 2*time.Second
		expect(t, p.run(j), chat.CodeTimeout, "1s")
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %s, want the timeout and the grace time", took)
		}
		if !strings.Contains(p.log.String(), "left behind") || !strings.Contains(p.log.String(), "deaf") {
			t.Errorf("the log doesn't name it: %s", p.log)
		}
		free <- struct{}{}
		if err := <-late; err == nil {
			t.Error("a body that was left behind may ask")
		}
		synctest.Wait()
	})
}

func TestC7AHookDeafToTheTimeoutIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { t.Error("it ran"); return tool.Answer{}, nil }))
		p.must(tool.Running.Wrap(p.scope, "deaf", func(ctx context.Context, q tool.Proposed, next runNext) (tool.Answer, error) {
			<-free
			return next(ctx, q)
		}))
		j := p.job("go", "")
		j.Limits.Timeout = time.Second
		expect(t, p.run(j), chat.CodeNotStarted, "hook around it took too long")
		close(free)
		synctest.Wait()
	})
}

func TestTheShorterOfTheToolsAndTheDriversTimeoutCounts(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{
		0: 2 * time.Second, time.Hour: 2 * time.Second, time.Second: time.Second,
	} {
		timed(t, want, func(t *testing.T) {
			p := newPlace(t, saying("go", obedient, tool.Timeout(2*time.Second)))
			j := p.job("go", "")
			j.Limits.Timeout = limit
			expect(t, p.run(j), chat.CodeTimeout, want.String())
		})
	}
}

func TestThePersonsTimeIsntTheCalls(t *testing.T) {
	timed(t, 2*time.Hour+3*time.Second, func(t *testing.T) {
		p := newPlace(t, saying("go", func(ctx context.Context) (tool.Answer, error) {
			for range 2 {
				time.Sleep(time.Second)
				if _, err := tool.From(ctx).Ask(ctx, tool.Query{Text: "well?"}); err != nil {
					return tool.Answer{}, err
				}
			}
			return obedient(ctx)
		}))
		j := p.job("go", "")
		j.Limits.Timeout = 3 * time.Second
		j.Ask = func(context.Context, session.Question) (session.Reply, error) {
			time.Sleep(time.Hour)
			return session.Reply{}, nil
		}
		expect(t, p.run(j), chat.CodeTimeout, "3s")
	})
}

func TestACallOnAClosedScopeDoesntStart(t *testing.T) {
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { return tool.Answer{}, nil }, tool.Timeout(time.Second)))
	p.must(p.scope.Close(t.Context()))
	got := p.run(p.job("go", ""))
	if got.Result.Code != chat.CodeUnknown && got.Result.Code != chat.CodeNotStarted {
		t.Errorf("got %q: %s", got.Result.Code, text(got))
	}
}
