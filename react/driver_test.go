package react

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
	"github.com/tack-agent/tack/model/modeltest"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/session/storetest"
	"github.com/tack-agent/tack/tool"
)

// theatre is an agent with a scripted model on a memory store.
type theatre struct {
	t      testing.TB
	store  session.Store
	root   *plugin.Scope
	script *modeltest.Script
	ids    atomic.Int64
	grace  time.Duration
	agent  agent.Running
}

// newTheatre sets up what an agent needs, on the given store.
func newTheatre(t testing.TB, store session.Store, script *modeltest.Script) *theatre {
	s := &theatre{t: t, store: store, root: plugin.NewScope("root", nil), script: script, grace: 10 * time.Second}
	s.must(model.Source.Provide(s.root, func(context.Context, string) (model.Model, error) { return script, nil }))
	return s
}

func (s *theatre) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// open drives the session s on.
func (s *theatre) open(mode session.OpenMode) agent.Running {
	s.t.Helper()
	ctx := context.Background()
	s.must(s.store.Beat(ctx, session.Process{ID: "p"}, 1000*time.Hour))
	lease, err := s.store.Acquire(ctx, "s", "p")
	s.must(err)
	s.agent, err = New(Limits{}).Drive(ctx, agent.Start{
		Store: s.store, Lease: lease, Mode: mode, Scope: s.root, Grace: s.grace,
		World: agent.World{Now: time.Now, NewID: func() string { return fmt.Sprint("id", s.ids.Add(1)) }},
	})
	s.must(err)
	return s.agent
}

// close ends all that the theatre began.
func (s *theatre) close() {
	s.t.Helper()
	s.must(s.agent.Close(context.Background()))
	s.must(s.root.Close(context.Background()))
}

// log is the session's facts, a word each.
func (s *theatre) log() string {
	s.t.Helper()
	var words []string
	for e, err := range session.Events(context.Background(), s.store, "s", 0) {
		s.must(err)
		w := e.Fact.Type()
		switch f := e.Fact.(type) {
		case session.Accepted:
			w = string(f.Verb) + ":" + f.Message.ID
		case session.Entered:
			w = fmt.Sprintf("%d.%d(", f.Turn, f.Step)
			for i, m := range f.Messages {
				if i > 0 {
					w += ","
				}
				w += m.ID
			}
			w += ")"
		case session.Answered:
			w = "answer"
			if f.Answer.Interrupted {
				w = "interrupted"
			}
		case session.Resulted:
			w = "result" + string(f.Result.Code)
		case session.TurnStarted:
			continue
		case session.TurnEnded:
			w = string(f.Reason)
			if f.Failure != nil {
				w += "[" + f.Failure.Text + "]"
			}
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func (s *theatre) want(log string) {
	s.t.Helper()
	if got := s.log(); got != log {
		s.t.Errorf("the log\n got %s\nwant %s", got, log)
	}
}

func (s *theatre) say(v session.Verb, id string) {
	s.t.Helper()
	_, err := agent.Deliver(context.Background(), s.agent, v, chat.Say("text of "+id).As(id))
	s.must(err)
}

func (s *theatre) idle() {
	s.t.Helper()
	s.must(s.agent.WaitIdle(context.Background()))
}

func memory() *session.Memory { return session.NewMemory(nil) }

// look is a tool that returns at once.
func look() *tool.Tool {
	return tool.New("look", "looks around", func(context.Context, struct{}) (string, error) { return "roses", nil })
}

func wish(id, name string) chat.Call { return chat.Call{ID: id, Name: name} }

func TestAnAgentAnswersAndRunsItsTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre(t, memory(), modeltest.NewScript(modeltest.Calls(wish("1", "look")), modeltest.Says("a garden"), modeltest.Says("bye")))
		s.must(tool.Add(s.root, look()))
		s.open(session.OpenContinue)
		got, err := agent.Collect(context.Background(), s.agent, s.store, session.Followup, chat.Say("what is there?").As("q"))
		s.must(err)
		if got.Text != "a garden" || got.Fate.State != agent.FateSeen || got.Ended == nil {
			t.Errorf("collected %q, %+v, %+v", got.Text, got.Fate, got.Ended)
		}
		s.say(session.Inject, "i")
		s.idle()
		s.say(session.Followup, "f")
		s.idle()
		s.want("followup:q 1.1(q) header answer call.started result 1.2() answer completed inject:i followup:f 2.1(i,f) answer completed")
		if n := len(s.script.Requests()); n != 3 {
			t.Errorf("D10: the model was asked %d times, want 3", n)
		}
		s.close()
	})
}

