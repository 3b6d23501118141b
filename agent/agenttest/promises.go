package agenttest

import (
	"slices"

	"github.com/tack-agent/tack/session"
)

// consistent checks what every log promises, and that the model was shown what
// the log says.
func (c *trial) consistent() {
	c.Helper()
	w := &witness{trial: c, ended: map[string]session.Seq{}}
	c.mu.Lock()
	units := slices.Clone(c.units)
	c.mu.Unlock()
	for i := range units {
		w.compare(i)
		for _, e := range units[i] {
			w.watch(e)
		}
	}
	w.compare(len(units))
}

// witness reads a log and complains.
type witness struct {
	*trial
	state
	ended   map[string]session.Seq // messages that were placed or came to an end
	turns   int
	stopped session.Seq // the open turn's cancel
	open    map[int]bool
	answer  session.Seq
}

var (
	toldByLog   = clause{id: "D15", promise: "the model is shown the transcript as it is in the log"}
	once        = clause{id: "D15", promise: "each accepted id ends as one message in the transcript or one terminal fate"}
	folds       = clause{id: "D15", promise: "the log doesn't contradict itself"}
	oneTurn     = clause{id: "C7", promise: "turn ended precedes the next turn started, turns count from 1, and each start has one end"}
	allResults  = clause{id: "D11", promise: "nothing separates an answer's calls from their results, of which each has one"}
	nothingMore = clause{id: "C5", promise: "after a cancel no tool starts and no request is sent"}
	ownTurn     = clause{id: "D8", promise: "a followup opens a turn of its own, never merged with another followup or a steer"}
	steersFirst = clause{id: "D12", promise: "if a steer is runnable, it opens the turn; else the oldest runnable followup does"}
	wakesFirst  = clause{id: "D10", promise: "an inject never causes a request"}
	whatWasDue  = clause{id: "D14", promise: "the batch is what was runnable when the step became due"}
	sameContent = clause{id: "D3", promise: "the digest is that of the message as first accepted"}
)

// compare looks at the requests that were made when n units were in the log.
func (w *witness) compare(n int) {
	w.model.mu.Lock()
	heads, shown := slices.Clone(w.model.heads), slices.Clone(w.model.shown)
	w.model.mu.Unlock()
	for i, head := range heads {
		if head != n {
			continue
		}
		got, want := render(shown[i]), render(w.shown())
		if !slices.Equal(got, want) {
			w.brokenAs(toldByLog, "at request %d the model was shown\n  got  %s\n  want %s", i+1, list(got), list(want))
		}
	}
}

func (w *witness) watch(e session.Event) {
	switch f := e.Fact.(type) {
	case session.Accepted:
		if f.Digest != f.Message.Digest() {
			w.brokenAs(sameContent, "event %d has the digest %s, want %s", e.Seq, f.Digest, f.Message.Digest())
		}
	case session.TurnStarted:
		w.starts(e.Seq, f)
	case session.TurnEnded:
		if w.turn != f.Turn {
			w.brokenAs(oneTurn, "event %d ends turn %d while %d is open", e.Seq, f.Turn, w.turn)
		}
		if len(w.open) > 0 {
			w.brokenAs(allResults, "event %d ends the turn while calls %v of answer %d have no result", e.Seq, w.open, w.answer)
		}
	case session.Entered:
		w.enters(e.Seq, f)
	case session.Attempt:
		w.forbidden(e.Seq, "asks again")
	case session.CallStarted:
		w.forbidden(e.Seq, "starts a call")
	case session.Cancelled:
		if f.Turn != 0 && w.stopped == 0 {
			w.stopped = e.Seq
		}
		for _, id := range f.Cleared {
			w.ends(e.Seq, id)
		}
	case session.Withdrawn:
		w.ends(e.Seq, f.ID)
	case session.Refused:
		w.ends(e.Seq, f.ID)
	case session.Taken:
		w.ends(e.Seq, f.ID)
	case session.Answered:
		w.answer, w.open = e.Seq, map[int]bool{}
		for i := range f.Answer.Calls() {
			w.open[i] = true
		}
	case session.Resulted:
		if f.Answer != w.answer || !w.open[f.Index] {
			w.brokenAs(allResults, "event %d is a result of call %d of answer %d, which isn't open", e.Seq, f.Index, f.Answer)
		}
		delete(w.open, f.Index)
	}
	w.apply(e)
	if w.err != nil {
		w.brokenAs(folds, "%v", w.err)
	}
}

