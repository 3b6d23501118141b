package modeltest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
)

func TestAScriptTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := Says("abcd").In(1).After(time.Hour)
		turn.Pause = time.Minute
		began := time.Now()
		var at []time.Duration
		finish, err := NewScript(turn).Ask(t.Context(), says("hello"), func(model.Delta) { at = append(at, time.Since(began)) })
		if err != nil || finish != chat.FinishStop {
			t.Fatalf("got %q, %v", finish, err)
		}
		for i, got := range at {
			if want := time.Hour + time.Duration(i)*time.Minute; got != want {
				t.Errorf("delta %d came after %s, want %s", i, got, want)
			}
		}
	})
}

func TestAWaitingScriptStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := NewScript(Says("hello").After(time.Hour)).Ask(ctx, says("hello"), func(model.Delta) {})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("got %v after %s, want the context's error after 1 s", err, time.Since(began))
		}
	})
}

func TestADeafScriptReachesNobodyOnceItIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewScript(Says("so far").Ending(EndsDeaf))
		ctx, cancel := context.WithCancel(t.Context())
		var a model.Assembler
		done := make(chan error)
		go func() {
			_, err := s.Ask(ctx, says("hello"), a.Tell)
			done <- err
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("a deaf script heard its context: %v", err)
		default:
		}
		kept, streamed := a.Stop()
		s.Release()
		if err := <-done; err != nil {
			t.Errorf("released, it returned %v", err)
		}
		after, _ := a.Partial()
		if !streamed || kept.Text() != "so far" || after.Text() != kept.Text() {
			t.Errorf("kept %q, then %q", kept.Text(), after.Text())
		}
	})
}

func TestALateScriptTellsAfterItsReturn(t *testing.T) {
	s := NewScript(Says("all").Ending(EndsLate))
	told := 0
	if _, err := s.Ask(t.Context(), says("hello"), func(model.Delta) { told++ }); err != nil {
		t.Fatal(err)
	}
	before := told
	s.Release()
	if told != before+1 {
		t.Errorf("told %d deltas, %d of them late, want one late", told, told-before)
	}
}

func TestAScriptAnswersByRuleAndRemembers(t *testing.T) {
	s := &Script{Keep: 2, Rule: func(r *model.Request, n int) Turn {
		last := r.Items[len(r.Items)-1].Message
		return Says(strings.Repeat(chat.PlainText(last.Parts), n+1))
	}}
	for i, want := range []string{"a", "bb", "ccc"} {
		answer, err := model.Complete(t.Context(), s, says(string(rune('a'+i))))
		if err != nil || answer.Text() != want {
			t.Errorf("got %q and %v, want %q", answer.Text(), err, want)
		}
	}
	var kept []string
	for _, r := range s.Requests() {
		kept = append(kept, chat.PlainText(r.Items[0].Message.Parts))
	}
	if s.Asked() != 3 || strings.Join(kept, " ") != "b c" {
		t.Errorf("asked %d times, remembers %q; want 3, and the last two", s.Asked(), kept)
	}
}

func TestAScriptWithoutTurnsFails(t *testing.T) {
	_, err := model.Complete(t.Context(), NewScript(), says("hello"))
	if f := model.FailureOf(err); f == nil || f.Kind != model.FailureInvalid || f.Retryable() {
		t.Errorf("got %v, want a failure that isn't tried again", err)
	}
}

func TestAScriptWantsValidRequests(t *testing.T) {
	r := asksForCalls()
	r.Items = append(r.Items, answered(chat.Block{Kind: chat.BlockCall, Call: &chat.Call{ID: "c1", Name: "read"}}))
	_, err := model.Complete(t.Context(), NewScript(Says("hello")), r)
	var field *chat.FieldError
	if !errors.As(err, &field) || model.FailureOf(err).Kind != model.FailureInvalid {
		t.Errorf("got %v, want a failure about the call without a result", err)
	}
}

func TestRawDeltasAreToldAsTheyAre(t *testing.T) {
	turn := Says("hello")
	turn.Raw = []model.Delta{model.Arguments(0, "{}")}
	_, err := model.Complete(t.Context(), NewScript(turn), says("hello"))
	if f := model.FailureOf(err); f == nil || f.Kind != model.FailureBroken {
		t.Errorf("got %v, want a broken stream: arguments for a text", err)
	}
}

// BenchmarkInstantAnswer asks for one call and assembles the answer.
func BenchmarkInstantAnswer(b *testing.B) {
	turn := Calls(chat.Call{ID: "c1", Name: "read", Arguments: `{"path":"a.go"}`}).Using(chat.Usage{Input: 100, Output: 10})
	deltas, request := turn.Deltas(), asksForCalls()
	instant := Func(func(_ context.Context, _ *model.Request, tell func(model.Delta)) (chat.Finish, error) {
		for _, d := range deltas {
			tell(d)
		}
		return chat.FinishCalls, nil
	})
	script := &Script{Keep: 1, Trusts: true, Rule: func(*model.Request, int) Turn { return turn }}
	models := []struct {
		name string
		m    model.Model
	}{{"instant", instant}, {"scripted", script}}
	for _, bench := range models {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := model.Complete(b.Context(), bench.m, request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