func TestASteerEntersTheNextStepWhileAToolRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre(t, memory(), modeltest.NewScript(modeltest.Calls(wish("1", "wait")), modeltest.Says("done"), modeltest.Says("two")))
		release := make(chan struct{})
		s.must(tool.Add(s.root, tool.New("wait", "waits", func(context.Context, struct{}) (string, error) { <-release; return "waited", nil })))
		s.open(session.OpenContinue)
		s.say(session.Followup, "a")
		synctest.Wait()
		s.say(session.Followup, "b")
		s.say(session.Steer, "now")
		close(release)
		s.idle()
		s.want("followup:a 1.1(a) header answer call.started followup:b steer:now result 1.2(now) answer completed 2.1(b) answer completed")
		s.close()
	})
}

func TestC5ACancelStopsToolsAndRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre(t, memory(), modeltest.NewScript(
			modeltest.Calls(wish("1", "wait"), wish("2", "look")), modeltest.Says("one two three").In(3).Ending(modeltest.EndsIdle), modeltest.Says("yes")))
		s.must(tool.Add(s.root, look()))
		s.must(tool.Add(s.root, tool.New("wait", "waits", func(ctx context.Context, _ struct{}) (string, error) { <-ctx.Done(); return "", ctx.Err() })))
		s.open(session.OpenContinue)
		s.say(session.Followup, "a")
		synctest.Wait()
		s.say(session.Followup, "b")
		got, err := s.agent.Cancel(context.Background(), agent.Stop{Cause: session.CauseUser})
		s.must(err)
		if got.Turn != 1 || fmt.Sprint(got.Cleared) != "[b]" {
			t.Errorf("C2: %+v, want turn 1 and b cleared", got)
		}
		s.idle()
		s.want("followup:a 1.1(a) header answer call.started followup:b cancelled resultnot-started resultaborted cancelled")
		s.say(session.Followup, "c")
		synctest.Wait()
		_, err = s.agent.Cancel(context.Background(), agent.Stop{KeepInbox: true})
		s.must(err)
		s.idle()
		if log := s.log(); !strings.HasSuffix(log, "followup:c 2.1(c) cancelled interrupted cancelled") {
			t.Errorf("C6: what was streamed stays: %s", log)
		}
		s.close()
	})
}

func TestF3WhatAClosedAgentLeftTheNextOneGoesOnWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory()
		s := newTheatre(t, store, modeltest.NewScript(modeltest.Says("").Ending(modeltest.EndsIdle), modeltest.Says("one"), modeltest.Says("two")))
		s.open(session.OpenContinue)
		s.say(session.Followup, "a")
		s.say(session.Followup, "b")
		synctest.Wait()
		s.must(s.agent.Close(context.Background()))
		if _, err := s.agent.Followup(context.Background(), chat.Say("late")); !errors.Is(err, agent.ErrClosed) {
			t.Errorf("C11: a followup after closing: %v, want ErrClosed", err)
		}
		s.want("followup:a 1.1(a) followup:b")
		s.open(session.OpenContinue)
		s.idle()
		s.want("followup:a 1.1(a) followup:b reopened answer completed 2.1(b) answer completed")
		s.close()
	})
}

func TestD3AReplayIsAnsweredWithTheFirstReceipt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre(t, memory(), modeltest.NewScript(modeltest.Says("one"), modeltest.Says("two")))
		s.open(session.OpenContinue)
		first, err := s.agent.Followup(context.Background(), chat.Say("x").As("a"))
		s.must(err)
		s.idle()
		again, err := s.agent.Followup(context.Background(), chat.Say("x").As("a"))
		s.must(err)
		if again.Seq != first.Seq || !again.Replayed || first.Replayed {
			t.Errorf("D3: %+v and then %+v", first, again)
		}
		if _, err := s.agent.Steer(context.Background(), chat.Say("x").As("a")); !errors.Is(err, agent.ErrConflict) {
			t.Errorf("D3: another verb: %v, want ErrConflict", err)
		}
		s.idle()
		s.want("followup:a 1.1(a) answer completed")
		s.close()
	})
}

func TestC7AToolThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre(t, memory(), modeltest.NewScript(modeltest.Calls(wish("1", "deaf")), modeltest.Says("next")))
		release := make(chan struct{})
		s.must(tool.Add(s.root, tool.New("deaf", "hears nothing", func(context.Context, struct{}) (string, error) { <-release; return "", nil })))
		s.open(session.OpenContinue)
		s.say(session.Followup, "a")
		synctest.Wait()
		_, err := s.agent.Cancel(context.Background(), agent.Stop{Cause: session.CauseUser})
		s.must(err)
		s.say(session.Followup, "b")
		s.idle()
		s.want("followup:a 1.1(a) header answer call.started cancelled followup:b resultaborted cancelled 2.1(b) answer completed")
		close(release)
		synctest.Wait()
		s.want("followup:a 1.1(a) header answer call.started cancelled followup:b resultaborted cancelled 2.1(b) answer completed")
		_ = s.agent.Close(context.Background())
		_ = s.root.Close(context.Background())
	})
}