func (w *witness) ends(seq session.Seq, id string) {
	w.Helper()
	if before, is := w.ended[id]; is {
		w.brokenAs(once, "message %s was placed or ended by event %d, and again by event %d", id, before, seq)
	}
	w.ended[id] = seq
}

func (w *witness) starts(seq session.Seq, f session.TurnStarted) {
	if w.turn != 0 || f.Turn != w.turns+1 {
		w.brokenAs(oneTurn, "event %d starts turn %d; the last was %d, open is %d", seq, f.Turn, w.turns, w.turn)
	}
	w.turns, w.stopped = f.Turn, 0
}

func (w *witness) forbidden(seq session.Seq, does string) {
	if w.stopped != 0 {
		w.brokenAs(nothingMore, "event %d %s although event %d cancelled the turn", seq, does, w.stopped)
	}
}

// enters checks a batch.
func (w *witness) enters(seq session.Seq, f session.Entered) {
	w.forbidden(seq, "begins a step")
	if f.Turn != w.turn {
		w.brokenAs(oneTurn, "event %d begins a step of turn %d while %d is open", seq, f.Turn, w.turn)
	}
	if len(w.open) > 0 {
		w.brokenAs(allResults, "event %d begins a step while calls %v of answer %d have no result", seq, w.open, w.answer)
	}
	count := map[session.Verb]int{}
	for _, entry := range f.Messages {
		w.ends(seq, entry.ID)
		p := w.talk.Inbox.Get(entry.ID)
		switch {
		case entry.Added != nil:
			continue
		case p == nil:
			w.brokenAs(once, "event %d lets in message %s, which wasn't pending", seq, entry.ID)
		case p.Since > f.Due:
			w.brokenAs(whatWasDue, "event %d lets in %s, which may run since event %d; the step was due with %d", seq, p.ID, p.Since, f.Due)
		case p.Parked != "":
			w.brokenAs(whatWasDue, "event %d lets in %s, which is parked: %s", seq, p.ID, p.Parked)
		}
		count[p.Verb]++
		if first := w.oldest(session.Followup); p.Verb == session.Followup && first != p.ID && !w.struck(first) {
			w.brokenAs(steersFirst, "event %d lets in the followup %s before %s", seq, p.ID, first)
		}
	}
	followups, steers := count[session.Followup], count[session.Steer]
	switch {
	case followups > 1, followups == 1 && steers > 0, followups > 0 && f.Step > 1:
		w.brokenAs(ownTurn, "event %d lets %d followups and %d steers into step %d of turn %d", seq, followups, steers, f.Step, f.Turn)
	case f.Step == 1 && followups+steers == 0:
		w.brokenAs(wakesFirst, "event %d begins turn %d and lets in neither followup nor steer", seq, f.Turn)
	case followups == 1 && w.due(session.Steer, f.Due):
		w.brokenAs(steersFirst, "event %d lets in a followup although a steer was runnable", seq)
	}
}

// struck says that hooks may have refused a message in the same unit.
func (w *witness) struck(id string) bool { _, is := w.ended[id]; return is }

// oldest is the id of the first runnable message of a verb.
func (w *witness) oldest(v session.Verb) string {
	if list := w.talk.Inbox.Waiting(v); len(list) > 0 {
		return list[0].ID
	}
	return ""
}

// due says whether a message of a verb was runnable at seq.
func (w *witness) due(v session.Verb, seq session.Seq) bool {
	return slices.ContainsFunc(w.talk.Inbox.Waiting(v), func(p *session.Pending) bool { return p.Since <= seq })
}
