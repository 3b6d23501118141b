package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

// shelf keeps whole outputs.
type shelf struct {
	kept []string
	err  error
}

func (s *shelf) keep(ctx context.Context, whole []byte) (tool.Kept, error) {
	if err := ctx.Err(); err != nil {
		return tool.Kept{}, err
	}
	s.kept = append(s.kept, string(whole))
	return tool.Kept{Blob: chat.BlobOf(whole), Path: "/tmp/out.txt"}, s.err
}

// shown is the result of a tool that answers with the parts.
func shown(t *testing.T, s *shelf, limits tool.Limits, parts ...chat.Part) session.Resulted {
	t.Helper()
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { return tool.Answer{Parts: parts}, nil }))
	j := p.job("go", "")
	j.Limits = limits
	if s != nil {
		j.Keep = s.keep
	}
	return p.run(j)
}

func numbered(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestT5ALongResultIsCutAtLinesAndKeptWhole(t *testing.T) {
	s := &shelf{}
	whole := numbered(1000)
	got := shown(t, s, tool.Limits{Output: 200}, chat.Text(whole))
	parts := got.Result.Parts
	if len(parts) != 3 {
		t.Fatalf("got %d parts, want head, line and tail: %q", len(parts), text(got))
	}
	head, tail := parts[0].Text, parts[2].Text
	if !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) || len(head)+len(tail) > 200 || len(head)+len(tail) < 150 {
		t.Errorf("got head %q and tail %q", head, tail)
	}
	if !strings.HasSuffix(head, "\n") || !strings.HasPrefix(tail, "line ") {
		t.Errorf("lines are broken: %q … %q", head, tail)
	}
	missing := len(whole) - len(head) - len(tail)
	lines := 1000 - strings.Count(head, "\n") - strings.Count(tail, "\n")
	expect(t, got, chat.CodeOK, fmt.Sprintf("%d bytes in %d lines", missing, lines), "/tmp/out.txt")
	if len(s.kept) != 1 || s.kept[0] != whole || got.Result.Whole == nil || *got.Result.Whole != chat.BlobOf([]byte(whole)) {
		t.Errorf("kept %d times, and the result names %v", len(s.kept), got.Result.Whole)
	}
}

func TestT5TheDefaultShows50KiB(t *testing.T) {
	s := &shelf{}
	if got := shown(t, s, tool.Limits{}, chat.Text(strings.Repeat("x", 50<<10))); len(got.Result.Parts) != 1 || len(s.kept) > 0 {
		t.Errorf("50 KiB are cut")
	}
	got := shown(t, s, tool.Limits{}, chat.Text(strings.Repeat("x", 50<<10+1)))
	expect(t, got, chat.CodeOK, " 1 bytes in 0 lines", "/tmp/out.txt")
}

func TestT5CharactersAreNotBroken(t *testing.T) {
	for most := range 40 {
		got := shown(t, &shelf{}, tool.Limits{Output: most + 1}, chat.Text(strings.Repeat("日本🙂", 20)))
		if !utf8.ValidString(text(got)) || strings.Contains(text(got), "\uFFFD") {
			t.Errorf("limit %d: got %q", most+1, text(got))
		}
		shownBytes := 0
		for _, p := range got.Result.Parts {
			if !strings.HasPrefix(p.Text, "[") {
				shownBytes += len(p.Text)
			}
		}
		if shownBytes > most+1 {
			t.Errorf("limit %d: %d bytes are shown", most+1, shownBytes)
		}
	}
}

func TestT5TheTextsOfAResultShareTheLimit(t *testing.T) {
	picture := chat.Image("image/png", []byte{1})
	s := &shelf{}
	got := shown(t, s, tool.Limits{Output: 10},
		chat.Text("aaaaaaaa"), chat.Text("bbbb"), picture, chat.Text("cccc"), chat.Text("dddddddd"))
	var kinds []string
	for _, p := range got.Result.Parts {
		kinds = append(kinds, string(p.Kind)+":"+strings.SplitN(p.Text, " bytes", 2)[0])
	}
	want := "text:aaaaa text:[… 14 image: text:ddddd"
	if strings.Join(kinds, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(kinds, " "), want)
	}
	if s.kept[0] != "aaaaaaaa\nbbbb\ncccc\ndddddddd" {
		t.Errorf("kept %q", s.kept)
	}
}

