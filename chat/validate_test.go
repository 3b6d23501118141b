package chat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tack-agent/tack/chat"
)

// wrong checks that err names the field and says the fix.
func wrong(t *testing.T, err error, field, fix string) {
	t.Helper()
	var got *chat.FieldError
	switch {
	case err == nil:
		t.Errorf("got no error, want one for %s", field)
	case !errors.As(err, &got):
		t.Errorf("got %T, want a *chat.FieldError: %v", err, err)
	case got.Field != field:
		t.Errorf("got field %q, want %q: %v", got.Field, field, err)
	case !strings.Contains(got.Problem, fix):
		t.Errorf("got problem %q, want it to say %q", got.Problem, fix)
	case !utf8.ValidString(got.Problem) || len(got.Problem) > 512:
		t.Errorf("got problem %q of %d bytes, want readable text", got.Problem, len(got.Problem))
	case err.Error() != field+": "+got.Problem:
		t.Errorf("got %q, want field and problem", err)
	}
}

// huge is a value that doesn't belong into an error.
var huge = strings.Repeat("世", 1<<16)

func TestValidationNamesTheFieldOfAMessageAndTheFix(t *testing.T) {
	entries := func(n, size int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprintf("%03d", i)] = strings.Repeat("x", size)
		}
		return m
	}
	for _, c := range []struct {
		name   string
		change func(*chat.Message)
		field  string
		fix    string
	}{
		{"no id", func(m *chat.Message) { m.ID = "" }, "id", "give the message an id"},
		{"long id", func(m *chat.Message) { m.ID = strings.Repeat("x", chat.MaxID+1) }, "id", "at most 256"},
		{"id with a space", func(m *chat.Message) { m.ID = "a b" }, "id", "no spaces"},
		{"id with an odd space", func(m *chat.Message) { m.ID = "a\u00a0b" }, "id", "no spaces"},
		{"id with a line break", func(m *chat.Message) { m.ID = "a\n" }, "id", "can be printed"},
		{"id with what isn't seen", func(m *chat.Message) { m.ID = "a\u200bb" }, "id", "can be printed"},
		{"id not UTF-8", func(m *chat.Message) { m.ID = "a\xff" }, "id", "can be printed"},

		{"no role", func(m *chat.Message) { m.Role = "" }, "role", `use "user" or "system"`},
		{"unknown role", func(m *chat.Message) { m.Role = "assistant" }, "role", `"assistant": use`},
		{"huge role", func(m *chat.Message) { m.Role = chat.Role(huge) }, "role", "use"},

		{"no source", func(m *chat.Message) { m.Source = chat.Source{} }, "source.kind", `use "user", "plugin", "agent" or "host"`},
		{"huge source", func(m *chat.Message) { m.Source.Kind = chat.SourceKind(huge) }, "source.kind", "use"},
		{"plugin without a name", func(m *chat.Message) { m.Source = chat.Plugin("") }, "source.name", "has a name"},
		{"agent without a name", func(m *chat.Message) { m.Source = chat.Agent("") }, "source.name", "has a name"},
		{"host without a name", func(m *chat.Message) { m.Source = chat.Host("") }, "source.name", "has a name"},
		{"long source name", func(m *chat.Message) { m.Source.Name = strings.Repeat("x", chat.MaxName+1) }, "source.name", "at most 1024"},
		{"source name with a bell", func(m *chat.Message) { m.Source.Name = "a\a" }, "source.name", "without control characters"},
		{"source name not UTF-8", func(m *chat.Message) { m.Source.Name = "\xff" }, "source.name", "valid UTF-8"},

		{"no parts", func(m *chat.Message) { m.Parts = nil }, "parts", "at least one"},
		{"empty parts", func(m *chat.Message) { m.Parts = []chat.Part{} }, "parts", "at least one"},
		{"many parts", func(m *chat.Message) { m.Parts = make([]chat.Part, chat.MaxParts+1) }, "parts", "at most 1024"},

		{"many entries", func(m *chat.Message) { m.Meta = entries(chat.MaxMeta+1, 0) }, "meta", "at most 64"},
		{"much meta", func(m *chat.Message) { m.Meta = entries(chat.MaxMeta, 254) }, "meta", "at most 16384"},
		{"meta without a key", func(m *chat.Message) { m.Meta = map[string]string{"": "v"} }, "meta", "name it"},
		{"meta key not UTF-8", func(m *chat.Message) { m.Meta = map[string]string{"\xff": "v"} }, "meta", "use valid UTF-8"},
		{"meta value not UTF-8", func(m *chat.Message) { m.Meta = map[string]string{"k": "\xff"} }, "meta", `"k": use valid UTF-8`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := told()
			c.change(&m)
			wrong(t, m.Validate(), c.field, c.fix)
		})
	}
}

