package chat_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tack-agent/tack/chat"
)

func TestACloneSharesNothing(t *testing.T) {
	t.Run("message", func(t *testing.T) { sharesNothing(t, chat.Message.Clone) })
	t.Run("answer", func(t *testing.T) { sharesNothing(t, chat.Answer.Clone) })
	t.Run("result", func(t *testing.T) { sharesNothing(t, chat.Result.Clone) })
	t.Run("parts", func(t *testing.T) { sharesNothing(t, chat.CloneParts) })
}

func TestSayingIsAUsersMessageOfOneText(t *testing.T) {
	got := chat.Say("hello").As("m1").From(chat.Plugin("clock"))
	want := chat.Message{
		ID: "m1", Role: chat.RoleUser,
		Source: chat.Source{Kind: chat.SourcePlugin, Name: "clock"},
		Parts:  []chat.Part{{Kind: chat.PartText, Text: "hello"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNamingAMessageLeavesTheOriginalAlone(t *testing.T) {
	m := chat.Say("hello")
	m.As("m1").From(chat.Host("editor"))
	if m.ID != "" || m.Source != chat.User() {
		t.Errorf("got id %q from %+v, want none and a user: As and From return another message", m.ID, m.Source)
	}
}

func TestSizeCountsPartsAndMetaInBytesInlineOrNot(t *testing.T) {
	data := []byte("0123456789")
	inline := chat.Message{
		ID: "uncounted", Parts: []chat.Part{chat.Text("é"), chat.File("ab", "text/plain", data)},
		Meta: map[string]string{"k": "vv"},
	}
	const want = 2 + 2 + 10 + 10 + 3
	if got := inline.Size(); got != want {
		t.Errorf("inline: got %d bytes, want %d", got, want)
	}
	kept := inline.Clone()
	blob := chat.BlobOf(data)
	kept.Parts[1].Data, kept.Parts[1].Blob = nil, &blob
	if got := kept.Size(); got != want {
		t.Errorf("as a blob: got %d bytes, want %d: bytes count wherever they are kept", got, want)
	}
}

func TestTheSizeOfAValidMessageCannotOverflow(t *testing.T) {
	blob := chat.BlobOf(nil)
	for blob.Size = 1; blob.Valid() && blob.Size > 0; blob.Size *= 2 {
	}
	blob.Size /= 2
	m := chat.Message{ID: "m", Role: chat.RoleUser, Source: chat.User()}
	for range chat.MaxParts {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.PartFile, Media: "text/plain", Blob: &blob})
	}
	if err := m.Validate(); err != nil {
		t.Fatalf("got %v, want a valid message", err)
	}
	if got := m.Size(); got < blob.Size*chat.MaxParts {
		t.Errorf("got %d bytes, want at least %d: a huge message must not look small", got, blob.Size*chat.MaxParts)
	}
}

func TestPlainTextLeavesOutAllThatIsNotText(t *testing.T) {
	got := chat.PlainText([]chat.Part{chat.Text("a"), chat.Image("image/png", []byte("x")), chat.Text("b")})
	if want := "a\nb"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnAnswersTextAndCallsKeepTheModelsOrder(t *testing.T) {
	a := answer(
		chat.Block{Kind: chat.BlockReasoning, Text: "hm"},
		chat.Block{Kind: chat.BlockText, Text: "a"},
		chat.Block{Kind: chat.BlockCall, Call: &chat.Call{ID: "2", Name: "read"}},
		chat.Block{Kind: chat.BlockText, Text: "b"},
		chat.Block{Kind: chat.BlockCall, Call: &chat.Call{ID: "1", Name: "edit"}},
	)
	if got, want := a.Text(), "ab"; got != want {
		t.Errorf("text: got %q, want %q: only what was said aloud", got, want)
	}
	want := []chat.Call{{ID: "2", Name: "read"}, {ID: "1", Name: "edit"}}
	if diff := cmp.Diff(want, a.Calls()); diff != "" {
		t.Errorf("calls, -want +got:\n%s", diff)
	}
}

func TestWithoutCallsOnlyTheCallsAndTheirProviderDataGo(t *testing.T) {
	reasoning := chat.Block{Kind: chat.BlockReasoning, Text: "hm", Provider: json.RawMessage(`{"signature":"a"}`)}
	call := chat.Block{Kind: chat.BlockCall, Call: &chat.Call{ID: "1", Name: "read"}, Provider: json.RawMessage(`{"item":"b"}`)}
	text := chat.Block{Kind: chat.BlockText, Text: "so", Provider: json.RawMessage(`{"item":"c"}`)}
	a := filled[chat.Answer]()
	a.Blocks = []chat.Block{call, reasoning, call, text, call}
	before := a.Clone()

	want := a.Clone()
	want.Blocks = []chat.Block{reasoning, text}
	if diff := cmp.Diff(want, a.WithoutCalls()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, a); diff != "" {
		t.Errorf("the answer itself changed, -before +after:\n%s", diff)
	}
	a.Blocks = []chat.Block{call}
	if got := a.WithoutCalls().Blocks; got != nil {
		t.Errorf("got %#v of an answer of calls only, want nil: as it comes back from the log", got)
	}
}

func TestUsageAddsUpInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u, v, w := usages.Draw(t, "u"), usages.Draw(t, "v"), usages.Draw(t, "w")
		if u.Add(v) != v.Add(u) {
			t.Errorf("got %+v and %+v: the sum of both is the same either way", u.Add(v), v.Add(u))
		}
		if u.Add(v).Add(w) != u.Add(v.Add(w)) {
			t.Errorf("got %+v and %+v: three add up the same", u.Add(v).Add(w), u.Add(v.Add(w)))
		}
		if u.Add(chat.Usage{}) != u {
			t.Errorf("got %+v, want %+v: nothing adds nothing", u.Add(chat.Usage{}), u)
		}
		if got, want := u.Add(v).Total(), u.Total()+v.Total(); got != want {
			t.Errorf("got a total of %d, want %d", got, want)
		}
	})
}

func TestUsageAddsUpEveryCount(t *testing.T) {
	one := filled[chat.Usage]()
	sum := reflect.ValueOf(one.Add(one))
	for i := range sum.NumField() {
		if got, want := sum.Field(i).Int(), 2*reflect.ValueOf(one).Field(i).Int(); got != want {
			t.Errorf("%s: got %d, want %d", sum.Type().Field(i).Name, got, want)
		}
	}
}
