package react

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
	"github.com/tack-agent/tack/model/modeltest"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/session/storetest"
	"github.com/tack-agent/tack/tool"
)

// TestSimulationOfTheDriver runs seeded random histories of a live agent on a
// fake clock: senders, cancels, withdrawals, slow and failing models, slow and
// deaf tools, slow and broken hooks, appends that fail or whose outcome is
// unknown, closings and crashes. What callers were told and what the log says
// is checked at the end against the contract. More: TACK_SIM_SEEDS.
func TestSimulationOfTheDriver(t *testing.T) {
	seeds := 200
	if n, err := strconv.Atoi(os.Getenv("TACK_SIM_SEEDS")); err == nil {
		seeds = n
	}
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			w := newLiveWorld(t, seed)
			w.run()
			w.check()
			if t.Failed() {
				t.Logf("seed %d; the log:\n%s", seed, strings.Join(w.lines(), "\n"))
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// liveWorld is a live agent and those who trouble it.
type liveWorld struct {
	*theatre
	seed   uint64
	memory *session.Memory
	faulty *storetest.Faulty

	mu       sync.Mutex // guards what follows
	r        *rand.Rand
	receipts map[string]agent.Receipt
	unsure   map[string]bool // messages whose acceptance was uncertain or refused
	sent     int
	deaf     chan struct{} // closed to let deaf tools go
}

func newLiveWorld(t *testing.T, seed uint64) *liveWorld {
	w := &liveWorld{
		seed: seed, r: rand.New(rand.NewPCG(seed, 3)), memory: memory(),
		receipts: map[string]agent.Receipt{}, unsure: map[string]bool{}, deaf: make(chan struct{}),
	}
	w.faulty = storetest.NewFaulty(w.memory)
	w.theatre = newTheatre(t, w.faulty, &modeltest.Script{Rule: w.answer, Trusts: true})
	w.grace = 3 * time.Second
	w.plugins()
	w.open(session.OpenContinue)
	return w
}

// draw is a number from 0 below n.
func (w *liveWorld) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.r.IntN(n)
}

func (w *liveWorld) pause() time.Duration { return time.Duration(w.draw(3000)) * time.Millisecond }

// answer is what the model says to the n-th request.
func (w *liveWorld) answer(*model.Request, int) modeltest.Turn {
	wait := w.pause()
	switch w.draw(8) {
	case 0:
		return modeltest.Fails(model.Failure{Kind: model.FailureOverloaded}).After(wait)
	case 1:
		return modeltest.Says("cut off").In(2).Ending(modeltest.EndsBroken)
	case 2:
		turn := modeltest.Says("one two three four").In(4)
		turn.Pause = time.Second
		return turn
	case 3, 4, 5:
		var calls []chat.Call
		for i := range 1 + w.draw(3) {
			calls = append(calls, wish(fmt.Sprint("c", i), []string{"quick", "slow", "broken", "deaf", "last", "nowhere"}[w.draw(6)]))
		}
		return modeltest.Calls(calls...).After(wait)
	default:
		return modeltest.Says("so be it").After(wait)
	}
}

// plugins registers tools and hooks of all tempers.
func (w *liveWorld) plugins() {
	add := func(name string, f func(context.Context, struct{}) (string, error), o ...tool.Option) {
		w.must(tool.Add(w.root, tool.New(name, "does something", f, o...)))
	}
	add("quick", func(context.Context, struct{}) (string, error) { return "ok", nil }, tool.Repeatable(), tool.Beside())
	add("slow", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-time.After(w.pause()):
			return "ok", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, tool.Beside())
	add("broken", func(context.Context, struct{}) (string, error) { panic("broken") })
	add("last", func(context.Context, struct{}) (string, error) { return "ok", nil }, tool.Concludes())
	add("deaf", func(context.Context, struct{}) (string, error) {
		select {
		case <-time.After(10 * w.pause()):
		case <-w.deaf:
		}
		return "ok", nil
	})
	w.must(model.Failed.Wrap(w.root, "retry", func(_ context.Context, in model.FailedInput, _ func(context.Context, model.FailedInput) (model.FailedAnswer, error)) (model.FailedAnswer, error) {
		return model.FailedAnswer{Again: in.Attempt < 3, After: w.pause()}, nil
	}))
	if w.draw(2) == 0 {
		w.hooks()
	}
}

// hooks registers entering and stopping hooks that take their time, refuse,
// break and object.
func (w *liveWorld) hooks() {
	w.must(agent.Entering.Wrap(w.root, "guard", func(ctx context.Context, in agent.EnteringInput, next func(context.Context, agent.EnteringInput) (agent.EnteringAnswer, error)) (agent.EnteringAnswer, error) {
		time.Sleep(w.pause())
		if w.draw(12) == 0 {
			return agent.EnteringAnswer{}, errors.New("the guard fell asleep")
		}
		out, err := next(ctx, in)
		if err == nil && len(out.Rulings) > 0 && w.draw(6) == 0 {
			out.Rulings[0] = agent.Ruling{ID: out.Rulings[0].ID, Verdict: agent.Refuse, Hook: "guard", Reason: "no"}
		}
		return out, err
	}))
	w.must(agent.Stopping.Wrap(w.root, "critic", func(ctx context.Context, in agent.StoppingInput, next func(context.Context, agent.StoppingInput) (agent.StoppingAnswer, error)) (agent.StoppingAnswer, error) {
		time.Sleep(w.pause())
		out, err := next(ctx, in)
		if in.Steps < 4 && w.draw(4) == 0 {
			out.Objections = append(out.Objections, agent.Objection{Hook: "critic", Text: "not yet"})
		}
		return out, err
	}))
}

// run lets the troubles happen, then lets the agent come to rest.
func (w *liveWorld) run() {
	for range 40 {
		w.trouble()
		time.Sleep(w.pause() / 2)
	}
	close(w.deaf)
	synctest.Wait()
	for range 3 { // what fails on the way is parked again
		w.rest()
	}
	w.close()
}

// rest releases what is parked and waits until the agent is idle, however often
// it has to be opened anew for it.
func (w *liveWorld) rest() {
	for {
		w.recover()
		if w.agent.Resume(context.Background()) == nil && w.agent.WaitIdle(context.Background()) == nil {
			return
		}
	}
}

func (w *liveWorld) trouble() {
	ctx := context.Background()
	switch w.draw(14) {
	case 0:
		_, err := w.agent.Cancel(ctx, agent.Stop{Cause: session.CauseUser, KeepInbox: w.draw(2) == 0})
		w.mayFail(err)
	case 1:
		w.mayFail(w.agent.Resume(ctx))
	case 2:
		if id := w.some(); id != "" {
			_, err := w.agent.Withdraw(ctx, id)
			w.mayFail(err)
		}
	case 3:
		if id := w.some(); id != "" {
			_, err := w.agent.Amend(ctx, id, []chat.Part{chat.Text("amended")})
			w.mayFail(err)
		}
	case 4:
		w.faulty.Add(1+w.draw(4), []storetest.Kind{storetest.Fails, storetest.Lost, storetest.Unheard}[w.draw(3)])
	case 5:
		if id := w.some(); id != "" { // a sender that repeats itself
			first := w.receipts[id]
			again, err := agent.Deliver(ctx, w.agent, first.Verb, chat.Say("text of "+id).As(id))
			if w.mayFail(err) && (again.Seq != first.Seq || !again.Replayed) {
				w.t.Errorf("D3: %+v, and then %+v", first, again)
			}
		}
	case 6:
		_ = w.agent.Close(ctx)
		w.reopen()
	default:
		w.send([]session.Verb{session.Followup, session.Steer, session.Inject}[w.draw(3)])
	}
	w.recover()
}

func (w *liveWorld) send(v session.Verb) {
	w.sent++
	id := fmt.Sprint("m", w.sent)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if w.draw(10) == 0 {
		cancel()
	}
	receipt, err := agent.Deliver(ctx, w.agent, v, chat.Say("text of "+id).As(id))
	switch {
	case errors.Is(err, context.Canceled) && !errors.Is(err, agent.ErrUncertain):
	case w.mayFail(err):
		w.receipts[id] = receipt
	case errors.Is(err, agent.ErrUncertain):
		w.unsure[id] = true
	}
}

// some is the id of a message that was accepted; empty if none was.
func (w *liveWorld) some() string {
	for id := range w.receipts {
		return id
	}
	return ""
}

// mayFail takes the errors that storage faults may lead to.
func (w *liveWorld) mayFail(err error) bool {
	w.t.Helper()
	if err != nil && !errors.Is(err, agent.ErrStorage) && !errors.Is(err, agent.ErrUncertain) && !errors.Is(err, session.ErrFaulted) {
		w.t.Errorf("an error that nothing here explains: %v", err)
	}
	return err == nil
}

// recover opens the session anew if the handle is of no use any more, as a
// host does.
func (w *liveWorld) recover() {
	if _, err := w.agent.Status(context.Background()); err != nil {
		_ = w.agent.Close(context.Background())
		w.reopen()
	}
}

func (w *liveWorld) reopen() {
	mode := session.OpenContinue
	if w.draw(4) == 0 {
		mode = session.OpenHold
	}
	for {
		if err := w.try(mode); err == nil {
			return
		}
	}
}

func (w *liveWorld) try(mode session.OpenMode) error {
	ctx := context.Background()
	lease, err := w.store.Acquire(ctx, "s", "p")
	w.must(err)
	a, err := New(Limits{}).Drive(ctx, agent.Start{
		Store: w.store, Lease: lease, Mode: mode, Scope: w.root, Grace: w.grace,
		World: agent.World{Now: time.Now, NewID: func() string { return fmt.Sprint("id", w.ids.Add(1)) }},
	})
	if err == nil {
		w.agent = a
	}
	return err
}

// check reads the log and holds it against what callers were told.
func (w *liveWorld) check() {
	seen := map[string]int{}
	fate := map[string]string{}
	var open, results int
	var turn, calls int
	for e, err := range session.Events(context.Background(), w.store, "s", 0) {
		w.must(err)
		switch f := e.Fact.(type) {
		case session.Accepted:
			seen[f.Message.ID]++
			if r, told := w.receipts[f.Message.ID]; told && (r.Seq != e.Seq || r.Verb != f.Verb) {
				w.t.Errorf("D6: receipt %+v, the log has event %d", r, e.Seq)
			}
		case session.TurnStarted:
			turn++
			if open++; open != 1 || f.Turn != turn {
				w.t.Errorf("L2: turn %d starts as the %d., with %d open", f.Turn, turn, open)
			}
		case session.TurnEnded:
			if open--; open != 0 || results != calls {
				w.t.Errorf("L2, C5: turn %d ends with %d open, %d of %d results", f.Turn, open, results, calls)
			}
		case session.Answered:
			calls += len(f.Answer.Calls())
		case session.Resulted:
			results++
		default:
			w.fates(fate, e)
		}
	}
	w.checkFates(seen, fate)
	if open != 0 {
		w.t.Errorf("C7: a turn is open at the end")
	}
}

// fates notes what the fact ends or places.
func (w *liveWorld) fates(fate map[string]string, e session.Event) {
	end := func(id, what string) {
		if fate[id] != "" {
			w.t.Errorf("D15: %s is %s by event %d and was %s", id, what, e.Seq, fate[id])
		}
		fate[id] = what
	}
	switch f := e.Fact.(type) {
	case session.Entered:
		for _, m := range f.Messages {
			end(m.ID, "placed")
		}
	case session.Refused:
		end(f.ID, "refused")
	case session.Taken:
		end(f.ID, "taken")
	case session.Withdrawn:
		end(f.ID, "withdrawn")
	case session.Cancelled:
		for _, id := range f.Cleared {
			end(id, "cleared")
		}
	}
}

func (w *liveWorld) checkFates(seen map[string]int, fate map[string]string) {
	for id, r := range w.receipts {
		if seen[id] != 1 {
			w.t.Errorf("D1, D15: %s was accepted and is %d times in the log", id, seen[id])
		}
		if fate[id] == "" && r.Verb.Wakes() {
			f, err := agent.FateOf(context.Background(), w.store, "s", id)
			if err != nil || f.Parked != session.ParkedFailed {
				w.t.Errorf("D13: %s, a %s, may run and waits at rest: %+v %v", id, r.Verb, f, err)
			}
		}
	}
	for id, n := range seen {
		if _, told := w.receipts[id]; n > 1 || !told && !w.unsure[id] && strings.HasPrefix(id, "m") {
			w.t.Errorf("D2: %s is %d times in the log; its sender was told that it wasn't accepted", id, n)
		}
	}
}

// lines is the log for people.
func (w *liveWorld) lines() []string {
	var out []string
	for e, err := range session.Events(context.Background(), w.store, "s", 0) {
		if err != nil {
			return append(out, err.Error())
		}
		r, _ := session.Encode(e)
		out = append(out, fmt.Sprintf("%3d %s %.160s", e.Seq, r.Type, r.Data))
	}
	return out
}
