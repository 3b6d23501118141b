package react

import (
	"fmt"
	"strings"

	"github.com/tack-agent/tack/session"
)

// looks are the commands that change nothing the machine knows.
var looks = map[string]func(*story, line){
	"hooks":      func(s *story, l line) { s.asked = l.word(s) == "asked" },
	"limits":     setLimits,
	"inbox":      func(s *story, _ line) { s.say(s.inbox()...) },
	"transcript": func(s *story, _ line) { s.say(s.transcript()...) },
}

func setLimits(s *story, l line) {
	if len(s.log) > 0 {
		s.wrong("limits come first")
	}
	s.limits = Limits{
		Injects: Room{Count: l.count("injects"), Bytes: int64(l.count("injects.bytes"))},
		Waking:  Room{Count: l.count("waking"), Bytes: int64(l.count("waking.bytes"))},
		Message: int64(l.count("message")), Attempts: l.count("attempts"), Beside: l.count("beside"),
	}
	if len(l.words) > 0 {
		s.wrong("no such limit: %s", l.text())
	}
	s.machine = newMachine(s.limits)
}

// inbox shows what waits, in order, and the questions of open calls.
func (s *story) inbox() []string {
	b := &s.machine.talk.Inbox
	var out []string
	for _, p := range b.Pending() {
		out = append(out, phrase("waits", p.Verb, p.ID, fromText(p.Source), partsText(p.Message.Parts),
			named("parked", string(p.Parked)), when(p.Struck, "struck")))
	}
	for _, q := range b.Questions() {
		out = append(out, phrase("asked", askedText(q), "for", callName(q.Answer, q.Index)))
	}
	if out == nil {
		return []string{"waits nothing"}
	}
	return out
}

// transcript shows what a request would be built from.
func (s *story) transcript() []string {
	out := []string{}
	for _, it := range s.machine.talk.Transcript.Items() {
		switch {
		case it.Message != nil:
			out = append(out, phrase("shows", it.Message.ID, partsText(it.Message.Parts)))
		case it.Answer != nil:
			out = append(out, phrase("shows answer", answerText(*it.Answer, nil)))
		case it.Result != nil:
			out = append(out, phrase("shows result of", it.Result.Name, it.Result.Code, partsText(it.Result.Parts)))
		}
	}
	if len(out) == 0 {
		return []string{"shows nothing"}
	}
	return out
}

// owes lists the work there is now.
func (s *story) owes() []string {
	w := s.machine.owed()
	var out []string
	owe := func(cause session.Seq, parts ...string) {
		if cause != 0 {
			out = append(out, clauses(append(parts, fmt.Sprintf("cause %d", cause))...))
		}
	}
	if c := w.consult; c.cause != 0 {
		owe(c.cause, phrase("owes hooks", stepName(c.turn, c.step), "on", batchText(c.batch)),
			when(c.results, "results owed"), when(c.maintained, "history replaced"))
	}
	if a := w.ask; a.cause != 0 {
		owe(a.cause, phrase("owes ask", stepName(a.turn, a.step)),
			when(a.attempt > 1, fmt.Sprintf("attempt %d", a.attempt)), phrase(named("model", a.settings.Model), named("mode", a.settings.Mode)))
	}
	for _, c := range w.calls {
		out = append(out, callText(c))
	}
	if w.wait.cause != 0 {
		owe(w.wait.cause, "owes wait until "+s.since(w.wait.until))
	}
	if w.end.cause != 0 {
		owe(w.end.cause, phrase("owes stopping hooks of turn", w.end.turn))
	}
	owe(w.halt.cause, haltText(w.halt)...)
	if w.alarm.cause != 0 {
		owe(w.alarm.cause, "owes alarm at "+s.since(w.alarm.until))
	}
	if out == nil {
		return []string{"owes nothing"}
	}
	return out
}

func batchText(batch []*session.Pending) string {
	if len(batch) == 0 {
		return "nothing"
	}
	var ids []string
	for _, p := range batch {
		ids = append(ids, p.ID)
	}
	return strings.Join(ids, " ")
}

func callText(c calling) string {
	asked := ""
	for _, q := range c.questions {
		asked = phrase(asked, askedText(q))
	}
	return clauses(phrase("owes call", callName(c.answer, c.index), c.call.Name+"("+c.call.Arguments+")", when(c.started, "started")), asked)
}

func haltText(h halting) []string {
	out := "owes halt"
	if h.ask != 0 {
		out = fmt.Sprintf("owes halt of ask %d", h.ask)
	}
	if len(h.calls) > 0 {
		out = "owes halt of calls"
	}
	for _, c := range h.calls {
		out = phrase(out, callName(c.answer, c.index)+when(c.started, "(started)"))
	}
	return []string{out}
}

// askedText is a question's id and what was said to it.
func askedText(q *session.Asked) string {
	switch {
	case q.Reply == nil:
		return q.ID + " open"
	case q.Reply.Text != "":
		return phrase(q.ID, "answered", quoted(q.Reply.Text))
	case q.Reply.Allow:
		return q.ID + " allowed"
	default:
		return q.ID + " denied"
	}
}