func TestT5WhatIsNoTextIsMadeSafeAndSaidSo(t *testing.T) {
	for given, want := range map[string][]string{
		strings.Repeat("fine ", 10) + "\xff\x00": {"fine \uFFFD\uFFFD", "2 bytes of the output are no text", "/tmp/out.txt"},
		"\x7fELF\x02\x00\x00\x00\x00\xff":        {"[binary output, 10 bytes]", "10 bytes of the output are no text", "/tmp/out.txt"},
	} {
		s := &shelf{}
		got := shown(t, s, tool.Limits{}, chat.Text(given))
		expect(t, got, chat.CodeOK, want...)
		if len(s.kept) != 1 || s.kept[0] != given {
			t.Errorf("kept %q, want it as it was", s.kept)
		}
	}
	if got := shown(t, nil, tool.Limits{}, chat.Text("a \uFFFD is a character")); text(got) != "a \uFFFD is a character" {
		t.Errorf("got %q", text(got))
	}
}

func TestT5AResultThatIsLongAndNoTextIsKeptOnce(t *testing.T) {
	s := &shelf{}
	got := shown(t, s, tool.Limits{Output: 100}, chat.Text(numbered(100)+"\xff"))
	expect(t, got, chat.CodeOK, "left out here", "1 bytes of the output are no text")
	if len(s.kept) != 1 {
		t.Errorf("kept %d times", len(s.kept))
	}
}

func TestT5WhatIsNotKeptIsSaidToBeLost(t *testing.T) {
	for _, s := range []*shelf{nil, {err: errors.New("disk full")}} {
		got := shown(t, s, tool.Limits{Output: 10}, chat.Text(numbered(10)))
		expect(t, got, chat.CodeOK, "not kept")
		if got.Result.Whole != nil {
			t.Errorf("the result names %v", got.Result.Whole)
		}
	}
}

func TestT5APictureThatIsTooBigIsLeftOut(t *testing.T) {
	s := &shelf{}
	got := shown(t, s, tool.Limits{Part: 3}, chat.Image("image/png", []byte{1, 2, 3}), chat.Image("image/png", []byte{1, 2, 3, 4}))
	expect(t, got, chat.CodeOK, "image/png", "4 bytes", "/tmp/out.txt")
	if got.Result.Parts[0].Kind != chat.PartImage || len(s.kept) != 1 {
		t.Errorf("got %+v, kept %d", got.Result.Parts, len(s.kept))
	}
}

func TestT5AStoppedCallsOutputIsKeptToo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p := newPlace(t, saying("go", func(context.Context) (tool.Answer, error) { stop(); return tool.Text(numbered(100)), nil }))
	s := &shelf{}
	j := p.job("go", "")
	j.Keep, j.Limits.Output = s.keep, 50
	expect(t, tool.Execute(ctx, j), chat.CodeOK, "/tmp/out.txt")
}

func FuzzFit(f *testing.F) {
	f.Add("a\nb\x00\xff日", "tail", 3)
	f.Add(numbered(50), "", 30)
	f.Fuzz(func(t *testing.T, a, b string, most int) {
		if most <= 0 || most > 1<<16 {
			return
		}
		s := &shelf{}
		got := shown(t, s, tool.Limits{Output: most}, chat.Text(a), chat.Text(b)) // checks that it can be shown
		if got.Result.Code != chat.CodeOK || strings.Contains(text(got), "\x00") {
			t.Errorf("got %q: %q", got.Result.Code, text(got))
		}
		if len(s.kept) > 1 {
			t.Errorf("kept %d times", len(s.kept))
		}
	})
}
