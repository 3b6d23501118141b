package react

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// line is a command: its verb and the words after it that nobody has taken yet.
type line struct {
	verb  string
	words []string
}

func parseLine(text string) line {
	words := splitWords(text)
	if len(words) == 0 {
		return line{}
	}
	return line{verb: words[0], words: words[1:]}
}

// splitWords splits at spaces outside quotes, brackets and braces, and takes off the
// quotes. A ; that ends a word is a word.
func splitWords(text string) []string {
	var words []string
	var word strings.Builder
	quoted, depth, begun := false, 0, false
	finish := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range text {
		switch {
		case r == '"' && depth == 0:
			quoted, begun = !quoted, true
			continue
		case quoted:
		case r == '(' || r == '{':
			depth++
		case r == ')' || r == '}':
			depth--
		case r == ' ' && depth == 0:
			finish()
			continue
		case r == ';' && depth == 0:
			finish()
			words = append(words, ";")
			continue
		}
		word.WriteRune(r)
		begun = true
	}
	finish()
	return words
}

// rest is the line that follows the verb.
func (l *line) rest() line {
	if len(l.words) == 0 {
		return line{}
	}
	return line{verb: l.words[0], words: l.words[1:]}
}

// clauses are the parts between the semicolons.
func (l *line) clauses() []line {
	var out []line
	words := l.words
	for len(words) > 0 {
		end := slices.Index(words, ";")
		if end < 0 {
			end = len(words)
		}
		if end > 0 {
			out = append(out, line{verb: words[0], words: slices.Clone(words[1:end])})
		}
		words = words[min(end+1, len(words)):]
	}
	return out
}

// word takes the next word that is no option.
func (l *line) word(s *story) string {
	if len(l.words) == 0 {
		s.wrong("%s: a word is missing", l.verb)
	}
	w := l.words[0]
	l.words = l.words[1:]
	return w
}

// index takes the next word as a number.
func (l *line) index(s *story) int {
	n, err := strconv.Atoi(l.word(s))
	if err != nil {
		s.wrong("%s: %v", l.verb, err)
	}
	return n
}

// text takes all words that are left.
func (l *line) text() string {
	text := strings.Join(l.words, " ")
	l.words = nil
	return text
}

// flag takes the word, wherever it stands, and says whether it was there.
func (l *line) flag(word string) bool {
	at := slices.Index(l.words, word)
	if at >= 0 {
		l.words = slices.Concat(l.words[:at], l.words[at+1:])
	}
	return at >= 0
}

// option takes key=value, wherever it stands.
func (l *line) option(key string) (value string, given bool) {
	for i, w := range l.words {
		if v, found := strings.CutPrefix(w, key+"="); found {
			l.words = slices.Concat(l.words[:i], l.words[i+1:])
			return v, true
		}
	}
	return "", false
}

func (l *line) number(key string) (n int, given bool) {
	v, given := l.option(key)
	if !given {
		return 0, false
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		panic(l.verb + ": " + key + ": " + err.Error())
	}
	return n, true
}

// count is the number of an option; 0 if it isn't given.
func (l *line) count(key string) int {
	n, _ := l.number(key)
	return n
}

// cause is the cause that is given, or else the owed one.
func (l *line) cause(owed session.Seq) session.Seq {
	if n, given := l.number("cause"); given {
		return session.Seq(n)
	}
	return owed
}

// answer is the answer whose calls are meant: the last one if none is given.
func (l *line) answer(s *story) session.Seq {
	if n, given := l.number("answer"); given {
		return session.Seq(n)
	}
	return s.machine.Turn.Answer
}

// source is from=kind:name; people by default.
func (l *line) source() chat.Source {
	from, given := l.option("from")
	if !given {
		return chat.User()
	}
	kind, name, _ := strings.Cut(from, ":")
	return chat.Source{Kind: chat.SourceKind(kind), Name: name}
}

// speaker takes a hook's name, its colon, and what it says.
func (l *line) speaker(s *story) (hook, text string) {
	return strings.TrimSuffix(l.word(s), ":"), l.text()
}

// parts is the text that is left, or as many bytes as size says.
func (l *line) parts() []chat.Part {
	if n, given := l.number("size"); given {
		return []chat.Part{chat.Text(strings.Repeat("x", n))}
	}
	return []chat.Part{chat.Text(l.text())}
}

// added is a message of a hook's own.
func (l *line) added(s *story) chat.Message {
	id := l.word(s)
	return chat.Say(l.text()).As(id).From(chat.Plugin("hook"))
}

// replaced takes a range of facts and what stands in its place.
func (l *line) replaced(s *story) session.Replaced {
	from, to, _ := strings.Cut(l.word(s), "-")
	first, _ := strconv.Atoi(from)
	last, _ := strconv.Atoi(to)
	f := session.Replaced{From: session.Seq(first), To: session.Seq(last)}
	f.Spent.Tokens = int64(l.count("tokens"))
	if text := l.text(); text != "" {
		f.Messages = []chat.Message{chat.Say(text).As("summary").From(chat.Plugin("hook"))}
	}
	return f
}

// settings takes what configure sets.
func (l *line) settings(s *story) session.Configured {
	var f session.Configured
	f.Model, _ = l.option("model")
	f.Mode, _ = l.option("mode")
	f.Budget.Turn = l.limit("turn")
	f.Budget.Session = l.limit("session")
	f.Budget.Tree = l.limit("tree")
	if wall, given := l.option("turn.wall"); given {
		d, err := time.ParseDuration(wall)
		if err != nil {
			s.wrong("%v", err)
		}
		f.Budget.Turn.Wall = d
	}
	if len(l.words) > 0 {
		s.wrong("no such setting: %s", l.text())
	}
	return f
}

func (l *line) limit(of string) session.Limit {
	return session.Limit{Spent: session.Spent{
		Steps: l.count(of + ".steps"), Tokens: int64(l.count(of + ".tokens")), Cost: int64(l.count(of + ".cost")),
	}}
}
