package modeltest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
)

// Clauses lists all that the kit proves.
func Clauses() []Clause {
	return []Clause{
		{"about", "a model has a name, and its info is the same each time", (*trial).about},
		{"text", "the text is told as it comes, in pieces that make the whole", (*trial).text},
		{"reasoning", "reasoning and text are blocks of their own, in their order", (*trial).reasoning},
		{"calls", "the calls of an answer have the provider's names and arguments, in order", (*trial).calls},
		{"call-ids", "calls have the provider's ids, and it gets them back", (*trial).callIDs},
		{"arguments", "arguments are passed on as the model wrote them, malformed or not", (*trial).arguments},
		{"usage", "what the provider counted is told", (*trial).usage},
		{"finish", "the finish says why the model stopped", (*trial).finishes},
		{"broken-stream", "an answer without a finish is a failure of kind stream-broken", (*trial).brokenStream},
		{"failures", "a failure has the kind that programs act on, and says what happened", (*trial).failures},
		{"failure-midway", "a failure in the middle of an answer is a failure", (*trial).failureMidway},
		{"cancel", "when the context ends, Ask stops at once with the context's error; what was streamed has been told", (*trial).cancel},
		{"cancel-waiting", "when the context ends before anything was streamed, Ask stops at once", (*trial).cancelWaiting},
		{"cancelled", "a context that has ended sends nothing", (*trial).cancelled},
		{"provider-data", "provider data comes back unchanged with the next request", (*trial).providerData},
		{"items", "every item is sent, in order, with the system text and the tools", (*trial).items},
		{"prefix", "what was kept of earlier requests changes nothing of what is sent", (*trial).prefix},
		{"pictures", "a part kept as a blob is sent like the same bytes inline, or the request fails", (*trial).pictures},
		{"untouched", "the request isn't changed", (*trial).untouched},
		{"concurrent", "requests at the same time have nothing to do with each other", (*trial).concurrent},
		{"goroutines", "once Ask has returned nothing is told any more, and nothing of it is left when the adapter is closed", (*trial).goroutines},
	}
}

const prose = "Grüße aus Köln: a sentence of a few words, 日本語 and an emoji 🙂."

func (t *trial) about() {
	m := t.subject().Model
	if m.Name() == "" {
		t.broken("the name is empty")
	}
	a, b := m.Info(), m.Info()
	a.Prices, b.Prices = nil, nil
	if a != b {
		t.broken("the info was %+v, then %+v", a, b)
	}
	if a.ContextWindow < 0 || a.MaxOutput < 0 {
		t.broken("a capacity below 0 in %+v", a)
	}
}

func (t *trial) text() {
	s := t.subject(Says(prose).In(3))
	answer, ok := t.answer(s.Model, says("hello"))
	if !ok {
		return
	}
	if answer.Text() != prose {
		t.broken("got the text %q, want %q", answer.Text(), prose)
	}
	if answer.Finish != chat.FinishStop || len(answer.Calls()) > 0 {
		t.broken("got finish %q and %d calls, want %q and none", answer.Finish, len(answer.Calls()), chat.FinishStop)
	}
}

func (t *trial) reasoning() {
	s := t.subject(Says("It is four.").Thinking("Two and two, hm.").In(4))
	answer, ok := t.answer(s.Model, says("what is two and two?"))
	if !ok {
		return
	}
	var got []string
	for _, b := range answer.Blocks {
		got = append(got, string(b.Kind)+": "+b.Text)
	}
	if want := []string{"reasoning: Two and two, hm.", "text: It is four."}; !slices.Equal(got, want) {
		t.broken("got blocks %q, want %q", got, want)
	}
}

func twoCalls() []chat.Call {
	return []chat.Call{
		{ID: "call_a", Name: "read", Arguments: `{"path":"a.go"}`},
		{ID: "call_b", Name: "read", Arguments: `{"path":"b.go"}`},
	}
}

