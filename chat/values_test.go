package chat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/tack-agent/tack/chat"
)

// Generators of valid values.
var (
	// texts are valid UTF-8 with what JSON and HTML escape.
	texts = rapid.Custom(func(t *rapid.T) string {
		odd := rapid.SampledFrom([]string{"<", ">", "&", "\u2028", "\u2029", "\x00", "\n", "\\", `"`, "\ufffd", "😀", "\u202e"})
		pieces := rapid.SliceOfN(rapid.OneOf(rapid.String(), odd), 0, 6).Draw(t, "pieces")
		return strings.Join(pieces, "")
	})
	someText = rapid.Map(texts, func(s string) string { return s + "." })
	// names have no control characters and fit their limit.
	names = rapid.StringMatching(`[^\pC\pZ]{1,40}`)
	blobs = rapid.Map(rapid.SliceOf(rapid.Byte()), chat.BlobOf)

	sources = rapid.Custom(func(t *rapid.T) chat.Source {
		kinds := []chat.SourceKind{chat.SourceUser, chat.SourcePlugin, chat.SourceAgent, chat.SourceHost}
		return chat.Source{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Name: names.Draw(t, "name")}
	})
	parts = rapid.Custom(func(t *rapid.T) chat.Part {
		data := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "data")
		var p chat.Part
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return chat.Text(someText.Draw(t, "text"))
		case 1:
			p = chat.Image(rapid.SampledFrom([]string{"image/png", "image/svg+xml; charset=utf-8"}).Draw(t, "media"), data)
		default:
			p = chat.File(names.Draw(t, "name"), rapid.SampledFrom([]string{"text/plain;charset=utf-8", "application/pdf"}).Draw(t, "media"), data)
		}
		if rapid.Bool().Draw(t, "blob") {
			blob := chat.BlobOf(data)
			p.Data, p.Blob = nil, &blob
		}
		return p
	})
	messages = rapid.Custom(func(t *rapid.T) chat.Message {
		return chat.Message{
			ID:     rapid.StringMatching(`[^\pC\pZ]{1,40}`).Draw(t, "id"),
			Role:   rapid.SampledFrom([]chat.Role{chat.RoleUser, chat.RoleSystem}).Draw(t, "role"),
			Source: sources.Draw(t, "source"),
			Parts:  rapid.SliceOfN(parts, 1, 5).Draw(t, "parts"),
			Meta:   rapid.MapOfN(someText, texts, 0, 4).Draw(t, "meta"),
		}
	})
	results = rapid.Custom(func(t *rapid.T) chat.Result {
		return chat.Result{
			Call:  someText.Draw(t, "call"),
			Name:  texts.Draw(t, "name"),
			Parts: rapid.SliceOfN(parts, 0, 5).Draw(t, "parts"),
			Code:  rapid.SampledFrom(codes).Draw(t, "code"),
			Whole: rapid.Ptr(blobs, true).Draw(t, "whole"),
		}
	})
	usages = rapid.Custom(func(t *rapid.T) chat.Usage {
		count := rapid.Int64Range(0, 1<<60)
		return chat.Usage{
			Input: count.Draw(t, "input"), CacheRead: count.Draw(t, "cache read"), CacheWrite: count.Draw(t, "cache write"),
			Output: count.Draw(t, "output"), Reasoning: count.Draw(t, "reasoning"),
		}
	})
	answers = rapid.Custom(func(t *rapid.T) chat.Answer {
		a := chat.Answer{
			Model:       names.Draw(t, "model"),
			Interrupted: rapid.Bool().Draw(t, "interrupted"),
			Usage:       usages.Draw(t, "usage"),
			Provider:    json.RawMessage(rapid.OneOf(rapid.Just(""), jsonOf(3)).Draw(t, "provider")),
		}
		kinds := []chat.BlockKind{chat.BlockText, chat.BlockReasoning}
		if !a.Interrupted {
			kinds = append(kinds, chat.BlockCall)
			a.Finish = rapid.SampledFrom(finishes).Draw(t, "finish")
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "blocks") {
			b := chat.Block{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
			b.Provider = json.RawMessage(rapid.OneOf(rapid.Just(""), jsonOf(3)).Draw(t, "provider"))
			if b.Kind == chat.BlockCall {
				b.Call = &chat.Call{ID: fmt.Sprint(i, texts.Draw(t, "id")), Name: texts.Draw(t, "name"), Arguments: texts.Draw(t, "arguments")}
			} else {
				b.Text = texts.Draw(t, "text")
			}
			a.Blocks = append(a.Blocks, b)
		}
		return a
	})
)

var codes = []chat.Code{
	chat.CodeOK, chat.CodeError, chat.CodeUnknown, chat.CodeArguments, chat.CodeDenied, chat.CodeTimeout,
	chat.CodePanicked, chat.CodeAborted, chat.CodeNotStarted, chat.CodeOutcome,
}

var finishes = []chat.Finish{chat.FinishStop, chat.FinishCalls, chat.FinishMaxTokens, chat.FinishRefused}

// jsonOf makes compact JSON as a provider might spell it, nested up to depth
// and now and then 200 times deeper.
func jsonOf(depth int) *rapid.Generator[string] {
	atoms := rapid.OneOf(
		rapid.SampledFrom([]string{
			"null", "true", "false", "0", "-0", "0.10", "1E+2", "1e999", "123456789012345678901234567890",
			`"<>&"`, `"\u003c\/"`, "\"\u2028\"", `"\ud83d\ude00"`, `{}`, `[]`, `""`, `"\\\""`,
		}),
		rapid.Map(rapid.String(), quoted),
	)
	if depth == 0 {
		return atoms
	}
	inner := jsonOf(depth - 1)
	return rapid.OneOf(
		atoms,
		rapid.Map(rapid.SliceOfN(inner, 0, 3), func(list []string) string { return "[" + strings.Join(list, ",") + "]" }),
		rapid.Custom(func(t *rapid.T) string {
			var fields []string
			for range rapid.IntRange(0, 3).Draw(t, "fields") {
				fields = append(fields, quoted(rapid.String().Draw(t, "key"))+":"+inner.Draw(t, "value"))
			}
			return "{" + strings.Join(fields, ",") + "}"
		}),
		rapid.Custom(func(t *rapid.T) string {
			n := rapid.IntRange(0, 200).Draw(t, "levels")
			return strings.Repeat("[", n) + inner.Draw(t, "core") + strings.Repeat("]", n)
		}),
	)
}

// quoted is s as a JSON string that escapes no HTML.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
