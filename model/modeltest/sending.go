package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
)

// sent asks and returns what the provider was sent last.
func (t *trial) sent(s Subject, r *model.Request) (string, bool) {
	t.Helper()
	before := len(s.Sent())
	if _, ok := t.answer(s.Model, r); !ok {
		return "", false
	}
	all := s.Sent()
	if len(all) != before+1 {
		t.broken("one Ask sent %d requests", len(all)-before)
		return "", false
	}
	return all[before], true
}

func (t *trial) providerData() {
	call := chat.Call{ID: "call_a", Name: "read", Arguments: `{"path":"a.go"}`}
	turn := Calls(call).Saying("I'll read it.").Thinking("What may be in it?")
	for i := range turn.Answer.Blocks {
		turn.Answer.Blocks[i].Provider = seal(i)
	}
	turn.Answer.Provider = seal(len(turn.Answer.Blocks))
	s := t.subject(turn, Says("done"))
	answer, ok := t.answer(s.Model, asksForCalls())
	if !ok {
		return
	}
	seals := sealsIn(answer)
	if len(seals) == 0 {
		t.broken("the answer has no provider data, though the provider sent some with every block: %+v", answer)
	}
	next := asksForCalls()
	next.Items = append(next.Items, model.Item{Answer: &answer}, resulted(call, chat.CodeOK, "package a"))
	body, ok := t.sent(s, next)
	for _, token := range seals {
		if ok && !strings.Contains(body, token) {
			t.broken("the answer came with %q, but the next request was sent without it:\n%s", token, body)
		}
	}
}

// seal is provider data that nobody knows. The provider may put its token
// wherever its dialect has a place for such data.
func seal(n int) json.RawMessage { return json.RawMessage(`{"seal":"` + token(n) + `"}`) }

func token(n int) string { return fmt.Sprintf("s%dZ9xQ7", n) }

// sealsIn lists the tokens of the blocks' provider data. What the adapter kept
// of the answer as a whole need not be sent.
func sealsIn(a chat.Answer) []string {
	var found []string
	for _, b := range a.Blocks {
		for n := range len(a.Blocks) + 1 {
			if strings.Contains(string(b.Provider), token(n)) {
				found = append(found, token(n))
			}
		}
	}
	return found
}

func (t *trial) items() {
	call, second := chat.Call{ID: "call_a", Name: "read", Arguments: `{"path":"mark3"}`}, chat.Call{ID: "call_b", Name: "read"}
	note := chat.Say("mark9").As("m9").From(chat.Plugin("clock"))
	rule := chat.Message{ID: "m8", Role: chat.RoleSystem, Source: chat.Host("test"), Parts: []chat.Part{chat.Text("markSystem")}}
	cut := model.Item{Answer: &chat.Answer{Interrupted: true, Blocks: []chat.Block{{Kind: chat.BlockText, Text: "mark7"}}}}
	r := says("mark1")
	r.System, r.Tools = "markHeader", []model.Tool{tool(), {Name: "markTool", Description: "markDescription", Schema: []byte(`{"type":"object"}`)}}
	r.Items = append(r.Items,
		answered(chat.Block{Kind: chat.BlockText, Text: "mark2"}, chat.Block{Kind: chat.BlockCall, Call: &call}, chat.Block{Kind: chat.BlockCall, Call: &second}),
		resulted(call, chat.CodeOK, "mark4"), resulted(second, chat.CodeDenied, "mark5"),
		says("mark6").Items[0], cut, model.Item{Message: &rule}, model.Item{Message: &note})
	body, ok := t.sent(t.subject(Says("done")), r)
	if !ok {
		return
	}
	at := -1
	for _, mark := range []string{"mark1", "mark2", "mark3", "mark4", "mark5", "mark6", "mark7", "mark9"} {
		next := strings.Index(body, mark)
		if next <= at {
			t.broken("%s is missing, or not in its place, in what was sent:\n%s", mark, body)
		}
		at = next
	}
	for _, mark := range []string{"markHeader", "markTool", "markDescription", "markSystem"} {
		if !strings.Contains(body, mark) {
			t.broken("%s is missing in what was sent:\n%s", mark, body)
		}
	}
}

