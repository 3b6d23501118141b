package tool

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// settle makes the answer fit to be shown and stored, and the result of it.
func (c *call) settle(ctx context.Context, a Answer, out *session.Resulted) {
	f := fitting{call: c, ctx: ctx}
	parts, code := f.fit(a.Parts), a.Code
	if len(parts) == 0 {
		parts = []chat.Part{chat.Text(silence(code))}
	}
	if err := chat.ValidateParts(parts); err != nil {
		code = chat.CodeError
		parts = []chat.Part{chat.Text(fmt.Sprintf("the tool %s is broken: what it answered can't be shown (%v). It ran", c.Call.Name, err))}
	}
	out.Result.Parts, out.Result.Code, out.Result.Whole = parts, code, f.whole
	out.Concludes = a.Concludes && code == chat.CodeOK
	out.Spent = a.Spent
}

// silence is what the model is told where a tool says nothing.
func silence(c chat.Code) string {
	if c == chat.CodeOK {
		return "(no output)"
	}
	return "it failed and doesn't say how"
}

// fitting makes parts fit to be shown.
type fitting struct {
	call  *call
	ctx   context.Context //nolint:containedctx // lives as long as one call of settle
	whole *chat.Blob      // the texts as they were, if that was kept
	where string          // they are, for the model; empty: not looked for yet
}

// fit returns the parts themselves if nothing is to be done.
func (f *fitting) fit(parts []chat.Part) []chat.Part {
	size, fits := 0, true
	for i := range parts {
		p := &parts[i]
		if p.Kind == chat.PartText {
			size += len(p.Text)
			fits = fits && p.Text != "" && plain(p.Text)
			continue
		}
		fits = fits && int64(len(p.Data)) <= f.call.limits.Part
	}
	if fits && size <= f.call.limits.Output {
		return parts
	}
	return f.made(parts)
}

func (f *fitting) made(parts []chat.Part) []chat.Part {
	raw := chat.PlainText(parts)
	var out []chat.Part
	hidden, size := 0, 0
	for _, p := range parts {
		switch {
		case p.Kind != chat.PartText:
			p = f.bounded(p)
		case p.Text == "":
			continue
		case !plain(p.Text):
			var n int
			p.Text, n = legible(p.Text)
			hidden += n
		}
		size += len(p.Text)
		out = append(out, p)
	}
	if size > f.call.limits.Output {
		out = f.cut(out, raw, f.call.limits.Output)
	}
	if hidden > 0 {
		out = append(out, chat.Text(fmt.Sprintf("[%d bytes of the output are no text and not shown; %s]", hidden, f.kept(raw))))
	}
	return out
}

// plain says whether s can be shown and stored as it is.
func plain(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// legible shows what can be shown of s; n bytes can't. What is mostly no text
// is not shown at all.
func legible(s string) (shown string, n int) {
	for i, r := range s {
		if r == 0 {
			n++
		} else if r == utf8.RuneError {
			if _, width := utf8.DecodeRuneInString(s[i:]); width == 1 {
				n++
			}
		}
	}
	if n > len(s)/10 {
		return fmt.Sprintf("[binary output, %d bytes]", len(s)), len(s)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD"), n
}

// bounded leaves out a picture or file that is too big.
func (f *fitting) bounded(p chat.Part) chat.Part {
	if int64(len(p.Data)) <= f.call.limits.Part {
		return p
	}
	_, where := f.keep(p.Data)
	return chat.Text(fmt.Sprintf("[a part of type %s and %d bytes is too big to be shown; %s]", p.Media, len(p.Data), where))
}

// cut leaves out the middle of the texts, so that most bytes of them remain. A
// line says what is missing.
func (f *fitting) cut(parts []chat.Part, raw string, most int) []chat.Part {
	var out []chat.Part
	gap := -1 // where in out the line goes
	bytes, lines, pos := 0, 0, 0
	head, tail := most/2, textSize(parts)-(most-most/2)
	for _, p := range parts {
		if p.Kind != chat.PartText {
			out = append(out, p)
			continue
		}
		from, to := lastBreak(p.Text, head-pos), firstBreak(p.Text, tail-pos)
		pos += len(p.Text)
		if from >= to {
			out = append(out, p)
			continue
		}
		bytes += to - from
		lines += strings.Count(p.Text[from:to], "\n")
		if from > 0 {
			out = append(out, chat.Text(p.Text[:from]))
		}
		if gap < 0 {
			gap = len(out)
			out = append(out, chat.Part{})
		}
		if to < len(p.Text) {
			out = append(out, chat.Text(p.Text[to:]))
		}
	}
	out[gap] = chat.Text(fmt.Sprintf("[… %d bytes in %d lines are left out here; %s …]", bytes, lines, f.kept(raw)))
	return out
}

func textSize(parts []chat.Part) int {
	n := 0
	for _, p := range parts {
		if p.Kind == chat.PartText {
			n += len(p.Text)
		}
	}
	return n
}

// lastBreak is the last place in s, up to i, where a line begins; if that is
// far, where a character does.
func lastBreak(s string, i int) int {
	if i <= 0 || i >= len(s) {
		return min(max(i, 0), len(s))
	}
	if line := strings.LastIndexByte(s[:i], '\n') + 1; line > i-i/4 {
		return line
	}
	return runeStart(s, i)
}

// firstBreak is the first such place from i on.
func firstBreak(s string, i int) int {
	if i <= 0 || i >= len(s) {
		return min(max(i, 0), len(s))
	}
	if line := strings.IndexByte(s[i:], '\n') + 1; line > 0 && line < (len(s)-i)/4 {
		return i + line
	}
	return runeEnd(s, i)
}

// kept keeps the texts as they were, once, and says where they are.
func (f *fitting) kept(raw string) string {
	if f.where == "" {
		f.whole, f.where = f.keep([]byte(raw))
	}
	return f.where
}

// keep keeps data even if the call was stopped.
func (f *fitting) keep(data []byte) (*chat.Blob, string) {
	const lost = "what is missing was not kept"
	c := f.call
	if c.Keep == nil {
		return nil, lost
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(f.ctx), c.limits.Grace)
	defer end()
	k, err := c.Keep(ctx, data)
	switch {
	case err != nil:
		c.Scope.Log().WarnContext(ctx, "the whole output of a call was not kept", "tool", c.Call.Name, "call", c.Call.ID, "error", err)
		return nil, lost
	case k.Path == "":
		return &k.Blob, "the whole is kept, but in no file"
	default:
		return &k.Blob, "the whole is in " + k.Path
	}
}
