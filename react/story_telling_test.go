package react

import (
	"fmt"
	"strings"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// tell says what was appended, and then what the caller is told.
func (s *story) tell(in input, events []session.Event, out outcome) {
	for i, e := range events {
		mark := " "
		if i > 0 {
			mark = "+"
		}
		s.say(fmt.Sprintf("%s%d %s", mark, e.Seq, s.fact(e.Fact)))
	}
	told := s.told(in, out)
	if told == "" && len(events) == 0 {
		told = "nothing new"
	}
	if told != "" {
		s.say(told)
	}
}

func (s *story) told(in input, out outcome) string {
	switch in.(type) {
	case deliver:
		if out.err == nil {
			return phrase("told", out.receipt.ID, "at", out.receipt.Seq, when(out.receipt.Replayed, "(replayed)"))
		}
	case cancel:
		told := "told no turn stopped"
		if out.stopped.Turn != 0 {
			told = fmt.Sprintf("told turn %d stopped", out.stopped.Turn)
		}
		return clauses(told, listed("clears", out.stopped.Cleared), listed("keeps", out.stopped.Kept))
	}
	switch {
	case out.err != nil:
		return "told " + out.err.Error()
	case out.absent:
		return "told not pending, its fate is in the log"
	case out.stale:
		return "told stale"
	default:
		return ""
	}
}

// fact is one event as a line: its type, and what matters of it.
func (s *story) fact(f session.Fact) string {
	switch f := f.(type) {
	case session.Accepted:
		return phrase(f.Type(), f.Verb, f.Message.ID, fromText(f.Message.Source), partsText(f.Message.Parts))
	case session.Entered:
		return phrase(f.Type(), stepName(f.Turn, f.Step), fmt.Sprintf("due=%d:", f.Due), s.entriesText(f.Messages))
	case session.Refused:
		return phrase(f.Type(), f.ID, spoken(f.Hook, f.Reason))
	case session.Taken:
		return phrase(f.Type(), f.ID, spoken(f.Hook, f.Reason))
	case session.Withdrawn:
		return phrase(f.Type(), f.ID)
	case session.Amended:
		return phrase(f.Type(), f.ID, partsText(f.Parts))
	case session.Cancelled:
		return cancelledLine(f)
	case session.Parked:
		return parkedLine(f)
	case session.Released:
		return phrase(f.Type(), "by", f.By)
	default:
		return s.turnFact(f)
	}
}

func (s *story) turnFact(f session.Fact) string {
	switch f := f.(type) {
	case session.TurnStarted:
		return phrase(f.Type(), f.Turn)
	case session.Halted:
		return clauses(phrase(f.Type(), f.Turn, f.Reason, failureText(f.Failure), quoted(f.Detail)), listed("closes", f.Closed))
	case session.TurnEnded:
		return clauses(phrase(f.Type(), f.Turn, f.Reason, bracket(f.Cause), failureText(f.Failure), quoted(f.Detail)), listed("strikes", f.Struck))
	case session.Header:
		return phrase(f.Type(), s.headers[f.System.Digest])
	case session.Until:
		return phrase(f.Type(), s.since(f.At), "for", stepName(f.Turn, f.Step), "after", failureText(f.Failure))
	case session.Attempt:
		return phrase(f.Type(), f.Number, "at", stepName(f.Turn, f.Step), prefixed("after", failureText(f.Failure)))
	case session.Reopened:
		return reopenedLine(f)
	case session.Answered:
		return answeredLine(f)
	case session.CallStarted:
		return phrase(f.Type(), callName(f.Answer, f.Index), "("+f.Arguments+")")
	case session.Resulted:
		return resultLine(f)
	case session.Question:
		return phrase(f.Type(), f.ID, "for", callName(f.Answer, f.Index), f.Kind, quoted(f.Text))
	case session.Reply:
		return phrase(f.Type(), f.ID, fromText(f.By), when(f.Allow, "allow"), when(!f.Allow && f.Text == "", "deny"), quoted(f.Text))
	default:
		return s.otherFact(f)
	}
}

func (s *story) otherFact(f session.Fact) string {
	switch f := f.(type) {
	case session.Replaced:
		return phrase(f.Type(), fmt.Sprintf("%d-%d by", f.From, f.To), messagesText(f.Messages), counted("tokens", f.Spent.Tokens))
	case session.Configured:
		return phrase(f.Type(), settingsText(f))
	case session.Spawned:
		return phrase(f.Type(), f.Child, "in turn", f.Turn, when(f.Detached, "detached"))
	case session.Parent:
		return phrase(f.Type(), f.Session, "in turn", f.Turn, when(f.Detached, "detached"))
	case session.Noted:
		return phrase(f.Type(), string(f.Data))
	default:
		s.wrong("no words for a fact of type %s", f.Type())
		return ""
	}
}

// entriesText lists what enters; @ is the fact that amended a message.
func (s *story) entriesText(list []session.Entry) string {
	if len(list) == 0 {
		return "nobody"
	}
	var out []string
	for _, e := range list {
		switch {
		case e.Added != nil:
			out = append(out, phrase("+"+e.ID, partsText(e.Added.Parts)))
		case e.Parts != nil:
			out = append(out, phrase(s.entryName(e), "as", partsText(e.Parts)))
		default:
			out = append(out, s.entryName(e))
		}
	}
	return strings.Join(out, ", ")
}

func (s *story) entryName(e session.Entry) string {
	if e.From == 0 || int(e.From) > len(s.log) {
		return fmt.Sprintf("%s@%d?", e.ID, e.From)
	}
	if _, first := s.log[e.From-1].Fact.(session.Accepted); first {
		return e.ID
	}
	return fmt.Sprintf("%s@%d", e.ID, e.From)
}

func cancelledLine(f session.Cancelled) string {
	turn := "no turn"
	if f.Turn != 0 {
		turn = fmt.Sprintf("turn %d", f.Turn)
	}
	var children []string
	for _, c := range f.Children {
		children = append(children, string(c))
	}
	return clauses(phrase(f.Type(), turn, bracket(f.Cause), quoted(f.Reason), when(f.KeepInbox, "keep")),
		listed("clears", f.Cleared), listed("keeps", f.Kept), listed("closes", f.Closed), listed("children", children))
}

func parkedLine(f session.Parked) string {
	which := "all that may run"
	if f.IDs != nil {
		which = strings.Join(f.IDs, " ")
	}
	return phrase(f.Type(), f.Reason, prefixed("by", f.Hook)) + ": " + which
}

func reopenedLine(f session.Reopened) string {
	if f.Turn == 0 {
		return phrase(f.Type(), f.Mode, "no turn")
	}
	return phrase(f.Type(), f.Mode, stepName(f.Turn, f.Step), fmt.Sprintf("attempt=%d", f.Attempt))
}

func answeredLine(f session.Answered) string {
	return phrase(f.Type(), stepName(f.Turn, f.Step), fmt.Sprintf("ask=%d", f.Ask), answerText(f.Answer, f.Traits),
		counted("tokens", f.Answer.Usage.Total()), counted("cost", f.Cost))
}

// answerText is an answer with its calls and what their tools say of them.
func answerText(a chat.Answer, traits []session.Trait) string {
	calls := ""
	for i, c := range a.Calls() {
		calls = phrase(calls, c.Name+"("+c.Arguments+")")
		if i < len(traits) {
			calls = phrase(calls, when(traits[i].Beside, "beside"), when(traits[i].Repeatable, "repeatable"))
		}
	}
	finish := ""
	if a.Finish == chat.FinishMaxTokens || a.Finish == chat.FinishRefused {
		finish = string(a.Finish)
	}
	return phrase(quoted(a.Text()), calls, finish, when(a.Interrupted, "interrupted"))
}

func resultLine(f session.Resulted) string {
	return clauses(phrase(f.Type(), callName(f.Answer, f.Index), f.Result.Code, partsText(f.Result.Parts),
		when(f.Concludes, "concludes"), counted("tokens", f.Spent.Tokens)), listed("closes", f.Closed))
}

func messagesText(list []chat.Message) string {
	var out []string
	for _, m := range list {
		out = append(out, phrase(m.ID, partsText(m.Parts)))
	}
	return strings.Join(out, ", ")
}

func settingsText(f session.Configured) string {
	out := phrase(named("model", f.Model), named("mode", f.Mode),
		limitText("turn", f.Budget.Turn), limitText("session", f.Budget.Session), limitText("tree", f.Budget.Tree))
	if out == "" {
		return "defaults"
	}
	return out
}

func limitText(of string, l session.Limit) string {
	wall := ""
	if l.Wall != 0 {
		wall = named(of+".wall", l.Wall.String())
	}
	return phrase(counted(of+".steps", int64(l.Steps)), counted(of+".tokens", l.Tokens), counted(of+".cost", l.Cost), wall)
}

func failureText(f *session.Failure) string {
	if f == nil {
		return ""
	}
	return phrase(f.Kind, spoken(f.Hook, f.Text))
}

// since is a time as the story counts it.
func (s *story) since(at time.Time) string { return "+" + at.Sub(s.began).String() }

func stepName(turn, step int) string { return fmt.Sprintf("%d.%d", turn, step) }

func callName(answer session.Seq, index int) string { return fmt.Sprintf("%d/%d", answer, index) }

func partsText(parts []chat.Part) string {
	text := chat.PlainText(parts)
	if len(text) > 3 && strings.Trim(text, "x") == "" {
		return fmt.Sprintf("(%d bytes)", len(text))
	}
	return quoted(text)
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return `"` + text + `"`
}

func fromText(s chat.Source) string {
	if s == chat.User() {
		return ""
	}
	return "from=" + string(s.Kind) + ":" + s.Name
}

func spoken(hook, text string) string {
	if hook == "" {
		return quoted(text)
	}
	return hook + ": " + quoted(text)
}

func bracket(c session.Cause) string {
	if c == "" {
		return ""
	}
	return "(" + string(c) + ")"
}

func when(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

func named(key, value string) string { return when(value != "", key+"="+value) }

func counted(key string, n int64) string { return when(n != 0, fmt.Sprintf("%s=%d", key, n)) }

func prefixed(word, text string) string { return when(text != "", word+" "+text) }

func listed(word string, ids []string) string {
	return when(len(ids) > 0, word+" "+strings.Join(ids, " "))
}

// phrase joins what isn't empty by spaces.
func phrase(words ...any) string {
	var out []string
	for _, w := range words {
		if text := fmt.Sprint(w); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, " ")
}

// clauses joins what isn't empty by commas.
func clauses(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, ", ")
}
