package simple

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted is a fault: in a copy of a file, good becomes bad. The clause must
// find it.
type planted struct {
	fault     string
	clause    string // which must fail: D8
	file      string
	good, bad string
}

func plantedFaults() []planted {
	return []planted{
		{
			"the wake comes before the append", "D1", "verbs.go",
			"err = a.call(ctx, func(u *unit) (err error) {",
			"go func() {\n		defer func() { _ = recover() }()\n		_, _ = a.ask(ctx, nil, nil)\n	}()\n	err = a.call(ctx, func(u *unit) (err error) {",
		},
		{
			"a refused append is called a success", "D2", "simple.go",
			"		a.state.undo(mark)\n		return err",
			"		a.state.undo(mark)\n		if a.fault == nil && len(u.events) > 0 {\n			return nil\n		}\n		return err",
		},
		{
			"a failed append isn't undone", "D2", "simple.go",
			"		a.state.undo(mark)\n", "		_ = mark\n",
		},
		{
			"an uncertain append doesn't name the message", "D2", "verbs.go",
			"return agent.Receipt{}, &agent.UncertainError{ID: m.ID, Err: err}", "return agent.Receipt{}, err",
		},
		{
			"a pending message may be replayed with other content", "D3", "state.go",
			"Digest: p.Digest}, p.Seq, v, digest)", "Digest: digest}, p.Seq, v, digest)",
		},
		{
			"a replay is accepted twice", "D3", "verbs.go",
			"		return agent.Replay(first, seq, v, digest)",
			"		return a.deliver(ctx, v, first.Message.As(fmt.Sprint(m.ID, \"-again-\", seq)))",
		},
		{
			"a replay releases what is parked", "D3", "state.go",
			"	if p := u.talk.Inbox.Get(m.ID); p != nil {\n",
			"	if p := u.talk.Inbox.Get(m.ID); p != nil {\n		u.add(session.Released{By: session.ReleaseResume})\n",
		},
		{
			"a caller that leaves faults the handle", "D4", "simple.go",
			"		return fmt.Errorf(\"%w: %w\", agent.ErrUncertain, ctx.Err())",
			"		a.mu.Lock()\n		defer a.mu.Unlock()\n		a.fault = agent.ErrUncertain\n		return fmt.Errorf(\"%w: %w\", agent.ErrUncertain, ctx.Err())",
		},
		{
			"deliveries wait for the model", "D5", "loop.go",
			"	go r.put(a.ask)\n	if !r.wait(a.grace) {",
			"	go r.put(a.ask)\n	a.mu.Lock()\n	a.busy = true\n	a.mu.Unlock()\n	waited := r.wait(a.grace)\n	a.mu.Lock()\n	a.busy = false\n	a.changed.Broadcast()\n	a.mu.Unlock()\n	if !waited {",
		},
		{
			"a receipt names the wrong event", "D6", "state.go",
			"receipt := agent.Receipt{ID: m.ID, Seq: u.head, Verb: v}", "receipt := agent.Receipt{ID: m.ID, Seq: u.head + 1, Verb: v}",
		},
		{
			"followups are merged", "D8", "state.go",
			"take(session.Followup, 1)", "take(session.Followup, 1<<20)",
		},
		{
			"a steer waits for the end of the turn", "D9", "state.go",
			"	take(session.Steer, 1<<20)\n", "	if s.step == 0 {\n		take(session.Steer, 1<<20)\n	}\n",
		},
		{
			"a steer opens its turn after the followups", "D12", "state.go",
			"	take(session.Steer, 1<<20)\n	if s.step == 0 && len(batch) == 0 {\n		take(session.Followup, 1)\n	}\n",
			"	if s.step == 0 {\n		take(session.Followup, 1)\n	}\n	if len(batch) == 0 {\n		take(session.Steer, 1<<20)\n	}\n",
		},
		{
			"an inject causes a request", "D10", "state.go",
			"		wakes = wakes || p.Verb.Wakes()\n", "		wakes = true\n",
		},
		{
			"an inject enters only with followups", "D10", "state.go",
			"	take(session.Inject, 1<<20)\n", "	if s.step == 0 && len(s.talk.Inbox.Waiting(session.Steer)) == 0 {\n		take(session.Inject, 1<<20)\n	}\n",
		},
		{
			"a batch is ordered by verb", "D11", "state.go",
			"	sort.Slice(batch, func(i, j int) bool { return batch[i].Seq < batch[j].Seq })\n",
			"	sort.Slice(batch, func(i, j int) bool { return false })\n",
		},
		{
			"the wake is lost of what comes while the turn ends", "D13", "loop.go",
			"	defer a.mu.Unlock()\n	for {\n		switch {",
			"	defer a.mu.Unlock()\n	a.changed.Wait()\n	for {\n		switch {",
		},
		{
			"what was placed is placed again on reopening", "D15", "state.go",
			"	s.attempt, s.asked = f.Attempt, seq\n", "	s.attempt, s.asked = f.Attempt, seq\n	s.due = seq\n",
		},
		{
			"nothing is kept for people", "D16", "state.go",
			"count, bytes = count-count/4, bytes-bytes/4", "count, bytes = count-0, bytes-0",
		},
		{
			"waiting for itself isn't noticed", "D17", "simple.go",
			"	if ctx.Value(insider{a.ID()}) != nil {", "	if false {",
		},
		{
			"a message isn't copied", "D18", "verbs.go",
			"	parts = chat.CloneParts(parts)\n", "",
		},
		{
			"a cancel clears what comes later", "C1", "state.go",
			"	case session.TurnEnded:\n		s.turn,", "	case session.TurnEnded:\n		if f.Reason == session.EndCancelled {\n			s.talk.Inbox = session.Inbox{}\n		}\n		s.turn,",
		},
		{
			"a cancel forgets to keep the inbox", "C1", "state.go",
			"KeepInbox: s.KeepInbox, Turn: u.turn,", "Turn: u.turn,",
		},
		{
			"a cancel returns when the turn has ended", "C2", "verbs.go",
			"	case t := <-said:\n", "	case t := <-said:\n		_ = a.WaitIdle(ctx)\n",
		},
		{
			"the last cancel is the cause", "C3", "state.go",
			"if s.turn != 0 && s.stopped.Cause == \"\" {", "if s.turn != 0 {",
		},
		{
			"a cancel that can't be stored is forgotten", "C4", "simple.go",
			"	if err == nil || a.fault != nil {\n		a.stops", "	if true {\n		a.stops",
		},
		{
			"the turn's work goes on until the cancel is stored", "C4", "verbs.go",
			"	if a.endTurn != nil {\n		a.endTurn()\n	}\n", "",
		},
		{
			"a request is sent after the cancel", "C5", "state.go",
			"		case u.stopped.Turn != 0:\n			u.add(u.stopped)\n		default:", "		default:",
		},
		{
			"what was streamed is lost", "C6", "loop.go",
			"	case err == nil || len(answer.Blocks) > 0:", "	case err == nil:",
		},
		{
			"a stubborn model is waited for", "C7", "loop.go",
			"	case <-timer.C:\n		return false\n", "	case <-timer.C:\n		<-r.done\n		return true\n",
		},
		{
			"an abandoned model writes", "C7", "loop.go",
			"	if !r.wait(a.grace) {\n", "	if !r.wait(a.grace) {\n		go func() {\n			<-r.done\n			_, _ = a.Record(a.base, session.Noted{Kind: \"late/answer\", Version: 1, Data: []byte(`{}`)})\n		}()\n",
		},
		{
			"a plugin releases what a person stopped", "C9", "state.go",
			"if v.Wakes() && u.principal(m.Source) &&", "if v.Wakes() &&",
		},
		{
			"what is parked enters with others", "C9", "state.go",
			"	take(session.Inject, 1<<20)\n", "	take(session.Inject, 1<<20)\n	batch = append(batch, s.talk.Inbox.Parked()...)\n",
		},
		{
			"an inject releases", "C9", "state.go",
			"if v.Wakes() && u.principal(m.Source) &&", "if u.principal(m.Source) &&",
		},
		{
			"withdrawing a placed message is an error", "C10", "verbs.go",
			"			u.add(session.Withdrawn{ID: id})\n		}\n		return nil", "			u.add(session.Withdrawn{ID: id})\n			return nil\n		}\n		return agent.ErrUnknown",
		},
		{
			"an amended message loses its place", "C10", "verbs.go",
			"		u.add(session.Amended{ID: id, Parts: parts})\n",
			"		u.add(session.Withdrawn{ID: id})\n		changed := p.Amended(parts).Message\n		u.add(session.Accepted{Verb: p.Verb, Message: *changed, Digest: p.Digest})\n",
		},
		{
			"Close ends the turn", "C11", "loop.go",
			"	for a.base.Err() == nil { // else", "	for a.fault == nil { // else",
		},
		{
			"a goroutine outlives Close", "C11", "simple.go",
			"	go a.loop()\n", "	go a.loop()\n	go func() { select {} }()\n",
		},
		{
			"WaitIdle returns between two turns", "C12", "simple.go",
			"a.state.turn == 0 && !a.state.runnable(), nil", "a.state.turns > 0 || a.state.turn == 0 && !a.state.runnable(), nil",
		},
		{
			"a failure burns the queue", "F1", "state.go",
			"	u.add(session.TurnEnded{Turn: u.turn, Reason: session.EndFailed, Failure: &why})", "	u.add(session.TurnEnded{Turn: u.turn, Reason: session.EndFailed, Failure: &why})\n	u.add(session.Released{By: session.ReleaseResume})",
		},
		{
			"a completed turn releases what a person stopped", "F1", "state.go",
			"		if f.Step > 1 && p.Parked == session.ParkedFailed {\n			u.add(session.Released{By: session.ReleaseCompleted})",
			"		if f.Step > 1 {\n			_ = p\n			u.add(session.Released{By: session.ReleaseResume})",
		},
		{
			"reopening asks again and says nothing", "F3", "state.go",
			"	u.add(f)\n	if u.turn != 0 && u.attempt > 10", "	if hold {\n		u.add(f)\n	}\n	if u.turn != 0 && u.attempt > 10",
		},
		{
			"hold goes on", "F3", "state.go",
			"	if hold {\n		f.Mode = session.OpenHold\n	}\n", "",
		},
		{
			"an owner that lost its session says nothing of it", "F4", "simple.go",
			"return a.fault\n}\n\n// insider", "if a.fault != nil {\n		return agent.ErrClosed\n	}\n	return nil\n}\n\n// insider",
		},
		{
			"a record wakes", "R1", "verbs.go",
			"		u.add(n)\n		seq = u.head\n", "		u.add(n)\n		seq = u.head\n		u.add(session.Released{By: session.ReleaseResume})\n",
		},
		{
			"Watch outlives the agent", "I3", "verbs.go",
			"		case <-a.base.Done():\n", "",
		},
		{
			"the status rests on an older event", "I4", "simple.go",
			"Head: s.head}", "Head: s.head - min(1, s.head)}",
		},
	}
}

