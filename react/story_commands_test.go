package react

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// inputs makes the input of each command that is one.
var inputs = map[string]func(*story, line) input{
	"followup":  deliverAs(session.Followup),
	"steer":     deliverAs(session.Steer),
	"inject":    deliverAs(session.Inject),
	"cancel":    cancelOf,
	"resume":    func(*story, line) input { return resume{} },
	"withdraw":  func(s *story, l line) input { return withdraw{id: l.word(s)} },
	"amend":     func(s *story, l line) input { return amend{id: l.word(s), parts: l.parts()} },
	"reply":     replyOf,
	"note":      noteOf,
	"configure": func(s *story, l line) input { return configure{fact: l.settings(s)} },
	"replace":   func(s *story, l line) input { return replace{fact: l.replaced(s)} },
	"spawn": func(s *story, l line) input {
		return spawn{child: session.ID(l.word(s)), detached: l.flag("detached")}
	},
	"begin": func(s *story, l line) input {
		parent := session.ID(l.word(s))
		return begin{fact: session.Parent{Session: parent, Turn: l.index(s), Detached: l.flag("detached")}}
	},
	"reopen":   func(s *story, l line) input { return reopen{mode: session.OpenMode(l.word(s))} },
	"consult":  consultedBy,
	"maintain": func(s *story, l line) input { return maintained{cause: l.cause(s.consulting()), fact: l.replaced(s)} },
	"answer":   answerOf,
	"fail":     failureOf,
	"dropped":  func(s *story, l line) input { return dropped{cause: l.cause(s.asking())} },
	"started": func(s *story, l line) input {
		answer := l.answer(s)
		i := l.index(s)
		return started{fact: session.CallStarted{Answer: answer, Index: i, Arguments: s.call(i).Arguments}}
	},
	"result":   resultOf,
	"question": questionOf,
	"end":      func(s *story, l line) input { return ended{cause: l.cause(s.machine.owed().end.cause)} },
	"object":   objectionsOf,
}

func deliverAs(v session.Verb) func(*story, line) input {
	return func(s *story, l line) input {
		msg := chat.Say("").As(l.word(s)).From(l.source())
		msg.Parts = l.parts()
		if err := msg.Validate(); err != nil {
			s.wrong("%v", err)
		}
		return deliver{verb: v, message: msg, digest: msg.Digest()}
	}
}

func cancelOf(_ *story, l line) input {
	c := cancel{cause: session.CauseUser}
	if len(l.words) > 0 && session.Cause(l.words[0]).Valid() {
		c.cause = session.Cause(l.words[0])
		l.words = l.words[1:]
	}
	c.keep = l.flag("keep")
	c.reason = l.text()
	return c
}

func replyOf(s *story, l line) input {
	f := session.Reply{ID: l.word(s), By: l.source()}
	f.Allow = l.flag("allow")
	l.flag("deny")
	f.Text = l.text()
	return reply{fact: f}
}

func noteOf(s *story, l line) input {
	return note{fact: session.Noted{Kind: l.word(s), Version: 1, Data: json.RawMessage(l.text())}}
}

// consultedBy lets in what no clause speaks of.
func consultedBy(s *story, l line) input {
	owed := s.machine.owed().consult
	in := consulted{cause: l.cause(owed.cause), rulings: enterAll(owed)}
	for _, clause := range l.clauses() {
		s.rule(&in, clause)
	}
	return in
}

// rule adds one clause of what the hooks decide.
func (s *story) rule(in *consulted, l line) {
	switch l.verb {
	case "", "enter":
	case "refuse", "take":
		r := in.ruling(l.word(s))
		r.what = map[string]verdict{"refuse": refuse, "take": take}[l.verb]
		r.hook, r.reason = l.speaker(s)
	case "rewrite":
		in.ruling(l.word(s)).parts = []chat.Part{chat.Text(l.text())}
	case "omit":
		id := l.word(s)
		in.rulings = slices.DeleteFunc(in.rulings, func(r ruling) bool { return r.id == id })
	case "before":
		in.before = append(in.before, l.added(s))
	case "after":
		in.after = append(in.after, l.added(s))
	case "header":
		in.header = s.header(l.word(s))
	case "stop":
		hook, reason := l.speaker(s)
		in.stop = &stop{hook: hook, reason: reason}
	case "broken":
		hook, text := l.speaker(s)
		in.failure = &session.Failure{Kind: "hook", Hook: hook, Text: text}
	default:
		s.wrong("hooks can't %s", l.verb)
	}
}

