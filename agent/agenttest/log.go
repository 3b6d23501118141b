package agenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// log is all that is in the session.
func (c *trial) log() []session.Event {
	c.Helper()
	var log []session.Event
	for e, err := range session.Events(context.Background(), c.store, theSession, 0) {
		if err != nil {
			c.Fatalf("read the log: %v", err)
		}
		log = append(log, e)
	}
	return log
}

// last is the last fact of a type; the zero one if there is none.
func last[F session.Fact](c *trial) (F, session.Seq) {
	log := c.log()
	for i := len(log) - 1; i >= 0; i-- {
		if f, is := log[i].Fact.(F); is {
			return f, log[i].Seq
		}
	}
	var none F
	return none, 0
}

// every lists the facts of a type.
func every[F session.Fact](c *trial) []F {
	var out []F
	for _, e := range c.log() {
		if f, is := e.Fact.(F); is {
			out = append(out, f)
		}
	}
	return out
}

// state is what a log comes to.
type state struct {
	talk session.Conversation
	turn int // open; 0: none
	err  error
}

func fold(log []session.Event) *state {
	s := &state{}
	for _, e := range log {
		s.apply(e)
	}
	return s
}

func (s *state) apply(e session.Event) {
	if err := s.talk.Apply(e); err != nil && s.err == nil {
		s.err = err
	}
	switch f := e.Fact.(type) {
	case session.TurnStarted:
		s.turn = f.Turn
	case session.TurnEnded:
		s.turn = 0
	}
}

// shown is the transcript as a model is shown it.
func (s *state) shown() []Shown {
	var out []Shown
	for _, it := range s.talk.Transcript.Items() {
		out = append(out, Shown{Message: it.Message, Answer: it.Answer, Result: it.Result})
	}
	return out
}

// render says in a line each what a model is shown.
func render(shown []Shown) []string {
	lines := make([]string, len(shown))
	for i, s := range shown {
		lines[i] = s.String()
	}
	return lines
}

// String is what is shown in a line, without what the model only thought.
func (s Shown) String() string {
	switch {
	case s.Message != nil:
		return who(*s.Message) + ": " + what(s.Message.Parts)
	case s.Answer != nil:
		line := "model: " + s.Answer.Text()
		for _, call := range s.Answer.Calls() {
			line += "→" + call.Name
		}
		if s.Answer.Interrupted {
			line += " (interrupted)"
		}
		return line
	case s.Result != nil && s.Result.Code != chat.CodeOK:
		return s.Result.Name + " (" + string(s.Result.Code) + ")"
	case s.Result != nil:
		return s.Result.Name + ": " + what(s.Result.Parts)
	default:
		return "nothing"
	}
}

func who(m chat.Message) string {
	line := strings.TrimSpace(string(m.Source.Kind) + " " + m.Source.Name)
	if m.Role != chat.RoleUser {
		line += " (" + string(m.Role) + ")"
	}
	return line
}

func what(parts []chat.Part) string {
	var words []string
	for _, p := range parts {
		switch {
		case p.Kind != chat.PartText:
			words = append(words, fmt.Sprintf("<%s of %d bytes>", p.Kind, p.Size()))
		case len(p.Text) > 60:
			words = append(words, fmt.Sprintf("%s… (%d bytes)", p.Text[:20], len(p.Text)))
		default:
			words = append(words, p.Text)
		}
	}
	return strings.Join(words, " ")
}

// facts says what events say, in a line each.
func facts(log []session.Event) []string {
	lines := make([]string, len(log))
	for i, e := range log {
		data, _ := json.Marshal(e.Fact)
		if len(data) > 160 {
			data = append(data[:160:160], "…"...)
		}
		lines[i] = fmt.Sprintf("%d %s %s", e.Seq, e.Fact.Type(), data)
	}
	return lines
}

// broken says that the clause is, and stops the case.
func (c *trial) broken(format string, args ...any) {
	c.Helper()
	c.brokenAs(c.clause, format, args...)
}

// brokenAs says that a clause is broken, and stops the case.
func (c *trial) brokenAs(cl clause, format string, args ...any) {
	c.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s is broken: %s\n%s\n", cl.id, cl.promise, fmt.Sprintf(format, args...))
	b.WriteString("the model was shown")
	c.model.mu.Lock()
	for i, s := range c.model.shown {
		lines := render(s)
		if n := len(lines); n > 12 {
			lines = append([]string{fmt.Sprintf("%d more", n-12)}, lines[n-12:]...)
		}
		if i >= len(c.model.shown)-8 {
			fmt.Fprintf(&b, "\n  %d %s", i+1, list(lines))
		}
	}
	if len(c.model.shown) == 0 {
		b.WriteString(" nothing")
	}
	c.model.mu.Unlock()
	log := facts(c.log())
	b.WriteString("\nthe log ends")
	for _, line := range log[max(0, len(log)-25):] {
		b.WriteString("\n  " + line)
	}
	c.Fatal(b.String())
}

// leftovers lists the goroutines of the case's bubble but its own.
func leftovers() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	stacks := strings.Split(string(bytes.TrimSpace(buf)), "\n\n")
	own, _, _ := strings.Cut(stacks[0], "\n")
	_, bubble, found := strings.Cut(own, "synctest bubble ")
	if !found {
		return ""
	}
	bubble = "synctest bubble " + bubble
	var left []string
	for _, stack := range stacks[1:] {
		head, _, _ := strings.Cut(stack, "\n")
		if strings.HasSuffix(head, bubble) && !strings.Contains(head, "[synctest.Run") && !strings.Contains(stack, "synctest.testingSynctestTest") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