// prefix asks one adapter a row of requests, and a new one each of them alone.
func (t *trial) prefix() {
	other := says("one", "two", "three")
	other.System = "Another header."
	other.Tools = []model.Tool{tool()}
	row := []struct {
		what    string
		request *model.Request
		session string
		epoch   int
	}{
		{"the first request", says("one"), "s1", 0},
		{"a longer request", says("one", "two", "three"), "s1", 0},
		{"the same request again", says("one", "two", "three"), "s1", 0},
		{"the same items under another header", other, "s1", 0},
		{"other items in the next epoch", says("sum", "yes", "four"), "s1", 1},
		{"a longer request in the next epoch", says("sum", "yes", "four", "five", "six"), "s1", 1},
		{"another session", says("uno", "due", "tre"), "s2", 1},
		{"the first session again", says("sum", "yes", "four", "five", "six", "seven", "eight"), "s1", 1},
		{"no session", says("eins"), "", 0},
		{"no session again", says("un", "deux", "trois"), "", 0},
	}
	reused := t.subject(oks(len(row))...)
	for _, step := range row {
		step.request.Session, step.request.Epoch = step.session, step.epoch
		got, ok := t.sent(reused, step.request)
		want, fresh := t.sent(t.subject(Says("ok")), step.request)
		if ok && fresh && got != want {
			t.broken("%s: an adapter that had been asked before sent\n%s\na new one\n%s", step.what, got, want)
		}
	}
}

func oks(n int) []Turn {
	turns := make([]Turn, n)
	for i := range turns {
		turns[i] = Says("ok")
	}
	return turns
}

// dot is the smallest picture.
const dot = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

var errNoBlob = errors.New("no such blob")

func (t *trial) pictures() {
	s := t.subject(oks(4)...)
	if s.Model.Info().Images == model.Unable {
		t.Skipf("the model takes no pictures")
		return
	}
	plain, _ := t.sent(s, says("look"))
	inline := says("look")
	inline.Items[0].Message.Parts = append(inline.Items[0].Message.Parts, chat.Image("image/gif", []byte(dot)))
	want, ok := t.sent(s, inline)
	if ok && want == plain {
		t.broken("a request with a picture is sent like one without:\n%s", want)
	}

	blob := chat.BlobOf([]byte(dot))
	kept := says("look")
	kept.Items[0].Message.Parts = append(kept.Items[0].Message.Parts, chat.Part{Kind: chat.PartImage, Media: "image/gif", Blob: &blob})
	kept.Blobs = func(_ context.Context, b chat.Blob) ([]byte, error) {
		if b != blob {
			return nil, errNoBlob
		}
		return []byte(dot), nil
	}
	if got, sent := t.sent(s, kept); ok && sent && got != want {
		t.broken("inline, the picture is sent as\n%s\nkept as a blob, as\n%s", want, got)
	}

	missing := *kept
	missing.Blobs = func(context.Context, chat.Blob) ([]byte, error) { return nil, errNoBlob }
	if answer, failure, ok := t.ask(s.Model, &missing); ok && failure == nil {
		t.broken("the blob can't be read, but there is an answer: %+v", answer)
	}
}

func (t *trial) untouched() {
	r := asksForCalls()
	r.Session = "s1"
	r.Items = append(r.Items, says("", "a <b> answer", "more").Items[1:]...)
	before, err := r.Canonical()
	if err != nil {
		t.Errorf("encode the kit's request: %v", err)
		return
	}
	if _, ok := t.answer(t.subject(Says("ok")).Model, r); !ok {
		return
	}
	if after, err := r.Canonical(); err != nil || string(after) != string(before) {
		t.broken("before the request was\n%s\nafter it\n%s\n%v", before, after, err)
	}
}
