package chat_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tack-agent/tack/chat"
)

type valid interface{ Validate() error }

// failer is what *testing.T and *rapid.T have in common here.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// encoded is v as the log keeps it.
func encoded(t failer, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatalf("encode: %v", err)
	}
	return b.Bytes()
}

func decoded[T any](t failer, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("decode %.200s: %v", data, err)
	}
	return v
}

// difference is empty if both are equal, where no bytes and no list are the
// same as empty ones.
func difference(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

func survivesJSON[T valid](t *testing.T, values *rapid.Generator[T]) {
	rapid.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "value")
		if err := v.Validate(); err != nil {
			t.Fatalf("got %v, want a valid value", err)
		}
		text := encoded(t, v)
		back := decoded[T](t, text)
		if diff := difference(v, back); diff != "" {
			t.Errorf("JSON there and back changed the value, -before +after:\n%s", diff)
		}
		if again := encoded(t, back); !bytes.Equal(again, text) {
			t.Errorf("got %s the second time, want %s", again, text)
		}
		if err := back.Validate(); err != nil {
			t.Errorf("got %v after JSON there and back, want it valid still", err)
		}
	})
}

func TestAMessageSurvivesJSON(t *testing.T) { survivesJSON(t, messages) }

func TestAnAnswerSurvivesJSONWithItsProviderData(t *testing.T) { survivesJSON(t, answers) }

func TestAResultSurvivesJSON(t *testing.T) { survivesJSON(t, results) }

func TestUsageSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := usages.Draw(t, "usage")
		if got := decoded[chat.Usage](t, encoded(t, u)); got != u {
			t.Errorf("got %+v, want %+v", got, u)
		}
	})
}

func TestAnEncoderThatEscapesHTMLKeepsProviderDataEqualAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := answers.Draw(t, "answer")
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		if diff := difference(plain(t, a), plain(t, decoded[chat.Answer](t, text))); diff != "" {
			t.Errorf("-before +after:\n%s", diff)
		}
	})
}

// plain is a with its provider data spelled one way. Numbers stay as they are.
func plain(t failer, a chat.Answer) chat.Answer {
	t.Helper()
	a = a.Clone()
	spell := func(raw *json.RawMessage) {
		if len(*raw) == 0 {
			return
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(*raw))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("decode %s: %v", *raw, err)
		}
		*raw = encoded(t, v)
	}
	spell(&a.Provider)
	for i := range a.Blocks {
		spell(&a.Blocks[i].Provider)
	}
	return a
}

func TestProviderDataThatNobodyUnderstandsSurvivesByteByByte(t *testing.T) {
	for _, raw := range []string{
		`{"b":1,"a":2,"b":3}`,
		`[123456789012345678901234567890,1e999,-0,0.10,1E+2]`,
		`"<script>&amp;\u003c\/"`,
		"\"\u2028\u2029\"",
		`"\ud800 alone, and \ud83d\ude00"`,
		`null`,
		`false`,
		strings.Repeat(`{"a":[`, 500) + strings.Repeat(`]}`, 500),
	} {
		a := answer(chat.Block{Kind: chat.BlockReasoning, Provider: json.RawMessage(raw)})
		a.Provider = json.RawMessage(raw)
		if err := a.Validate(); err != nil {
			t.Errorf("%.60s: got %v, want it valid", raw, err)
			continue
		}
		back := decoded[chat.Answer](t, encoded(t, a))
		if got := string(back.Provider); got != raw {
			t.Errorf("of the answer: got %s, want %s", got, raw)
		}
		if got := string(back.Blocks[0].Provider); got != raw {
			t.Errorf("of a block: got %s, want %s", got, raw)
		}
	}
}