func (t *trial) calls() {
	want := twoCalls()
	s := t.subject(Calls(want...).Saying("I'll read both.").In(5))
	answer, ok := t.answer(s.Model, asksForCalls())
	if !ok {
		return
	}
	same := func(a, b chat.Call) bool { return a.Name == b.Name && a.Arguments == b.Arguments }
	if got := answer.Calls(); !slices.EqualFunc(got, want, same) {
		t.broken("got calls %+v, want %+v", got, want)
	}
	if answer.Text() != "I'll read both." || answer.Finish != chat.FinishCalls {
		t.broken("got text %q and finish %q beside the calls", answer.Text(), answer.Finish)
	}
}

func (t *trial) callIDs() {
	want := twoCalls()
	s := t.subject(Calls(want...), Says("done"))
	answer, ok := t.answer(s.Model, asksForCalls())
	if !ok {
		return
	}
	next := asksForCalls()
	next.Items = append(next.Items, model.Item{Answer: &answer})
	for i, call := range answer.Calls() {
		if i >= len(want) || call.ID != want[i].ID {
			t.broken("got calls %+v, want %+v", answer.Calls(), want)
			return
		}
		next.Items = append(next.Items, resulted(call, chat.CodeOK, "package a"))
	}
	body, ok := t.sent(s, next)
	for _, call := range want {
		if ok && strings.Count(body, call.ID) < 2 {
			t.broken("the id %q should be with the call and with its result, in what was sent:\n%s", call.ID, body)
		}
	}
}

func (t *trial) arguments() {
	for _, arguments := range []string{
		"",
		`{}`,
		"{ \"path\" : \"a b\",\n\t\"n\": 1.0e3, \"s\": \"<&>\\u00e9é🙂\" }",
		`{"path": "broken`,
		`{"path":"a"}{"path":"b"}`,
	} {
		s := t.subject(Calls(chat.Call{ID: "call_a", Name: "read", Arguments: arguments}).In(2))
		answer, ok := t.answer(s.Model, asksForCalls())
		if !ok {
			continue
		}
		calls := answer.Calls()
		if len(calls) != 1 || calls[0].Arguments != arguments {
			t.broken("got calls %+v, want one with the arguments %q", calls, arguments)
		}
	}
}

func (t *trial) usage() {
	want := t.Usage
	s := t.subject(Says("hello").Using(want))
	if answer, ok := t.answer(s.Model, says("hello")); ok && answer.Usage != want {
		t.broken("got %+v, want %+v", answer.Usage, want)
	}
}

func (t *trial) finishes() {
	for _, finish := range []chat.Finish{chat.FinishStop, chat.FinishMaxTokens, chat.FinishRefused} {
		s := t.subject(Says("so be it").Finishing(finish))
		if answer, ok := t.answer(s.Model, says("hello")); ok && answer.Finish != finish {
			t.broken("got %q, want %q", answer.Finish, finish)
		}
	}
}

func (t *trial) brokenStream() {
	call := chat.Call{ID: "call_a", Name: "read", Arguments: `{"pa`}
	for _, turn := range []Turn{Says(""), Says("half a sen"), Calls(call)} {
		s := t.subject(turn.Ending(EndsBroken))
		answer, failure, ok := t.ask(s.Model, asksForCalls())
		switch {
		case !ok:
		case failure == nil:
			t.broken("the provider broke off, but there is an answer: %+v", answer)
		case failure.Kind != model.FailureBroken:
			t.broken("got a failure of kind %q: %v", failure.Kind, failure)
		}
	}
}

// kinds are the failures a provider may cause.
func kinds() []model.FailureKind {
	return []model.FailureKind{
		model.FailureRateLimit, model.FailureOverloaded, model.FailureServer, model.FailureNetwork,
		model.FailureTimeout, model.FailureTooLong, model.FailureInvalid, model.FailureAuth,
		model.FailureQuota, model.FailureContentFilter,
	}
}

func (t *trial) failures() {
	for _, kind := range t.Kinds {
		want := model.Failure{Kind: kind, Text: "the provider's own words"}
		if kind == model.FailureRateLimit {
			want.RetryAfter = 7 * time.Second
		}
		s := t.subject(Fails(want))
		_, got, ok := t.ask(s.Model, says("hello"))
		switch {
		case !ok:
		case got == nil:
			t.broken("the provider failed (%s), but there is an answer", kind)
		case got.Kind != kind || got.RetryAfter != want.RetryAfter:
			t.broken("got kind %q, to be asked again after %s, want %q and %s: %v", got.Kind, got.RetryAfter, kind, want.RetryAfter, got)
		case got.Text == "" && got.Err == nil:
			t.broken("a failure of kind %q says nothing of what happened", kind)
		}
	}
}