// ruling is the ruling on a message; one on a message outside the batch is new.
func (in *consulted) ruling(id string) *ruling {
	for i := range in.rulings {
		if in.rulings[i].id == id {
			return &in.rulings[i]
		}
	}
	in.rulings = append(in.rulings, ruling{id: id})
	return &in.rulings[len(in.rulings)-1]
}

// header is the header that a story calls name.
func (s *story) header(name string) *session.Header {
	system := chat.BlobOf([]byte(name))
	s.headers[system.Digest] = name
	return &session.Header{System: system}
}

func answerOf(s *story, l line) input {
	in := answered{cause: l.cause(s.asking())}
	in.cost = int64(l.count("cost"))
	in.answer.Usage.Output = int64(l.count("tokens"))
	in.answer.Finish = chat.FinishStop
	for _, w := range l.words {
		in.add(w)
	}
	return in
}

// add takes the next word of an answer: a call, or what is said of the last
// call or of the answer; all else is the answer's text.
func (in *answered) add(word string) {
	a := &in.answer
	n := len(in.traits)
	switch name, rest, isCall := strings.Cut(word, "("); {
	case isCall:
		call := &chat.Call{ID: "c" + strconv.Itoa(n), Name: name, Arguments: strings.TrimSuffix(rest, ")")}
		a.Blocks = append(a.Blocks, chat.Block{Kind: chat.BlockCall, Call: call})
		a.Finish = chat.FinishCalls
		in.traits = append(in.traits, session.Trait{})
	case word == "beside":
		in.traits[n-1].Beside = true
	case word == "repeatable":
		in.traits[n-1].Repeatable = true
	case word == string(chat.FinishMaxTokens), word == string(chat.FinishRefused):
		a.Finish = chat.Finish(word)
	case word == "interrupted":
		a.Interrupted, a.Finish = true, ""
	default:
		a.Blocks = append(a.Blocks, chat.Block{Kind: chat.BlockText, Text: word})
	}
}

func failureOf(s *story, l line) input {
	in := failed{cause: l.cause(s.asking()), failure: session.Failure{Kind: l.word(s)}}
	in.again = l.flag("again")
	if at, given := l.option("at"); given {
		d, err := time.ParseDuration(strings.TrimPrefix(at, "+"))
		if err != nil {
			s.wrong("%v", err)
		}
		in.at = s.now.Add(d)
	}
	if l.flag("replace") {
		f := l.replaced(s)
		in.replaced = &f
	}
	return in
}

func resultOf(s *story, l line) input {
	f := session.Resulted{Answer: l.answer(s), Index: l.index(s)}
	code, _ := l.option("code")
	f.Spent.Tokens = int64(l.count("tokens"))
	f.Concludes = l.flag("concludes")
	call := s.call(f.Index)
	f.Result = chat.Result{Call: call.ID, Name: call.Name, Code: chat.Code(code), Parts: []chat.Part{chat.Text(l.text())}}
	return resulted{fact: f}
}

func questionOf(s *story, l line) input {
	f := session.Question{ID: l.word(s), Kind: session.QuestionText, Answer: l.answer(s), Index: l.index(s)}
	for _, k := range []session.QuestionKind{session.QuestionApproval, session.QuestionPlan, session.QuestionElicitation} {
		if l.flag(string(k)) {
			f.Kind = k
			f.Arguments = s.call(f.Index).Arguments
		}
	}
	f.Text = l.text()
	return pose{fact: f}
}

func objectionsOf(s *story, l line) input {
	in := ended{cause: l.cause(s.machine.owed().end.cause)}
	for _, clause := range l.clauses() {
		id := clause.verb
		in.objections = append(in.objections, chat.Say(clause.text()).As(id).From(chat.Plugin("stopping")))
	}
	return in
}

// asking is the cause of the request that is owed or being halted.
func (s *story) asking() session.Seq {
	w := s.machine.owed()
	return max(w.ask.cause, w.halt.ask)
}

func (s *story) consulting() session.Seq { return s.machine.owed().consult.cause }

// call is the index-th call of the last answer.
func (s *story) call(index int) chat.Call {
	answer := s.machine.talk.Transcript.LastAnswer()
	if answer == nil || index >= len(answer.Calls()) {
		return chat.Call{ID: "c" + strconv.Itoa(index), Name: "gone"}
	}
	return answer.Calls()[index]
}