// Logs are written in this spelling: a name that changes is a new version of
// the facts that hold it.
func TestTheSpellingInJSONIsTheSameForEver(t *testing.T) {
	m := told()
	blob := chat.BlobOf([]byte("notes"))
	m.Parts[2].Data, m.Parts[2].Blob = nil, &blob
	a := answer(
		chat.Block{Kind: chat.BlockReasoning, Text: "hm", Provider: json.RawMessage(`{"x":"<1>"}`)},
		chat.Block{Kind: chat.BlockCall, Call: &chat.Call{ID: "1", Name: "read", Arguments: "{}"}},
	)
	a.Usage = chat.Usage{Input: 5, CacheRead: 4, CacheWrite: 3, Output: 2, Reasoning: 1}
	a.Provider = json.RawMessage("[]")
	const named = `{"digest":"sha256:ab5aa97074c454a0632057e704220d9a6678fbf773a0a5806fc09b8173b07309","size":5}`
	for _, c := range []struct {
		value any
		want  string
	}{
		{m, `{"id":"m1","role":"user","source":{"kind":"plugin","name":"clock"},"parts":[` +
			`{"kind":"text","text":"look at <this> & that, naïve"},{"kind":"image","media":"image/png","data":"iVBORw=="},` +
			`{"kind":"file","media":"text/plain","name":"notes.txt","blob":` + named + `}],"meta":{"from":"editor"}}`},
		{a, `{"model":"m","blocks":[{"kind":"reasoning","text":"hm","provider":{"x":"<1>"}},` +
			`{"kind":"call","call":{"id":"1","name":"read","arguments":"{}"}}],"finish":"stop",` +
			`"usage":{"input":5,"cache_read":4,"cache_write":3,"output":2,"reasoning":1},"provider":[]}`},
		{chat.Answer{Interrupted: true}, `{"interrupted":true}`},
		{chat.Result{Call: "1", Name: "read", Code: chat.CodeTimeout, Whole: &blob}, `{"call":"1","name":"read","code":"timeout","whole":` + named + `}`},
		{chat.Result{}, `{"call":"","name":""}`},
	} {
		if got := strings.TrimSuffix(string(encoded(t, c.value)), "\n"); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// Each field in turn is given values that JSON or a careless rule might not
// bear: whatever Validate lets pass must survive.
func TestWhatPassesValidationSurvivesJSON(t *testing.T) {
	blob := chat.BlobOf([]byte("x"))
	parts := []chat.Part{
		chat.Text("a"), chat.Image("image/png", []byte("x")), chat.File("n", "text/plain", []byte("x")),
		{Kind: chat.PartFile, Name: "n", Media: "text/plain", Blob: &blob},
	}
	bearsOddValues(t, chat.Message{
		ID: "m", Role: chat.RoleUser, Source: chat.User(), Parts: parts, Meta: map[string]string{"k": "v"},
	}, chat.Message.Clone)
	bearsOddValues(t, chat.Answer{
		Model: "m", Finish: chat.FinishCalls, Usage: chat.Usage{Input: 1}, Provider: json.RawMessage("1"),
		Blocks: []chat.Block{
			{Kind: chat.BlockText, Text: "a", Provider: json.RawMessage("1")},
			{Kind: chat.BlockReasoning, Text: "a", Provider: json.RawMessage("1")},
			{Kind: chat.BlockCall, Call: &chat.Call{ID: "1", Name: "n", Arguments: "{}"}, Provider: json.RawMessage("1")},
		},
	}, chat.Answer.Clone)
	bearsOddValues(t, chat.Result{Call: "1", Name: "n", Parts: parts, Code: chat.CodeError, Whole: &blob}, chat.Result.Clone)
}

func bearsOddValues[T valid](t *testing.T, v T, clone func(T) T) {
	if err := v.Validate(); err != nil {
		t.Fatalf("got %v, want a valid value to begin with", err)
	}
	deep := strings.Repeat("[", 9999) + strings.Repeat("]", 9999)
	strange := []string{
		"", " ", "\x00", "\xff", "a\xffb", "\u2028", "<&>", "é", "\ufffd", "text/plain;x=\"\xff\"", "user", "host", "image",
		"null", `{"a": 1}`, "[1]\n", `"` + "\xff" + `"`, "{", deep, `{"a":1e999}`,
	}
	for i := range leaves(reflect.ValueOf(&v).Elem(), "", true) {
		for _, odd := range strange {
			changed := clone(v)
			l := leaves(reflect.ValueOf(&changed).Elem(), "", true)[i]
			switch l.value.Kind() {
			case reflect.String:
				l.value.SetString(odd)
			case reflect.Slice:
				l.value.SetBytes([]byte(odd))
			case reflect.Map:
				l.value.Set(reflect.ValueOf(map[string]string{odd: odd}))
			case reflect.Int64:
				l.value.SetInt(int64(len(odd)) - 1)
			case reflect.Bool:
				l.value.SetBool(odd != "")
			}
			if changed.Validate() != nil {
				continue
			}
			text := encoded(t, changed)
			if diff := difference(changed, decoded[T](t, text)); diff != "" {
				t.Errorf("%T%s = %.40q passes validation and doesn't survive JSON, -before +after:\n%s", v, l.path, odd, diff)
			}
		}
	}
}

func TestAMessageWithoutBytesInAFileIsTheSameAfterJSON(t *testing.T) {
	m := chat.Message{ID: "m", Role: chat.RoleUser, Source: chat.User()}
	m.Parts = []chat.Part{chat.File("empty", "text/plain", []byte{})}
	blob := chat.BlobOf(nil)
	both := m.Clone()
	both.Parts[0].Blob = &blob
	for _, m := range []chat.Message{m, both} {
		back := decoded[chat.Message](t, encoded(t, m))
		if (m.Validate() == nil) != (back.Validate() == nil) || m.Digest() != back.Digest() {
			t.Errorf("got %v and %s, want %v and %s: empty bytes are no bytes",
				back.Validate(), back.Digest(), m.Validate(), m.Digest())
		}
	}
}

func FuzzReadingAMessage(f *testing.F) {
	for _, seed := range []string{
		`{"id":"m1","role":"user","source":{"kind":"user"},"parts":[{"kind":"text","text":"hello <&> \u2028"}]}`,
		`{"id":"m2","role":"system","source":{"kind":"plugin","name":"clock"},"parts":[{"kind":"image","media":"image/png","data":"iVBORw=="}],"meta":{"k":"v"}}`,
		`{"id":"m3","role":"user","source":{"kind":"agent","name":"s1"},"parts":[{"kind":"file","media":"text/plain; charset=utf-8","name":"n","blob":{"digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0}}]}`,
		`{"id":"\ud800","role":"user","source":null,"parts":[null]}`,
		`{"id":"m5","parts":[{"kind":"file","media":"*/*","data":"","blob":{}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m chat.Message
		if json.Unmarshal(data, &m) != nil || m.Validate() != nil {
			return
		}
		back := decoded[chat.Message](t, encoded(t, m))
		if diff := difference(m, back); diff != "" {
			t.Errorf("a valid message changed, -before +after:\n%s", diff)
		}
		if back.Digest() != m.Digest() || back.Size() != m.Size() || back.Size() < 0 {
			t.Errorf("got digest %s and size %d, want %s and %d", back.Digest(), back.Size(), m.Digest(), m.Size())
		}
	})
}

func FuzzReadingAnAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"finish":"stop","blocks":[{"kind":"text","text":"so","provider":{"a":[1e999,"<\u2028"]}}],"usage":{"input":3}}`,
		`{"finish":"calls","blocks":[{"kind":"call","call":{"id":"1","name":"read","arguments":"{"}}],"provider":null}`,
		`{"interrupted":true,"model":"m","provider":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a chat.Answer
		if json.Unmarshal(data, &a) != nil || a.Validate() != nil {
			return
		}
		if diff := difference(a, decoded[chat.Answer](t, encoded(t, a))); diff != "" {
			t.Errorf("a valid answer changed, -before +after:\n%s", diff)
		}
	})
}
