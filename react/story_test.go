package react

// Stories tell what the machine does, in its own words: testdata/*.txt. A
// story is a heading, comments that say what it shows and which clause of the
// contract that is, and blocks. A block is commands, a line "----", and what
// the machine made of them; a blank line ends it.
//
//	=== a steer while the model thinks
//	# D9: it enters the next step of the running turn.
//
//	followup f1 look around
//	steer s1 only in the garden
//	----
//	 1 accepted followup f1 "look around"
//	+2 turn.started 1
//	told f1 at 1
//	 3 entered 1.1 due=2: f1
//	 4 accepted steer s1 "only in the garden"
//	told s1 at 4
//	owes ask 1.1, cause 3
//
// Each fact is a line that begins with its sequence; a + before it says that
// the fact is in one append with the fact above. 1.2 is turn 1's step 2, 5/0
// the first call of the answer at 5, and f1@6 is f1 as the fact at 6 amended it.
// "told" is what the caller is told, "owes" what the world must do when all
// commands of the block are done. Times are since the story's beginning.
//
// Callers:
//
//	followup|steer|inject id [from=kind:name] [size=bytes] text
//	cancel [cause] [keep] [reason]      resume
//	withdraw id                         amend id [size=bytes] text
//	reply q [allow|deny] [text]         note plugin/fact json
//	configure [model=] [mode=] [turn.|session.|tree. steps=|tokens=|cost=|wall=]
//	replace from-to text                spawn child [detached]
//	begin parent turn [detached]        reopen continue|hold
//
// Answers to what is owed. Their cause is what is owed now; cause=n is another:
//
//	consult [enter id|all] [refuse|take id hook: reason] [rewrite id text]
//	        [before|after id text] [omit id] [header name]
//	        [stop|broken hook: text]    several of them with ; between
//	maintain from-to text
//	answer "text" [name(arguments) [beside] [repeatable]]…
//	       [max-tokens|refused|interrupted] [tokens=] [cost=]
//	fail kind [again] [at=+5s] [replace from-to text]
//	dropped                             elapse +5s
//	started i                           result i [code=] [concludes] [tokens=] text
//	question q i [approval|plan|…] text
//	end                                 object id text, several with ; between
//
// The story itself:
//
//	hooks none|asked   none, at first: consultations let all in and nobody
//	                   objects to an ending, without a command saying so
//	limits key=n       attempts, beside, message, waking, waking.bytes, …
//	inbox, transcript  show what waits, and what the model is shown
//	crash              go on with a machine that was folded from the log
//	undo command       decide it, then take it back as if it could not be stored
//
// Every input is decided twice: once undone, once kept. After each story its
// log is folded anew and must give the same machine, and what the log was after
// each append must open, on hold and to go on. When the machine's behaviour
// changes on purpose, rewrite what it says with
//
//	go test ./react -run TestStories -update
//
// and read the difference: each line is a claim about meaning.

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what the machine says in the stories")

func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { tellFile(t, file) })
	}
}

// tellFile tells all stories of a file, each as a test of its own.
func tellFile(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	book := parseBook(string(data))
	for _, tale := range book {
		if tale.title != "" {
			t.Run(tale.title, func(t *testing.T) { tale.tell(t, file) })
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(book.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// book is a file of stories; what stands before the first heading is a tale
// without a title.
type book []*tale

type tale struct {
	title  string
	pieces []*piece
}

// piece is a run of comments and blank lines, or a block.
type piece struct {
	line     int // of its first line, from 1
	prose    []string
	commands []string
	said     []string // what the file has the machine say
}

func (p *piece) isBlock() bool { return len(p.commands) > 0 }

// tell runs the blocks in order on one machine and compares what it says.
func (tale *tale) tell(t *testing.T, file string) {
	s := newStory(t)
	for _, p := range tale.pieces {
		if !p.isBlock() {
			continue
		}
		got := s.block(file, p)
		if *update {
			p.said = got
			continue
		}
		if g, w := strings.Join(got, "\n"), strings.Join(p.said, "\n"); g != w {
			t.Errorf("%s:%d: %s\ngot\n%s\nwant\n%s\nif that is meant: go test ./react -run TestStories -update",
				file, p.line, strings.Join(p.commands, "\n"), g, w)
		}
	}
	if difference := s.refold(); difference != "" {
		t.Errorf("F3: the fold of the story's log is another machine: %s", difference)
	}
	s.openEverywhere()
}

const (
	heading = "=== "
	rule    = "----"
)

func parseBook(text string) book {
	b := book{{}}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		last := b[len(b)-1]
		switch line := lines[i]; {
		case strings.HasPrefix(line, heading):
			b = append(b, &tale{title: strings.TrimPrefix(line, heading)})
			i++
		case line == "" || strings.HasPrefix(line, "#"):
			last.addProse(line)
			i++
		default:
			var p *piece
			p, i = parseBlock(lines, i)
			last.pieces = append(last.pieces, p)
		}
	}
	return b
}

func (tale *tale) addProse(line string) {
	if n := len(tale.pieces); n == 0 || tale.pieces[n-1].isBlock() {
		tale.pieces = append(tale.pieces, &piece{})
	}
	p := tale.pieces[len(tale.pieces)-1]
	p.prose = append(p.prose, line)
}

// parseBlock reads a block from lines[at] and returns the line after it.
func parseBlock(lines []string, at int) (*piece, int) {
	p := &piece{line: at + 1}
	for ; at < len(lines) && lines[at] != rule && lines[at] != ""; at++ {
		p.commands = append(p.commands, lines[at])
	}
	if at < len(lines) && lines[at] == rule {
		at++
	}
	for ; at < len(lines) && lines[at] != ""; at++ {
		p.said = append(p.said, lines[at])
	}
	return p, at
}

// String is the file of the book.
func (b book) String() string {
	var lines []string
	for _, tale := range b {
		if tale.title != "" {
			lines = append(lines, heading+tale.title)
		}
		for _, p := range tale.pieces {
			lines = append(lines, p.prose...)
			if p.isBlock() {
				lines = append(lines, p.commands...)
				lines = append(lines, rule)
				lines = append(lines, p.said...)
			}
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
