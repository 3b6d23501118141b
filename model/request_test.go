package model

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tack-agent/tack/chat"
)

func message(id, text string) Item {
	m := chat.Say(text).As(id)
	return Item{Message: &m}
}

func calling(ids ...string) Item {
	a := chat.Answer{Finish: chat.FinishCalls}
	for _, id := range ids {
		a.Blocks = append(a.Blocks, chat.Block{Kind: chat.BlockCall, Call: &chat.Call{ID: id, Name: "read"}})
	}
	return Item{Answer: &a}
}

func result(id string) Item {
	return Item{Result: &chat.Result{Call: id, Name: "read", Parts: []chat.Part{chat.Text("done")}}}
}

func request(items ...Item) *Request {
	return &Request{
		Model: "m-1", System: "Be <brief>.", Items: items,
		Tools: []Tool{{Name: "read", Description: "reads", Schema: json.RawMessage(`{ "type": "object" }`)}},
	}
}

func TestTheCanonicalFormHoldsWhatIsAsked(t *testing.T) {
	r := request(message("m1", "hi"), calling("c1"), result("c1"))
	r.Session, r.Epoch, r.Cache.Once = "s1", 3, true
	got, err := r.Canonical()
	want := `{"model":"m-1","system":"Be <brief>.","tools":[{"name":"read","description":"reads","schema":{"type":"object"}}],` +
		`"items":[{"message":{"id":"m1","role":"user","source":{"kind":"user"},"parts":[{"kind":"text","text":"hi"}]}},` +
		`{"answer":{"blocks":[{"kind":"call","call":{"id":"c1","name":"read"}}],"finish":"calls"}},` +
		`{"result":{"call":"c1","name":"read","parts":[{"kind":"text","text":"done"}]}}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %v\n     %s\nwant %s", err, got, want)
	}
}

func TestARequestReadBackAsksTheSame(t *testing.T) {
	warm := 0.3
	r := request(message("m1", "hi"), calling("c1"), result("c1"))
	r.Items[1].Answer.Blocks[0].Provider = json.RawMessage(`{"sig":"<&>"}`)
	r.Items[0].Message.Parts = append(r.Items[0].Message.Parts, chat.Image("image/png", []byte("png")))
	r.Parameters = Parameters{MaxOutput: 100, Temperature: &warm, Effort: EffortHigh, Provider: json.RawMessage(`{"top_k":5}`)}
	r.Format = json.RawMessage(`{"type":"object"}`)
	first, err := r.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	var back Request
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	second, err := back.Canonical()
	if err != nil || string(second) != string(first) {
		t.Errorf("got %v\n     %s\nwant %s", err, second, first)
	}
}

func TestADigestIsOfWhatIsAskedAlone(t *testing.T) {
	digest := func(change func(*Request)) string {
		r := request(message("m1", "hi"))
		r.Items[0].Message.Parts = append(r.Items[0].Message.Parts, chat.File("a.pdf", "application/pdf", []byte("pdf")))
		change(r)
		d, err := r.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	plain := digest(func(*Request) {})
	blob := chat.BlobOf([]byte("pdf"))
	for what, change := range map[string]func(*Request){
		"session":       func(r *Request) { r.Session = "s2" },
		"epoch":         func(r *Request) { r.Epoch = 2 },
		"meta":          func(r *Request) { r.Items[0].Message.Meta = map[string]string{"a": "b"} },
		"kept as blob":  func(r *Request) { p := &r.Items[0].Message.Parts[1]; p.Data, p.Blob = nil, &blob },
		"schema spaces": func(r *Request) { r.Tools[0].Schema = json.RawMessage(`{"type":"object"}`) },
	} {
		if digest(change) != plain {
			t.Errorf("%s: the digest changed, though the same is asked", what)
		}
	}
	for what, change := range map[string]func(*Request){
		"model":       func(r *Request) { r.Model = "m-2" },
		"parameters":  func(r *Request) { r.Parameters.MaxOutput = 1 },
		"system":      func(r *Request) { r.System = "" },
		"tools":       func(r *Request) { r.Tools = nil },
		"format":      func(r *Request) { r.Format = json.RawMessage(`{}`) },
		"text":        func(r *Request) { r.Items[0].Message.Parts[0].Text = "ho" },
		"file's data": func(r *Request) { r.Items[0].Message.Parts[1].Data = []byte("fdp") },
	} {
		if digest(change) == plain {
			t.Errorf("%s: the digest stayed, though something else is asked", what)
		}
	}
}

func TestExtendingKeepsWhatCameBefore(t *testing.T) {
	base := request(message("m1", "hi"), calling("c1"), result("c1"))
	longer := *base
	longer.Items = append(longer.Items[:3:3], message("m2", "more"))
	rebuilt := *request(message("m1", "hi"), calling("c1"), result("c1"), message("m2", "more"))
	other := *request(message("m1", "ho"), calling("c1"), result("c1"), message("m2", "more"))
	epoch := longer
	epoch.Epoch = 1
	for what, c := range map[string]struct {
		r    *Request
		want bool
	}{
		"itself": {base, true}, "longer": {&longer, true}, "rebuilt": {&rebuilt, true}, "other words": {&other, false}, "next epoch": {&epoch, false},
	} {
		if got := c.r.Extends(base); got != c.want {
			t.Errorf("%s: got %v, want %v", what, got, c.want)
		}
	}
	if base.Extends(&longer) {
		t.Error("a shorter request extends a longer one")
	}
}

func TestAnInvalidRequestNamesTheField(t *testing.T) {
	for field, r := range map[string]*Request{
		"":                           request(message("m1", "hi"), calling("c1", "c2"), result("c1"), result("c2"), message("m2", "more")),
		"model":                      {Items: []Item{message("m1", "hi")}},
		"parameters.max_output":      {Model: "m", Parameters: Parameters{MaxOutput: -1}},
		"tools[1].name":              {Model: "m", Tools: []Tool{{Name: "a"}, {Name: "a"}}},
		"tools[0].schema":            {Model: "m", Tools: []Tool{{Name: "a", Schema: json.RawMessage("{")}}},
		"format":                     {Model: "m", Format: json.RawMessage("{")},
		"items":                      request(),
		"items[0]":                   request(Item{}),
		"items[0].message.id":        request(message("", "hi")),
		"items[0].answer.finish":     request(Item{Answer: &chat.Answer{}}),
		"items[1].result":            request(message("m1", "hi"), result("c1")),
		"items[1]":                   request(calling("c1"), message("m1", "hi")),
		"items[2].result":            request(calling("c1", "c2"), result("c1"), result("c3")),
		"parameters.provider":        {Model: "m", Parameters: Parameters{Provider: json.RawMessage("[]")}},
		"parameters.calls":           {Model: "m", Parameters: Parameters{Calls: "some"}},
		"items[0].message.parts":     request(Item{Message: &chat.Message{ID: "m", Role: chat.RoleUser, Source: chat.User()}}),
		"items[0].answer.blocks[0].": request(Item{Answer: &chat.Answer{Finish: chat.FinishStop, Blocks: []chat.Block{{}}}}),
	} {
		err := r.Validate()
		var wrong *chat.FieldError
		switch {
		case field == "" && err != nil:
			t.Errorf("a valid request: %v", err)
		case field != "" && (!errors.As(err, &wrong) || !strings.HasPrefix(wrong.Field, field)):
			t.Errorf("got %v, want an error about %s", err, field)
		}
	}
}

func TestParametersAreReadStrictly(t *testing.T) {
	p, err := ParseParameters(json.RawMessage(`{"max_output":5,"temperature":0,"effort":"low","calls":"none","provider":{"top_k":3}}`))
	if err != nil || p.MaxOutput != 5 || p.Temperature == nil || *p.Temperature != 0 || p.Effort != EffortLow || p.Calls != CallsNone {
		t.Errorf("got %+v, %v", p, err)
	}
	if p, err := ParseParameters(nil); err != nil || p.MaxOutput != 0 {
		t.Errorf("nothing given: got %+v, %v", p, err)
	}
	for raw, says := range map[string]string{
		`{"top_k":3}`:         "top_k",
		`{"max_output":"5"}`:  "max_output",
		`{} {}`:               "follows",
		`{"temperature":-1}`:  "temperature",
		`{"provider":"deep"}`: "provider",
		`{"provider":null}`:   "",
	} {
		_, err := ParseParameters(json.RawMessage(raw))
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: got %v, want an error that names %q", raw, err, says)
		}
	}
}

func TestBytesAreReadWhereverTheyAre(t *testing.T) {
	blob := chat.BlobOf([]byte("kept"))
	r := request()
	r.Blobs = func(_ context.Context, b chat.Blob) ([]byte, error) {
		if b != blob {
			return nil, errors.New("no such blob")
		}
		return []byte("kept"), nil
	}
	other := chat.BlobOf([]byte("lost"))
	for want, p := range map[string]chat.Part{
		"said": chat.Text("said"), "inline": chat.Image("image/png", []byte("inline")), "kept": {Kind: chat.PartFile, Blob: &blob},
	} {
		if got, err := r.Bytes(t.Context(), p); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	lost := chat.Part{Kind: chat.PartFile, Blob: &other}
	if _, err := r.Bytes(t.Context(), lost); err == nil || !strings.Contains(err.Error(), other.Digest) {
		t.Errorf("got %v, want an error that names the blob", err)
	}
	r.Blobs = nil
	if _, err := r.Bytes(t.Context(), lost); err == nil {
		t.Error("a blob was read though there are none")
	}
}

func TestASizeCountsWhatTheModelReads(t *testing.T) {
	r := request(message("m1", "12345"), result("c1"))
	before := r.Size()
	r.Items = append(r.Items, message("m2", "1234567890"))
	if got := r.Size() - before; got != 10 {
		t.Errorf("ten bytes of text count %d", got)
	}
	picture := Item{Message: &chat.Message{Parts: []chat.Part{chat.Image("image/png", make([]byte, 1<<20))}}}
	if got := picture.Size(); got != pictureSize {
		t.Errorf("a big picture counts %d, want %d whatever its bytes", got, pictureSize)
	}
}
