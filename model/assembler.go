package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tack-agent/tack/chat"
)

// MaxAnswer is how big an answer may get, in bytes; each block counts
// blockSize besides what it holds.
const (
	MaxAnswer = 32 << 20
	blockSize = 64
)

// Assembler makes an answer of the deltas it is told. The zero value is ready;
// one Assembler serves one request.
//
// All methods may be called at any time by anyone. Once End was called, or
// Stop, it is deaf: an adapter that goes on can't reach what was made.
type Assembler struct {
	mu     sync.Mutex
	deaf   bool
	broken error // the first delta that made no sense; what follows is ignored
	size   int
	blocks []block
	first  [2]block // room for the blocks of a short answer
	model  string
	usage  chat.Usage
	data   json.RawMessage // of the answer as a whole
}

// block is a block being made.
type block struct {
	kind     chat.BlockKind
	text     text // of a call: its arguments
	id, name string
	provider json.RawMessage
}

// text grows by pieces. One that comes in one piece is never copied.
type text struct {
	only string
	many []byte
}

func (t *text) add(s string) {
	switch {
	case s == "":
	case t.many != nil:
		t.many = append(t.many, s...)
	case t.only == "":
		t.only = s
	default:
		t.many = append(append(make([]byte, 0, max(256, 2*(len(t.only)+len(s)))), t.only...), s...)
		t.only = ""
	}
}

func (t *text) String() string {
	if t.many != nil {
		return string(t.many)
	}
	return t.only
}

// Tell adds d. A delta that makes no sense breaks the answer: it and all that
// follow are ignored, and End says what was wrong.
func (a *Assembler) Tell(d Delta) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.deaf || a.broken != nil {
		return
	}
	a.broken = a.add(d)
}

// Err says what broke the answer; nil while it makes sense.
func (a *Assembler) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken == nil {
		return nil
	}
	return brokenStream(a.broken)
}

func (a *Assembler) add(d Delta) error {
	size := len(d.Text) + len(d.ID) + len(d.Name) + len(d.Provider)
	if a.size += size; a.size > MaxAnswer {
		return fmt.Errorf("the answer is bigger than %d bytes", MaxAnswer)
	}
	switch d.Kind {
	case DeltaText:
		return a.addText(d, chat.BlockText)
	case DeltaReasoning:
		return a.addText(d, chat.BlockReasoning)
	case DeltaCall:
		return a.begin(d, chat.BlockCall)
	case DeltaArguments:
		b, err := a.at(d, chat.BlockCall)
		if err == nil {
			b.text.add(d.Text)
		}
		return err
	case DeltaProvider:
		return a.addProvider(d)
	case DeltaUsage:
		a.usage = d.Usage
		return nil
	case DeltaAnswer:
		return a.addAnswer(d)
	default:
		return fmt.Errorf("a delta of kind %q", d.Kind)
	}
}

func (a *Assembler) addText(d Delta, kind chat.BlockKind) error {
	if d.Block == len(a.blocks) {
		return a.begin(d, kind)
	}
	b, err := a.at(d, kind)
	if err == nil {
		b.text.add(d.Text)
	}
	return err
}

// begin appends the block that d begins.
func (a *Assembler) begin(d Delta, kind chat.BlockKind) error {
	if d.Block != len(a.blocks) {
		return fmt.Errorf("a %s delta begins block %d, where block %d would be next", d.Kind, d.Block, len(a.blocks))
	}
	if kind == chat.BlockCall {
		if err := a.judgeCall(d); err != nil {
			return err
		}
	}
	if a.blocks == nil {
		a.blocks = a.first[:0]
	}
	a.size += blockSize
	a.blocks = append(a.blocks, block{kind: kind, text: text{only: d.Text}, id: d.ID, name: d.Name})
	return nil
}

func (a *Assembler) judgeCall(d Delta) error {
	if d.ID == "" {
		return fmt.Errorf("the call of %q in block %d has no id", d.Name, d.Block)
	}
	for i := range a.blocks {
		if b := &a.blocks[i]; b.kind == chat.BlockCall && b.id == d.ID {
			return fmt.Errorf("blocks %d and %d are calls with the same id %q", i, d.Block, d.ID)
		}
	}
	return nil
}

// at finds the block that d adds to.
func (a *Assembler) at(d Delta, kind chat.BlockKind) (*block, error) {
	if d.Block < 0 || d.Block >= len(a.blocks) {
		return nil, fmt.Errorf("a %s delta for block %d, where %d blocks have begun", d.Kind, d.Block, len(a.blocks))
	}
	b := &a.blocks[d.Block]
	if kind != "" && b.kind != kind {
		return nil, fmt.Errorf("a %s delta for block %d, which is of kind %s", d.Kind, d.Block, b.kind)
	}
	return b, nil
}