// TestKitFindsPlantedFaults runs the clause that a fault breaks, on a copy of
// the driver that has it. The copy is the compiler's: no file changes.
func TestKitFindsPlantedFaults(t *testing.T) {
	if os.Getenv("CI") == "" {
		t.Skip("it builds the driver once for each fault: only with CI=true")
	}
	if os.Getenv(inCopy) != "" {
		t.Skip("this is a copy with a fault")
	}
	tool, err := exec.LookPath("go")
	if testing.Short() || err != nil {
		t.Skip("it compiles a copy for each fault")
	}
	for i, p := range plantedFaults() {
		t.Run(p.fault, func(t *testing.T) {
			if i%4 != 0 && os.Getenv(allFaults) == "" {
				t.Skipf("one in four is planted unless %s is set", allFaults)
			}
			p.isFound(t, tool)
		})
	}
}

const (
	inCopy    = "TACK_PLANTED_FAULT" // set for the tests of a copy
	allFaults = "TACK_ALL_FAULTS"    // plant them all
)

func (p planted) isFound(t *testing.T, tool string) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), p.good); n != 1 {
		t.Fatalf("%s holds %d times what the fault takes the place of, want once:\n%s", p.file, n, p.good)
	}
	copied := filepath.Join(t.TempDir(), p.file)
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(dir, p.file): copied}})
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{
		copied: []byte(strings.Replace(string(source), p.good, p.bad, 1)), overlay: replace,
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), tool, "test", "-overlay", overlay, "-vet=off", "-timeout=20s",
		"-run", "^TestSimpleKeepsTheContract$/^"+p.clause+"_", ".")
	cmd.Env = append(os.Environ(), inCopy+"=1")
	out, err := cmd.CombinedOutput()
	switch {
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		t.Fatalf("the fault doesn't compile:\n%s", out)
	case err == nil:
		t.Errorf("%s doesn't find that %s", p.clause, p.fault)
	case !bytes.Contains(out, []byte("is broken: ")) && !bytes.Contains(out, []byte("deadlock")):
		t.Errorf("%s fails and doesn't say which promise is broken:\n%s", p.clause, tail(out))
	}
}

func tail(out []byte) string {
	const most = 3000
	return fmt.Sprintf("… %s", out[max(0, len(out)-most):])
}
