package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tack-agent/tack/chat"
)

// assembled tells all deltas and ends with the finish.
func assembled(finish chat.Finish, deltas ...Delta) (chat.Answer, error) {
	var a Assembler
	for _, d := range deltas {
		a.Tell(d)
	}
	return a.End(finish, nil)
}

// mixed is an answer with blocks of every kind, told in turns.
func mixed() []Delta {
	return []Delta{
		{Kind: DeltaAnswer, Name: "m-1", Provider: json.RawMessage(`{"id": "resp_1"}`)},
		Usage(chat.Usage{Input: 10}),
		Reasoning(0, "two "), Reasoning(0, ""), Reasoning(0, "calls"), Provider(0, json.RawMessage(`{"sig": "<a>"}`)),
		Text(1, "I'll "), Text(1, "look"),
		Call(2, "c1", "read"), Call(3, "c2", "list"),
		Arguments(2, `{"pa`), Arguments(3, `[1,`), Arguments(2, `th":1}`), Arguments(3, ` 2]`),
		Provider(3, json.RawMessage(`"x"`)),
		Usage(chat.Usage{Input: 10, Output: 5}),
	}
}

func TestDeltasMakeAnAnswer(t *testing.T) {
	got, err := assembled(chat.FinishStop, mixed()...)
	want := chat.Answer{
		Model: "m-1", Finish: chat.FinishCalls, Usage: chat.Usage{Input: 10, Output: 5}, Provider: json.RawMessage(`{"id":"resp_1"}`),
		Blocks: []chat.Block{
			{Kind: chat.BlockReasoning, Text: "two calls", Provider: json.RawMessage(`{"sig":"<a>"}`)},
			{Kind: chat.BlockText, Text: "I'll look"},
			{Kind: chat.BlockCall, Call: &chat.Call{ID: "c1", Name: "read", Arguments: `{"path":1}`}},
			{Kind: chat.BlockCall, Call: &chat.Call{ID: "c2", Name: "list", Arguments: `[1, 2]`}, Provider: json.RawMessage(`"x"`)},
		},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\n     %+v\nwant %+v", err, got, want)
	}
}

func TestWhatWasStreamedStaysWithoutCalls(t *testing.T) {
	var a Assembler
	for _, d := range mixed() {
		a.Tell(d)
	}
	got, streamed := a.Stop()
	if !streamed || !got.Interrupted || got.Finish != "" || len(got.Blocks) != 2 || got.Text() != "I'll look" || got.Usage.Output != 5 {
		t.Errorf("got %v, %+v; want reasoning and text, interrupted, with the usage", streamed, got)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

func TestNothingStreamedIsStillAValidAnswer(t *testing.T) {
	var a Assembler
	a.Tell(Usage(chat.Usage{Input: 7}))
	a.Tell(Text(0, ""))
	a.Tell(Call(1, "c1", "read"))
	got, streamed := a.Partial()
	if streamed || got.Usage.Input != 7 || got.Validate() != nil {
		t.Errorf("got %v, %+v, %v; want nothing streamed, and the usage", streamed, got, got.Validate())
	}
}

func TestWhatMakesNoSenseBreaksTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		deltas []Delta
		finish chat.Finish
		says   string
	}{
		"no finish":                {[]Delta{Text(0, "hi")}, "", "without a finish"},
		"an unknown finish":        {[]Delta{Text(0, "hi")}, "tired", "finish"},
		"an unknown kind":          {[]Delta{{Kind: "smell"}}, chat.FinishStop, `"smell"`},
		"a block left out":         {[]Delta{Text(1, "hi")}, chat.FinishStop, "0 blocks have begun"},
		"a block before the first": {[]Delta{Text(-1, "hi")}, chat.FinishStop, "block -1"},
		"another kind":             {[]Delta{Text(0, "hi"), Reasoning(0, "hm")}, chat.FinishStop, "of kind text"},
		"arguments for a text":     {[]Delta{Text(0, "hi"), Arguments(0, "{}")}, chat.FinishStop, "of kind text"},
		"arguments for no call":    {[]Delta{Arguments(0, "{}")}, chat.FinishStop, "0 blocks have begun"},
		"a call without an id":     {[]Delta{Call(0, "", "read")}, chat.FinishStop, "no id"},
		"two calls with one id":    {[]Delta{Call(0, "c", "read"), Call(1, "c", "read")}, chat.FinishStop, "same id"},
		"a call begun twice":       {[]Delta{Call(0, "c", "read"), Call(0, "d", "read")}, chat.FinishStop, "begins block 0"},
		"provider data, no JSON":   {[]Delta{Text(0, "hi"), Provider(0, json.RawMessage(`{`))}, chat.FinishStop, "provider data of block 0"},
		"too much":                 {[]Delta{Text(0, strings.Repeat("x", MaxAnswer)), Text(0, "y")}, chat.FinishStop, "bigger than"},
	} {
		_, err := assembled(c.finish, c.deltas...)
		if f := FailureOf(err); f == nil || f.Kind != FailureBroken || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want a broken stream that says %q", name, err, c.says)
		}
	}
}

func TestABrokenAnswerKeepsWhatCameBefore(t *testing.T) {
	var a Assembler
	for _, d := range []Delta{Text(0, "sound"), Arguments(0, "{}"), Text(0, ", unsound")} {
		a.Tell(d)
	}
	if got, _ := a.Partial(); got.Text() != "sound" || a.Err() == nil {
		t.Errorf("got %q and %v, want what came before the nonsense, and what that was", got.Text(), a.Err())
	}
}

