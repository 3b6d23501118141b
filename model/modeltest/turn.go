package modeltest

import (
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
)

// Turn is what a scripted provider does with one request: it waits, streams an
// answer and ends it in some way. It is data, so that the provider of an
// adapter's test can play it in its own dialect.
//
//	modeltest.Says("hello").In(2)
//	modeltest.Calls(chat.Call{ID: "c1", Name: "read", Arguments: `{"path":"a.go"}`}).Thinking("let me look")
//	modeltest.Fails(model.Failure{Kind: model.FailureOverloaded})
type Turn struct {
	// Answer is what is streamed. An empty Finish is set by the calls.
	Answer  chat.Answer
	Chunk   int            // characters in a delta of text or arguments; 0: all in one
	Wait    time.Duration  // before the first delta
	Pause   time.Duration  // before each other
	End     Ending         // how the answer ends
	Failure *model.Failure // instead of a finish, once the answer's deltas were told
	// Raw is told after the answer's deltas, whatever it says.
	Raw []model.Delta
}

// Ending is how a turn ends once its deltas were told.
type Ending string

const (
	EndsWhole  Ending = ""        // with its finish, or its failure
	EndsBroken Ending = "broken"  // without a finish, as if the line went dead
	EndsIdle   Ending = "idle"    // not before the request's context does
	EndsDeaf   Ending = "deaf"    // not before Script.Release, whatever the context does; then it goes on
	EndsLate   Ending = "chatter" // whole, but Script.Release tells one delta more
)

// Says is a turn that says text.
func Says(text string) Turn {
	return Turn{Answer: chat.Answer{Blocks: []chat.Block{{Kind: chat.BlockText, Text: text}}}}
}

// Calls is a turn that makes calls.
func Calls(calls ...chat.Call) Turn {
	var t Turn
	for _, c := range calls {
		t.Answer.Blocks = append(t.Answer.Blocks, chat.Block{Kind: chat.BlockCall, Call: &c})
	}
	return t
}

// Fails is a turn that fails before it says anything.
func Fails(f model.Failure) Turn { return Turn{Failure: &f} }

// Thinking is t with reasoning before the rest.
func (t Turn) Thinking(text string) Turn {
	return t.before(chat.Block{Kind: chat.BlockReasoning, Text: text})
}

// Saying is t with text before the rest.
func (t Turn) Saying(text string) Turn {
	return t.before(chat.Block{Kind: chat.BlockText, Text: text})
}

func (t Turn) before(b chat.Block) Turn {
	t.Answer.Blocks = append([]chat.Block{b}, t.Answer.Blocks...)
	return t
}

// In is t streamed in pieces of that many characters.
func (t Turn) In(characters int) Turn { t.Chunk = characters; return t }

// Using is t with the usage it reports.
func (t Turn) Using(u chat.Usage) Turn { t.Answer.Usage = u; return t }

// Finishing is t with the finish it reports.
func (t Turn) Finishing(f chat.Finish) Turn { t.Answer.Finish = f; return t }

// Ending is t ending in the given way.
func (t Turn) Ending(e Ending) Turn { t.End = e; return t }

// After is t beginning only then.
func (t Turn) After(wait time.Duration) Turn { t.Wait = wait; return t }

// Finish is why the model stops, if the turn ends whole.
func (t Turn) Finish() chat.Finish {
	if t.Answer.Finish != "" {
		return t.Answer.Finish
	}
	for _, b := range t.Answer.Blocks {
		if b.Kind == chat.BlockCall {
			return chat.FinishCalls
		}
	}
	return chat.FinishStop
}

// Deltas are what a model tells that plays t.
func (t Turn) Deltas() []model.Delta {
	out := make([]model.Delta, 0, 2*len(t.Answer.Blocks)+2+len(t.Raw))
	if t.Answer.Model != "" || t.Answer.Provider != nil {
		out = append(out, model.Delta{Kind: model.DeltaAnswer, Name: t.Answer.Model, Provider: t.Answer.Provider})
	}
	for i, b := range t.Answer.Blocks {
		out = t.block(out, i, b)
	}
	if t.Answer.Usage != (chat.Usage{}) {
		out = append(out, model.Usage(t.Answer.Usage))
	}
	return append(out, t.Raw...)
}

func (t Turn) block(out []model.Delta, i int, b chat.Block) []model.Delta {
	piece, text := model.Text, b.Text
	switch {
	case b.Kind == chat.BlockReasoning:
		piece = model.Reasoning
	case b.Call != nil:
		piece, text = model.Arguments, b.Call.Arguments
		out = append(out, model.Call(i, b.Call.ID, b.Call.Name))
	}
	if text == "" && b.Call == nil {
		out = append(out, piece(i, ""))
	}
	for text != "" {
		n := cut(text, t.Chunk)
		out = append(out, piece(i, text[:n]))
		text = text[n:]
	}
	if b.Provider != nil {
		out = append(out, model.Provider(i, b.Provider))
	}
	return out
}

// cut is the size in bytes of the first characters of text.
func cut(text string, characters int) int {
	if characters <= 0 {
		return len(text)
	}
	for at := range text {
		if characters == 0 {
			return at
		}
		characters--
	}
	return len(text)
}
