package react

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tack-agent/tack/session"
)

// story is a machine with its log and its world.
type story struct {
	t       *testing.T
	machine *machine
	limits  Limits
	log     []session.Event
	appends []int // lengths of the log after each append
	began   time.Time
	now     time.Time
	asked   bool              // hooks answer by commands only
	headers map[string]string // names of headers by their digests
	place   string            // file and line, for complaints
	said    []string
}

func newStory(t *testing.T) *story {
	began := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	return &story{
		t: t, machine: newMachine(Limits{}), began: began, now: began,
		headers: map[string]string{},
	}
}

// block runs the commands of p and returns what was said.
func (s *story) block(file string, p *piece) []string {
	s.t.Helper()
	s.said = nil
	acted := false
	for i, text := range p.commands {
		s.place = fmt.Sprintf("%s:%d", file, p.line+i)
		acted = s.command(parseLine(text)) || acted
	}
	if acted {
		s.say(s.owes()...)
	}
	return s.said
}

// command runs one line and says whether it may change what is owed.
func (s *story) command(l line) bool {
	if look, found := looks[l.verb]; found {
		look(s, l)
		return false
	}
	switch l.verb {
	case "crash":
		s.crash()
	case "elapse":
		s.elapse(l)
	case "undo":
		s.undo(s.input(l.rest()))
	default:
		s.settle(s.input(l))
	}
	return true
}

func (s *story) input(l line) input {
	make, found := inputs[l.verb]
	if !found {
		s.wrong("no such command: %s", l.verb)
	}
	return make(s, l)
}

// settle decides an input, twice, and says what came of it; then hooks that
// have nothing to say are heard.
func (s *story) settle(in input) {
	before := s.snapshot()
	s.machine.mark()
	once, _ := s.machine.settle(s.now, in)
	s.machine.undo()
	if after := s.snapshot(); !bytes.Equal(before, after) {
		s.t.Errorf("%s: undo left something behind\nbefore %s\nafter  %s", s.place, before, after)
	}
	events, out := s.machine.settle(s.now, in)
	if !reflect.DeepEqual(once, events) {
		s.t.Errorf("%s: decided anew, the input became other facts\nfirst %v\nthen  %v", s.place, once, events)
	}
	if len(events) > 0 {
		s.log = append(s.log, events...)
		s.appends = append(s.appends, len(s.log))
	}
	s.tell(in, events, out)
	s.hearSilence()
}

// hearSilence answers for hooks that aren't there.
func (s *story) hearSilence() {
	if s.asked {
		return
	}
	w := s.machine.owed()
	switch {
	case w.consult.cause != 0:
		s.settle(consulted{cause: w.consult.cause, rulings: enterAll(w.consult)})
	case w.end.cause != 0:
		s.settle(ended{cause: w.end.cause})
	}
}

func enterAll(c consultation) []ruling {
	var all []ruling
	for _, p := range c.batch {
		all = append(all, ruling{id: p.ID})
	}
	return all
}

// undo decides an input and takes it back.
func (s *story) undo(in input) {
	before, owed := s.snapshot(), s.owes()
	s.machine.mark()
	events, out := s.machine.settle(s.now, in)
	s.tell(in, events, out)
	s.machine.undo()
	if !bytes.Equal(before, s.snapshot()) || !reflect.DeepEqual(owed, s.owes()) {
		s.say("undone, but something is left of it")
		return
	}
	s.say("undone: nothing changed")
}

// elapse moves the clock and answers the waits that are over by then.
func (s *story) elapse(l line) {
	cause, chosen := l.number("cause")
	if chosen {
		s.settle(elapsed{cause: session.Seq(cause)})
		return
	}
	d, err := time.ParseDuration(strings.TrimPrefix(l.word(s), "+"))
	if err != nil {
		s.wrong("%v", err)
	}
	s.now = s.now.Add(d)
	over := s.over()
	if over == 0 {
		s.say("nothing is due")
	}
	for ; over != 0; over = s.over() {
		s.settle(elapsed{cause: over})
	}
}

// over is the cause of the wait that was over first; 0 if none is.
func (s *story) over() session.Seq {
	w := s.machine.owed()
	first := waiting{until: s.now.Add(1)}
	for _, wait := range []waiting{w.wait, w.alarm} {
		if wait.cause != 0 && wait.until.Before(first.until) {
			first = wait
		}
	}
	return first.cause
}

// crash goes on with what the log says.
func (s *story) crash() {
	difference := s.refold()
	fresh, err := s.fold(s.log)
	if err != nil || difference != "" {
		s.say(fmt.Sprintf("the log says something else: %v %s", err, difference))
		return
	}
	s.machine = fresh
	s.say(fmt.Sprintf("folded anew from %d facts: the same machine", len(s.log)))
}

// fold makes the machine that a log describes, by way of its records.
func (s *story) fold(log []session.Event) (*machine, error) {
	m := newMachine(s.limits)
	for _, e := range log {
		record, err := session.Encode(e)
		if err != nil {
			return nil, err
		}
		read, err := session.Decode("story", record)
		if err != nil {
			return nil, err
		}
		if err := m.apply(read); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// refold says how the log differs from the machine: folded from the first
// fact, or from a snapshot of now. Empty: it doesn't.
func (s *story) refold() string {
	fresh, err := s.fold(s.log)
	if err != nil {
		return err.Error()
	}
	if d := s.difference(fresh); d != "" {
		return d
	}
	rested := newMachine(s.limits)
	if err := rested.Decode(s.snapshot()); err != nil {
		return err.Error()
	}
	for _, seq := range rested.Missing() {
		if err := rested.Fill(s.log[seq-1]); err != nil {
			return err.Error()
		}
	}
	if d := s.difference(rested); d != "" {
		return "from a snapshot: " + d
	}
	return ""
}

// openEverywhere opens the log as it was after each append. On hold the turn
// is over then and nothing is owed; going on ends a turn that was stopped.
func (s *story) openEverywhere() {
	for _, length := range s.appends {
		for _, mode := range []session.OpenMode{session.OpenHold, session.OpenContinue} {
			m, err := s.fold(s.log[:length])
			if err != nil {
				s.t.Errorf("S5: fold %d facts: %v", length, err)
				continue
			}
			stopped, turn := m.Turn.stopping(), m.Turns
			m.settle(s.now, reopen{mode: mode})
			held := !m.Turn.open() && !m.runnable()
			ended := !m.Turn.open() || m.Turns > turn
			if mode == session.OpenHold && !held || stopped && !ended {
				s.t.Errorf("F3: opened on %s after %d facts, the last is %s: turn %d goes on",
					mode, length, s.fact(s.log[length-1].Fact), turn)
			}
		}
	}
}

func (s *story) difference(other *machine) string {
	mine := s.view()
	live := s.machine
	s.machine = other
	theirs := s.view()
	s.machine = live
	if mine == theirs {
		return ""
	}
	return "lived\n" + mine + "\nfolded\n" + theirs
}

// view is all that can be seen of the machine.
func (s *story) view() string {
	parts := [][]string{s.owes(), s.inbox(), s.transcript(), {string(s.snapshot())}}
	var all []string
	for _, p := range parts {
		all = append(all, p...)
	}
	return strings.Join(all, "\n")
}

func (s *story) snapshot() []byte {
	data, err := s.machine.Encode()
	if err != nil {
		s.t.Fatalf("%s: %v", s.place, err)
	}
	return data
}

func (s *story) say(lines ...string) { s.said = append(s.said, lines...) }

// wrong ends a story that can't be told.
func (s *story) wrong(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf(s.place+": "+format, args...)
}