func TestTheFinishAgreesWithTheBlocks(t *testing.T) {
	for _, c := range []struct{ finish, text, calls chat.Finish }{
		{chat.FinishStop, chat.FinishStop, chat.FinishCalls},
		{chat.FinishCalls, chat.FinishStop, chat.FinishCalls},
		{chat.FinishMaxTokens, chat.FinishMaxTokens, chat.FinishMaxTokens},
		{chat.FinishRefused, chat.FinishRefused, chat.FinishRefused},
	} {
		text, err1 := assembled(c.finish, Text(0, "hi"))
		calls, err2 := assembled(c.finish, Call(0, "c", "read"))
		if err := errors.Join(err1, err2); err != nil || text.Finish != c.text || calls.Finish != c.calls {
			t.Errorf("%s: got %q and %q, want %q and %q: %v", c.finish, text.Finish, calls.Finish, c.text, c.calls, err)
		}
	}
}

func TestACancelledAnswerHasTheContextsError(t *testing.T) {
	var a Assembler
	_, err := a.End(chat.FinishStop, fmt.Errorf("read the stream: %w", context.Canceled))
	if !errors.Is(err, context.Canceled) || FailureOf(err).Kind != FailureCancelled {
		t.Errorf("got %v", err)
	}
}

func TestHalfACharacterIsCutOffWhereTheStreamStopped(t *testing.T) {
	for _, whole := range []string{"é", "語", "🙂"} {
		for n := range len(whole) {
			var a Assembler
			a.Tell(Text(0, "ab"+whole[:n]))
			if got, _ := a.Partial(); got.Text() != "ab" {
				t.Errorf("%d bytes of %s: got %q, want ab", n, whole, got.Text())
			}
		}
		var a Assembler
		a.Tell(Text(0, "ab"+whole))
		if got, _ := a.Partial(); got.Text() != "ab"+whole {
			t.Errorf("got %q, want ab%s", got.Text(), whole)
		}
	}
}

func TestBytesThatAreNoTextAreReplaced(t *testing.T) {
	got, err := assembled(chat.FinishStop, Text(0, "a\xffb"), Call(1, "c", "read"), Arguments(1, "\xfe"))
	if err != nil || got.Text() != "a\uFFFDb" || got.Calls()[0].Arguments != "\uFFFD" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAnEndedAssemblerIsDeaf(t *testing.T) {
	var a Assembler
	a.Tell(Text(0, "heard"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				a.Tell(Text(0, "!"))
			}
		})
	}
	kept, _ := a.Stop()
	all.Wait()
	a.Tell(Text(0, "late"))
	if after, _ := a.Partial(); after.Text() != kept.Text() {
		t.Errorf("kept %q, later %q", kept.Text(), after.Text())
	}
}

func TestWhoJoinsLateIsToldTheSame(t *testing.T) {
	all := mixed()
	for n := range len(all) + 1 {
		var first, second Assembler
		for _, d := range all[:n] {
			first.Tell(d)
		}
		for _, d := range first.Told() {
			second.Tell(d)
		}
		for _, d := range all[n:] {
			second.Tell(d)
		}
		got, err := second.End(chat.FinishStop, nil)
		want, _ := assembled(chat.FinishStop, all...)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("after %d deltas: got %v\n     %+v\nwant %+v", n, err, got, want)
		}
	}
}

func TestJoinedDeltasSayTheSame(t *testing.T) {
	var joined []Delta
	for _, d := range mixed() {
		if n := len(joined); n == 0 || !joined[n-1].Join(d) {
			joined = append(joined, d)
		}
	}
	got, err := assembled(chat.FinishStop, joined...)
	want, _ := assembled(chat.FinishStop, mixed()...)
	if err != nil || !reflect.DeepEqual(got, want) || len(joined) >= len(mixed()) {
		t.Errorf("%d of %d deltas: got %v\n     %+v\nwant %+v", len(joined), len(mixed()), err, got, want)
	}
}

// FuzzAssembler tells deltas in any order. Nothing panics; what comes out is
// valid or an error; what was streamed is valid; and who joins late hears the
// same.
func FuzzAssembler(f *testing.F) {
	f.Add([]byte{0, 0, 'a', 2, 1, 'b', 3, 1, 'c'}, "stop")
	f.Add([]byte{1, 0, 0xc3, 4, 0, '7', 5, 0, 0, 6, 0, '{'}, "max-tokens")
	kinds := []DeltaKind{DeltaText, DeltaReasoning, DeltaCall, DeltaArguments, DeltaProvider, DeltaUsage, DeltaAnswer, "?"}
	f.Fuzz(func(t *testing.T, script []byte, finish string) {
		var a, joined Assembler
		for ; len(script) >= 3; script = script[3:] {
			text := string(script[2:3])
			a.Tell(Delta{
				Kind: kinds[int(script[0])%len(kinds)], Block: int(int8(script[1])), Text: text, ID: text, Name: text,
				Provider: json.RawMessage(text), Usage: chat.Usage{Output: int64(script[2])},
			})
		}
		for _, d := range a.Told() {
			joined.Tell(d)
		}
		partial, _ := a.Partial()
		if err := partial.Validate(); err != nil {
			t.Fatalf("partial answer: %v", err)
		}
		broken := a.Err()
		answer, err := a.End(chat.Finish(finish), nil)
		if err != nil {
			return
		}
		if invalid := answer.Validate(); invalid != nil || broken != nil {
			t.Fatalf("an answer of a broken stream (%v), or invalid: %v", broken, invalid)
		}
		if !utf8.ValidString(answer.Text()) {
			t.Fatalf("the text %q is no text", answer.Text())
		}
		if again, err := joined.End(chat.Finish(finish), nil); err != nil || !reflect.DeepEqual(again, answer) {
			t.Fatalf("who joined late has %v\n     %+v\nwant %+v", err, again, answer)
		}
	})
}