func (t *trial) failureMidway() {
	turn := Says("half a sen")
	turn.Failure = &model.Failure{Kind: model.FailureOverloaded, Text: "too much to do"}
	answer, failure, ok := t.ask(t.subject(turn).Model, says("hello"))
	switch {
	case !ok:
	case failure == nil:
		t.broken("the provider failed, but there is an answer: %+v", answer)
	case !failure.Retryable():
		t.broken("an overloaded provider became a failure that isn't tried again: %v", failure)
	}
}

func (t *trial) cancel() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := t.subject(Says(prose).In(5).Ending(EndsIdle))
	h := t.start(ctx, s.Model, says("hello"))
	heard := t.hear(h, len(prose))
	cancel()
	if !t.wait(h) || !heard {
		return
	}
	t.stopped(ctx, h)
	if partial, _ := h.assembler.Stop(); partial.Text() != prose || !partial.Interrupted {
		t.broken("what was streamed is %+v, want the text %q, interrupted", partial, prose)
	}
}

// stopped checks the error of an Ask whose context has ended.
func (t *trial) stopped(ctx context.Context, h *hearing) {
	t.Helper()
	if h.err == nil || !errors.Is(h.err, ctx.Err()) {
		t.broken("Ask returned (%q, %v), want an error that is %v", h.finish, h.err, ctx.Err())
	}
}

func (t *trial) cancelWaiting() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := t.subject(Turn{End: EndsIdle})
	h := t.start(ctx, s.Model, says("hello"))
	for end := time.Now().Add(t.Patience); len(s.Sent()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.broken("the provider got no request in %s", t.Patience)
			break
		}
	}
	cancel()
	if t.wait(h) {
		t.stopped(ctx, h)
	}
}

func (t *trial) cancelled() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := t.subject(Says("hello"))
	h := t.start(ctx, s.Model, says("hello"))
	if !t.wait(h) {
		return
	}
	t.stopped(ctx, h)
	if sent := s.Sent(); len(sent) > 0 || h.length() > 0 {
		t.broken("%d requests were sent and %d bytes told", len(sent), h.length())
	}
}

func (t *trial) goroutines() {
	var all []*hearing
	t.marked(func() {
		r := &room{T: t.T}
		defer r.leave()
		s := t.New(r, Says(prose).In(1), Says("half a sen").Ending(EndsBroken),
			Fails(model.Failure{Kind: model.FailureOverloaded}), Says(prose).Ending(EndsIdle), Says(prose).In(1))
		for i := range 5 {
			all = append(all, t.oneOf(s, i == 3))
		}
	})
	if left := t.left(); len(left) > 0 {
		t.broken("goroutines are left of Ask:\n%s", strings.Join(left, "\n"))
	}
	for i, h := range all {
		h.mu.Lock()
		if h.late > 0 {
			t.broken("request %d: %d deltas were told after Ask had returned", i+1, h.late)
		}
		h.mu.Unlock()
	}
}

// oneOf asks once; an answer that would stay idle is cancelled.
func (t *trial) oneOf(s Subject, idle bool) *hearing {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h := t.start(ctx, s.Model, says("hello"))
	if idle {
		t.hear(h, len(prose))
		cancel()
	}
	t.wait(h)
	return h
}

func (t *trial) concurrent() {
	const many = 8
	var turns []Turn
	want := map[string]bool{}
	for i := range many {
		text := strings.Repeat(string(rune('a'+i)), 100)
		turns = append(turns, Says(text).In(1))
		want[text] = true
	}
	s := t.subject(turns...)
	var all []*hearing
	for range many {
		all = append(all, t.start(context.Background(), s.Model, says("hello")))
	}
	for _, h := range all {
		if !t.wait(h) {
			continue
		}
		answer, err := h.assembler.End(h.finish, h.err)
		if err != nil || !want[answer.Text()] {
			t.broken("got the text %q and %v, want one of the answers, each once", answer.Text(), err)
		}
		delete(want, answer.Text())
	}
}