func TestValidationNamesTheFieldOfAPartAndTheFix(t *testing.T) {
	blob := chat.BlobOf([]byte("x"))
	nothing := chat.BlobOf(nil)
	data := []byte("x")
	for _, c := range []struct {
		name  string
		part  chat.Part
		field string
		fix   string
	}{
		{"no kind", chat.Part{}, "kind", `use "text", "image" or "file"`},
		{"unknown kind", chat.Part{Kind: "audio", Media: "audio/wav", Data: data}, "kind", `"audio": use`},
		{"huge kind", chat.Part{Kind: chat.PartKind(huge)}, "kind", "use"},

		{"empty text", chat.Text(""), "text", "leave the part out"},
		{"text not UTF-8", chat.Text("\xff"), "text", "as a file part"},
		{"text with media", chat.Part{Kind: chat.PartText, Text: "a", Media: "text/plain"}, "media", "leave it out"},
		{"text with a name", chat.Part{Kind: chat.PartText, Text: "a", Name: "n"}, "name", "leave it out"},
		{"text with data", chat.Part{Kind: chat.PartText, Text: "a", Data: data}, "data", "file part"},
		{"text with a blob", chat.Part{Kind: chat.PartText, Text: "a", Blob: &blob}, "blob", "file part"},

		{"image with text", chat.Part{Kind: chat.PartImage, Text: "a", Media: "image/png", Data: data}, "text", "as a text part"},
		{"file with text", chat.Part{Kind: chat.PartFile, Text: "a", Media: "text/plain", Data: data}, "text", "as a text part"},
		{"image without data", chat.Image("image/png", nil), "data", "has bytes"},
		{"image with empty data", chat.Image("image/png", []byte{}), "data", "has bytes"},
		{"image with an empty blob", chat.Part{Kind: chat.PartImage, Media: "image/png", Blob: &nothing}, "data", "has bytes"},
		{"image that is a text", chat.Image("text/plain", data), "media", "send it as a file part"},
		{"image by another word", chat.Image("imagery/png", data), "media", "send it as a file part"},

		{"no media", chat.File("n", "", data), "media", "such as image/png"},
		{"half a media type", chat.File("n", "png", data), "media", "such as image/png"},
		{"a disposition", chat.File("n", `form-data; name="a"`, data), "media", "such as image/png"},
		{"media without a subtype", chat.File("n", "text/", data), "media", "such as image/png"},
		{"media of three", chat.File("n", "text/plain/a", data), "media", "such as image/png"},
		{"all pictures", chat.Image("image/*", data), "media", "such as image/png"},
		{"all media", chat.File("n", "*/*", data), "media", "such as image/png"},
		{"broken parameter", chat.File("n", "text/plain; charset", data), "media", "such as image/png"},
		{"upper case", chat.Image("Image/PNG", data), "media", `write it as "image/png"`},
		{"space before", chat.Image(" image/png", data), "media", `write it as "image/png"`},
		{"space after", chat.Image("image/png ", data), "media", `write it as "image/png"`},
		{"media with a line break", chat.File("n", "text/plain\n", data), "media", "without control characters"},
		{"media not UTF-8", chat.File("n", "text/plain; x=\"\xff\"", data), "media", "valid UTF-8"},
		{"huge media", chat.File("n", "text/"+huge, data), "media", "at most 1024"},
		{"long wrong media", chat.File("n", strings.Repeat("世", 300), data), "media", "such as image/png"},

		{"long name", chat.File(strings.Repeat("x", chat.MaxName+1), "text/plain", data), "name", "at most 1024"},
		{"name with a line break", chat.File("a\nb", "text/plain", data), "name", "without control characters"},
		{"name not UTF-8", chat.File("\xff", "text/plain", data), "name", "valid UTF-8"},

		{"data and blob", chat.Part{Kind: chat.PartFile, Media: "text/plain", Data: data, Blob: &blob}, "blob", "keep one"},
		{"no blob's name", chat.Part{Kind: chat.PartFile, Media: "text/plain", Blob: &chat.Blob{}}, "blob", "as BlobOf does"},
		{"negative blob", chat.Part{Kind: chat.PartImage, Media: "image/png", Blob: &chat.Blob{Digest: blob.Digest, Size: -1}}, "blob", "-1 bytes"},
		{"huge digest", chat.Part{Kind: chat.PartFile, Media: "text/plain", Blob: &chat.Blob{Digest: huge}}, "blob", "as BlobOf does"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := []chat.Part{chat.Text("before"), c.part, chat.Text("")}
			wrong(t, chat.ValidateParts(parts), "parts[1]."+c.field, c.fix)
			wrong(t, chat.Result{Call: "1", Parts: parts}.Validate(), "parts[1]."+c.field, c.fix)
		})
	}
}