// faulty is a memory store with faults in front of it.
func faulty(faults ...storetest.Fault) *storetest.Faulty {
	return storetest.NewFaulty(memory(), faults...)
}

func TestD2WhatCantBeStoredIsNotAcceptedAndTheNextTryIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre(t, faulty(storetest.Fault{At: 1, Kind: storetest.Fails}), modeltest.NewScript(modeltest.Says("one")))
		s.open(session.OpenContinue)
		if _, err := s.agent.Followup(context.Background(), chat.Say("x").As("a")); !errors.Is(err, agent.ErrStorage) {
			t.Errorf("D2: %v, want ErrStorage", err)
		}
		s.idle()
		s.want("")
		s.say(session.Followup, "a")
		s.idle()
		s.want("followup:a 1.1(a) answer completed")
		s.close()
	})
}

func TestD2AnAnswerThatCantBeStoredIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults []storetest.Fault
		for at := 2; at < 6; at++ {
			faults = append(faults, storetest.Fault{At: at, Kind: storetest.Fails})
		}
		s := newTheatre(t, faulty(faults...), modeltest.NewScript(modeltest.Says("one")))
		s.open(session.OpenContinue)
		s.say(session.Followup, "a")
		s.idle()
		s.want("followup:a 1.1(a) answer completed")
		if n := s.script.Asked(); n != 1 {
			t.Errorf("the model was asked %d times, want once", n)
		}
		s.close()
	})
}

func TestD2AnUncertainAppendFaultsTheHandleAndNamesTheMessage(t *testing.T) {
	for _, kind := range []storetest.Kind{storetest.Lost, storetest.Unheard} {
		synctest.Test(t, func(t *testing.T) {
			s := newTheatre(t, faulty(storetest.Fault{At: 1, Kind: kind}), modeltest.NewScript(modeltest.Says("one")))
			s.open(session.OpenContinue)
			_, err := s.agent.Followup(context.Background(), chat.Say("text of a"))
			var uncertain *agent.UncertainError
			if !errors.As(err, &uncertain) || !errors.Is(err, agent.ErrUncertain) || uncertain.ID == "" {
				t.Fatalf("D2: %v, want an UncertainError with the minted id", err)
			}
			if _, err := s.agent.Status(context.Background()); err == nil {
				t.Error("D2: the handle is of use after an uncertain append")
			}
			if _, err := s.agent.Followup(context.Background(), chat.Say("next")); !errors.Is(err, agent.ErrFaulted) || errors.Is(err, agent.ErrUncertain) {
				t.Errorf("D2: a followup that was never tried: %v, want ErrFaulted and no doubt", err)
			}
			if err := s.agent.WaitIdle(context.Background()); err == nil {
				t.Error("waiting on a faulted handle: no error")
			}
			_ = s.agent.Close(context.Background())
			s.open(session.OpenContinue)
			_, err = s.agent.Followup(context.Background(), chat.Say("text of a").As(uncertain.ID))
			s.must(err)
			s.idle()
			log := "followup:ID 1.1(ID) answer completed"
			if kind == storetest.Unheard { // it was written, with the start of its turn
				log = "followup:ID 1.1(ID) reopened answer completed"
			}
			s.want(strings.ReplaceAll(log, "ID", uncertain.ID))
			s.close()
		})
	}
}

func TestC4ACancelThatCantBeStoredStaysInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := faulty()
		s := newTheatre(t, store, modeltest.NewScript(modeltest.Says("one two").In(3).Ending(modeltest.EndsIdle), modeltest.Says("three")))
		s.open(session.OpenContinue)
		s.say(session.Followup, "a")
		synctest.Wait()
		for n := 1; n < 6; n++ {
			store.Add(n, storetest.Fails)
		}
		if _, err := s.agent.Cancel(context.Background(), agent.Stop{Cause: session.CauseUser}); !errors.Is(err, agent.ErrStorage) {
			t.Errorf("C4: %v, want ErrStorage", err)
		}
		if _, err := s.agent.Followup(context.Background(), chat.Say("x").As("b")); !errors.Is(err, agent.ErrStorage) {
			t.Errorf("C4: a followup ahead of the cancel: %v, want ErrStorage", err)
		}
		time.Sleep(time.Minute)
		s.idle()
		s.want("followup:a 1.1(a) cancelled interrupted cancelled")
		s.say(session.Followup, "c")
		s.idle()
		s.want("followup:a 1.1(a) cancelled interrupted cancelled followup:c 2.1(c) answer completed")
		s.close()
	})
}

func TestF4AnOwnerThatLostItsSessionWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory()
		s := newTheatre(t, store, modeltest.NewScript(modeltest.Says("").Ending(modeltest.EndsIdle), modeltest.Says("by the other")))
		old := s.open(session.OpenContinue)
		s.say(session.Followup, "a")
		synctest.Wait()
		s.open(session.OpenContinue)
		if _, err := old.Followup(context.Background(), chat.Say("x").As("stale")); !errors.Is(err, agent.ErrNotOwner) {
			t.Errorf("F4: %v, want ErrNotOwner", err)
		}
		s.idle()
		s.want("followup:a 1.1(a) reopened answer completed")
		_ = old.Close(context.Background())
		s.close()
	})
}

func TestI3AWatcherFirstGetsWhatWasStreamedThenTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := modeltest.Says("one two three four").In(4)
		turn.Pause = time.Second
		s := newTheatre(t, memory(), modeltest.NewScript(turn))
		s.open(session.OpenContinue)
		s.say(session.Followup, "a")
		time.Sleep(2500 * time.Millisecond)
		ctx, stop := context.WithCancel(context.Background())
		var text strings.Builder
		var offsets []int
		done := make(chan struct{})
		go func() {
			defer close(done)
			for d := range s.agent.Watch(ctx) {
				if d.Offset != text.Len() {
					t.Errorf("I3: offset %d after %d bytes", d.Offset, text.Len())
				}
				text.WriteString(d.Text)
				offsets = append(offsets, d.Offset)
			}
		}()
		s.idle()
		stop()
		<-done
		// The last piece may be void before it is read: the answer is in the log.
		if !slices.Contains([]string{"one two three fo", "one two three four"}, text.String()) || len(offsets) < 2 {
			t.Errorf("I3: watched %q in %d deltas", text.String(), len(offsets))
		}
		s.close()
	})
}

func TestC12WaitingFromInsideTheTurnFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre(t, memory(), modeltest.NewScript(modeltest.Calls(wish("1", "selfish")), modeltest.Says("done")))
		s.must(tool.Add(s.root, tool.New("selfish", "waits for itself", func(ctx context.Context, _ struct{}) (string, error) {
			if err := s.agent.WaitIdle(ctx); !errors.Is(err, agent.ErrSelfWait) {
				t.Errorf("C12: %v, want ErrSelfWait", err)
			}
			if err := s.agent.Close(ctx); !errors.Is(err, agent.ErrSelfWait) {
				t.Errorf("D17: %v, want ErrSelfWait", err)
			}
			_, err := s.agent.Steer(ctx, chat.Say("from inside").As("s"))
			return "steered", err
		})))
		s.open(session.OpenContinue)
		s.say(session.Followup, "a")
		s.idle()
		s.want("followup:a 1.1(a) header answer call.started steer:s result 1.2(s) answer completed")
		s.close()
	})
}

func TestD7ManySendersAtOnceLoseAndDoubleNothing(t *testing.T) {
	const senders, each = 32, 40
	ctx := context.Background()
	s := newTheatre(t, memory(), &modeltest.Script{Rule: func(*model.Request, int) modeltest.Turn { return modeltest.Says("ok") }, Trusts: true})
	s.open(session.OpenContinue)
	var wg sync.WaitGroup
	for n := range senders {
		wg.Go(func() {
			var last session.Seq
			for i := range each {
				v := []session.Verb{session.Followup, session.Steer, session.Inject}[(n+i)%3]
				m := chat.Say("x").As(fmt.Sprintf("m%d-%d", n, i))
				r, err := agent.Deliver(ctx, s.agent, v, m)
				for errors.Is(err, agent.ErrFull) { // as a sender would
					_ = s.agent.WaitIdle(ctx)
					r, err = agent.Deliver(ctx, s.agent, v, m)
				}
				if err != nil || r.Seq <= last {
					t.Errorf("D7: receipt %+v after event %d, %v", r, last, err)
					return
				}
				last = r.Seq
			}
		})
	}
	wg.Wait()
	s.say(session.Followup, "last")
	s.idle()
	placed := map[string]int{}
	for e, err := range session.Events(ctx, s.store, "s", 0) {
		s.must(err)
		if f, is := e.Fact.(session.Entered); is {
			for _, m := range f.Messages {
				placed[m.ID]++
			}
		}
	}
	if len(placed) != senders*each+1 {
		t.Errorf("D15: %d messages placed, want %d", len(placed), senders*each+1)
	}
	for id, n := range placed {
		if n != 1 {
			t.Errorf("D15: %s placed %d times", id, n)
		}
	}
	s.close()
}