func (a *Assembler) addProvider(d Delta) error {
	b, err := a.at(d, "")
	if err != nil {
		return err
	}
	b.provider, err = compact(d.Provider)
	if err != nil {
		return fmt.Errorf("provider data of block %d: %w", d.Block, err)
	}
	return nil
}

func (a *Assembler) addAnswer(d Delta) error {
	if d.Name != "" {
		a.model = d.Name
	}
	if d.Provider == nil {
		return nil
	}
	var err error
	if a.data, err = compact(d.Provider); err != nil {
		return fmt.Errorf("provider data of the answer: %w", err)
	}
	return nil
}

// compact copies raw without white space, so that nothing changes it later.
func compact(raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil {
		return nil, nil
	}
	out := bytes.NewBuffer(make([]byte, 0, len(raw)))
	if err := json.Compact(out, raw); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// End closes a and returns the answer, given what Ask returned: whole and
// valid, or an error that is a *[Failure]. The finish is made to agree with
// the blocks: a model that stopped with calls waits for results.
func (a *Assembler) End(finish chat.Finish, err error) (chat.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deaf = true
	switch {
	case err != nil:
		return chat.Answer{}, FailureOf(err)
	case a.broken != nil:
		return chat.Answer{}, brokenStream(a.broken)
	case finish == "":
		return chat.Answer{}, brokenStream(errUnfinished)
	}
	answer := a.answer()
	answer.Finish = a.agree(finish)
	for i := range a.blocks {
		answer.Blocks = append(answer.Blocks, a.blocks[i].whole())
	}
	if err := answer.Validate(); err != nil {
		return chat.Answer{}, brokenStream(err)
	}
	return answer, nil
}

// Stop closes a and returns what was streamed, as Partial does.
func (a *Assembler) Stop() (answer chat.Answer, streamed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deaf = true
	return a.partial()
}

// Partial is what was streamed so far, as an answer marked interrupted: text
// and reasoning without the calls, because none is certain before the finish.
// It is valid also if nothing was streamed but usage.
func (a *Assembler) Partial() (answer chat.Answer, streamed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.partial()
}

func (a *Assembler) partial() (chat.Answer, bool) {
	answer := a.answer()
	answer.Interrupted = true
	for i := range a.blocks {
		b := &a.blocks[i]
		if b.kind == chat.BlockCall {
			continue
		}
		made := b.whole()
		made.Text = valid(unbroken(b.text.String()))
		if made.Text != "" || made.Provider != nil {
			answer.Blocks = append(answer.Blocks, made)
		}
	}
	return answer, len(answer.Blocks) > 0
}

// Told lists the fewest deltas that say all that was told so far. Who joins in
// mid-stream begins with them.
func (a *Assembler) Told() []Delta {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []Delta
	if a.model != "" || a.data != nil {
		out = append(out, Delta{Kind: DeltaAnswer, Name: a.model, Provider: a.data})
	}
	for i := range a.blocks {
		out = a.blocks[i].told(i, out)
	}
	if a.usage != (chat.Usage{}) {
		out = append(out, Usage(a.usage))
	}
	return out
}

func (b *block) told(i int, out []Delta) []Delta {
	switch b.kind {
	case chat.BlockText:
		out = append(out, Text(i, b.text.String()))
	case chat.BlockReasoning:
		out = append(out, Reasoning(i, b.text.String()))
	case chat.BlockCall:
		out = append(out, Call(i, b.id, b.name))
		if args := b.text.String(); args != "" {
			out = append(out, Arguments(i, args))
		}
	}
	if b.provider != nil {
		out = append(out, Provider(i, b.provider))
	}
	return out
}

// answer is the answer without its blocks.
func (a *Assembler) answer() chat.Answer {
	answer := chat.Answer{Model: a.model, Usage: a.usage, Provider: a.data}
	if len(a.blocks) > 0 {
		answer.Blocks = make([]chat.Block, 0, len(a.blocks))
	}
	return answer
}

func (a *Assembler) agree(finish chat.Finish) chat.Finish {
	if finish != chat.FinishStop && finish != chat.FinishCalls {
		return finish
	}
	for i := range a.blocks {
		if a.blocks[i].kind == chat.BlockCall {
			return chat.FinishCalls
		}
	}
	return chat.FinishStop
}

// whole is the block as it belongs into an answer.
func (b *block) whole() chat.Block {
	said := valid(b.text.String())
	if b.kind != chat.BlockCall {
		return chat.Block{Kind: b.kind, Text: said, Provider: b.provider}
	}
	return chat.Block{Kind: b.kind, Call: &chat.Call{ID: b.id, Name: b.name, Arguments: said}, Provider: b.provider}
}

// valid puts U+FFFD in the place of what isn't UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// unbroken cuts off the beginning of a character whose rest is missing.
func unbroken(s string) string {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return s[:len(s)-n]
			}
			break
		}
	}
	return s
}