// answer is a valid one of these blocks.
func answer(blocks ...chat.Block) chat.Answer {
	return chat.Answer{Model: "m", Finish: chat.FinishStop, Blocks: blocks}
}

func TestValidationNamesTheFieldOfAnAnswerAndTheFix(t *testing.T) {
	text := chat.Block{Kind: chat.BlockText, Text: "a"}
	calling := func(c chat.Call) chat.Block { return chat.Block{Kind: chat.BlockCall, Call: &c} }
	call := calling(chat.Call{ID: "1", Name: "read"})
	providing := func(raw string) chat.Block {
		return chat.Block{Kind: chat.BlockReasoning, Provider: json.RawMessage(raw)}
	}
	for _, c := range []struct {
		name   string
		answer chat.Answer
		field  string
		fix    string
	}{
		{"model not UTF-8", chat.Answer{Model: "\xff", Finish: chat.FinishStop}, "model", "valid UTF-8"},
		{"no finish", chat.Answer{}, "finish", "say why"},
		{"unknown finish", chat.Answer{Finish: "tired"}, "finish", `use "stop", "calls", "max-tokens" or "refused"`},
		{"huge finish", chat.Answer{Finish: chat.Finish(huge)}, "finish", "use"},
		{"finished and interrupted", chat.Answer{Finish: chat.FinishStop, Interrupted: true}, "finish", "leave it empty"},
		{"interrupted with a call", chat.Answer{Interrupted: true, Blocks: []chat.Block{text, call}}, "blocks[1].kind", "leave it out"},

		{"no kind", answer(chat.Block{}), "blocks[0].kind", `use "text", "reasoning" or "call"`},
		{"huge kind", answer(text, chat.Block{Kind: chat.BlockKind(huge)}), "blocks[1].kind", "use"},
		{"text not UTF-8", answer(chat.Block{Kind: chat.BlockText, Text: "\xff"}), "blocks[0].text", "U+FFFD"},
		{"reasoning not UTF-8", answer(chat.Block{Kind: chat.BlockReasoning, Text: "\xff"}), "blocks[0].text", "U+FFFD"},
		{"text with a call", answer(chat.Block{Kind: chat.BlockText, Call: call.Call}), "blocks[0].call", "block of its own"},
		{"reasoning with a call", answer(chat.Block{Kind: chat.BlockReasoning, Call: call.Call}), "blocks[0].call", "block of its own"},
		{"call with text", answer(chat.Block{Kind: chat.BlockCall, Text: "a", Call: call.Call}), "blocks[0].text", "block of its own"},

		{"call without one", answer(chat.Block{Kind: chat.BlockCall}), "blocks[0].call", `kind "call" has one`},
		{"call without id", answer(calling(chat.Call{Name: "read"})), "blocks[0].call.id", "mint one"},
		{"call id not UTF-8", answer(calling(chat.Call{ID: "\xff"})), "blocks[0].call.id", "valid UTF-8"},
		{"call id twice", answer(call, text, call), "blocks[2].call.id", `"1" names an earlier call too`},
		{"huge call id twice", answer(calling(chat.Call{ID: huge}), calling(chat.Call{ID: huge})), "blocks[1].call.id", "unique"},
		{"call name not UTF-8", answer(calling(chat.Call{ID: "1", Name: "\xff"})), "blocks[0].call.name", "valid UTF-8"},
		{"arguments not UTF-8", answer(calling(chat.Call{ID: "1", Arguments: "\xff"})), "blocks[0].call.arguments", "U+FFFD"},

		{"provider not JSON", answer(providing("{")), "blocks[0].provider", "use JSON"},
		{"provider of two", answer(providing("1 2")), "blocks[0].provider", "use JSON"},
		{"provider with spaces", answer(providing(`{"a": 1}`)), "blocks[0].provider", "compact it"},
		{"provider with a line break", answer(providing("1\n")), "blocks[0].provider", "compact it"},
		{"provider not UTF-8", answer(providing("\"\xff\"")), "blocks[0].provider", "valid UTF-8"},
		{"provider too deep", answer(providing(nested(1001))), "blocks[0].provider", "nested 1001 deep: at most 1000"},
		{"provider far too deep", answer(providing(nested(20000))), "blocks[0].provider", "use JSON"},
		{"provider of a call", answer(chat.Block{Kind: chat.BlockCall, Call: call.Call, Provider: json.RawMessage("{")}), "blocks[0].provider", "use JSON"},
		{"provider of the answer", chat.Answer{Finish: chat.FinishStop, Provider: json.RawMessage("{")}, "provider", "use JSON"},

		{"input", chat.Answer{Finish: chat.FinishStop, Usage: chat.Usage{Input: -1}}, "usage.input", "use 0"},
		{"cache read", chat.Answer{Finish: chat.FinishStop, Usage: chat.Usage{CacheRead: -1}}, "usage.cache_read", "use 0"},
		{"cache write", chat.Answer{Finish: chat.FinishStop, Usage: chat.Usage{CacheWrite: -1}}, "usage.cache_write", "use 0"},
		{"output", chat.Answer{Finish: chat.FinishStop, Usage: chat.Usage{Output: -1}}, "usage.output", "use 0"},
		{"reasoning", chat.Answer{Finish: chat.FinishStop, Usage: chat.Usage{Reasoning: -1}}, "usage.reasoning", "use 0"},
	} {
		t.Run(c.name, func(t *testing.T) { wrong(t, c.answer.Validate(), c.field, c.fix) })
	}
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

func TestValidationNamesTheFieldOfAResultAndTheFix(t *testing.T) {
	for _, c := range []struct {
		name   string
		result chat.Result
		field  string
		fix    string
	}{
		{"no call", chat.Result{}, "call", "use the id of the call"},
		{"call not UTF-8", chat.Result{Call: "\xff"}, "call", "valid UTF-8"},
		{"name not UTF-8", chat.Result{Call: "1", Name: "\xff"}, "name", "valid UTF-8"},
		{"many parts", chat.Result{Call: "1", Parts: make([]chat.Part, chat.MaxParts+1)}, "parts", "at most 1024"},
		{"unknown code", chat.Result{Call: "1", Code: "tired"}, "code", `"tired": use "error"`},
		{"huge code", chat.Result{Call: "1", Code: chat.Code(huge)}, "code", `use "error"`},
		{"whole by no name", chat.Result{Call: "1", Whole: &chat.Blob{Digest: huge}}, "whole", "as BlobOf does"},
	} {
		t.Run(c.name, func(t *testing.T) { wrong(t, c.result.Validate(), c.field, c.fix) })
	}
}

func TestTheFirstWrongFieldIsNamedInTheOrderOfJSON(t *testing.T) {
	m := chat.Message{Meta: map[string]string{"": ""}}
	for _, field := range []string{"id", "role", "source.kind", "parts", "meta"} {
		wrong(t, m.Validate(), field, "")
		good := told()
		switch field {
		case "id":
			m.ID = good.ID
		case "role":
			m.Role = good.Role
		case "source.kind":
			m.Source = good.Source
		case "parts":
			m.Parts = good.Parts
		}
	}
}

func TestTheSameMistakeIsToldTheSameWay(t *testing.T) {
	m := told()
	m.Meta = map[string]string{"b": "\xff", "a": "\xff", "c": "\xff"}
	for range 20 {
		wrong(t, m.Validate(), "meta", `"a"`)
	}
}

func TestWhatIsUnusualButRightIsValid(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	blob := chat.BlobOf(nil)
	for name, v := range map[string]valid{
		"one of everything":     told(),
		"limits reached":        chat.Message{ID: long(chat.MaxID), Role: chat.RoleSystem, Source: chat.Host(long(chat.MaxName)), Parts: []chat.Part{chat.Text("a")}, Meta: map[string]string{"k": long(chat.MaxMetaSize - 1)}},
		"a person with a name":  chat.Say("a").As("m").From(chat.Source{Kind: chat.SourceUser, Name: "Zoë the 1st"}),
		"an id in any script":   chat.Say("a").As("сообщение-1/é"),
		"text of white space":   chat.Say(" \n\x00").As("m"),
		"meta without a value":  chat.Message{ID: "m", Role: chat.RoleUser, Source: chat.User(), Parts: []chat.Part{chat.Text("a")}, Meta: map[string]string{"k": ""}},
		"text with empty data":  chat.Message{ID: "m", Role: chat.RoleUser, Source: chat.User(), Parts: []chat.Part{{Kind: chat.PartText, Text: "a", Data: []byte{}}}},
		"a file without bytes":  chat.Result{Call: "1", Parts: []chat.Part{chat.File("", "text/plain", nil)}},
		"an empty blob":         chat.Result{Call: "1", Parts: []chat.Part{{Kind: chat.PartFile, Media: "text/plain", Blob: &blob}}, Whole: &blob},
		"media with parameters": chat.Result{Call: "1", Parts: []chat.Part{chat.File("", "text/plain;charset=utf-8", nil), chat.File("", `text/plain; a="B c"`, nil)}},
		"a result of nothing":   chat.Result{Call: "1"},
		"an answer of nothing":  chat.Answer{Finish: chat.FinishRefused},
		"interrupted":           chat.Answer{Interrupted: true, Blocks: []chat.Block{{Kind: chat.BlockText, Text: "a"}}},
		"blocks without text":   answer(chat.Block{Kind: chat.BlockText}, chat.Block{Kind: chat.BlockReasoning, Provider: json.RawMessage(`{"redacted":"x"}`)}),
		"a call without a name": answer(chat.Block{Kind: chat.BlockCall, Call: &chat.Call{ID: "1", Arguments: "{not json"}}),
		"empty provider data":   chat.Answer{Finish: chat.FinishStop, Provider: json.RawMessage{}},
		"brackets in strings":   chat.Answer{Finish: chat.FinishStop, Provider: json.RawMessage(`["` + strings.Repeat(`[\"`, 2000) + `"]`)},
		"deep provider data":    chat.Answer{Finish: chat.FinishStop, Provider: json.RawMessage(nested(1000))},
	} {
		if err := v.Validate(); err != nil {
			t.Errorf("%s: got %v, want it valid", name, err)
		}
	}
	for _, code := range codes {
		if err := (chat.Result{Call: "1", Code: code}).Validate(); err != nil {
			t.Errorf("got %v, want it valid", err)
		}
	}
}
