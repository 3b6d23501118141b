package react

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var (
	simSeeds = flag.Int("sim.seeds", seedsOf(os.Getenv("TACK_SIM_SEEDS")), "how many seeded histories to run")
	simSeed  = flag.Uint64("sim.seed", 0, "run this history only, and tell it")
	simCover = flag.Bool("sim.cover", false, "list the situations and how often each was met")
)

// usualSeeds are enough to meet every situation many times.
const usualSeeds = 2000

func seedsOf(env string) int {
	if n, err := strconv.Atoi(env); err == nil {
		return n
	}
	return usualSeeds
}

// TestSimulation runs seeded random histories and holds the machine against
// the contract: the reference reads every unit of the log, a second machine
// that only ever folds the log must stay equal and owe the same work, and at
// the end, when all trouble has stopped, every message must have its fate.
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		w, failure := simulate(*simSeed, nil)
		if failure != nil {
			t.Fatal(failure.report(*simSeed))
		}
		t.Logf("seed %d holds:\n%s", *simSeed, w.story(len(w.units)))
		return
	}
	met, failures := simulateAll(*simSeeds)
	reportAll(t, failures)
	if *simCover {
		for _, situation := range slices.Sorted(maps.Keys(met)) {
			t.Logf("%7d %s", met[situation], situation)
		}
	}
	if *simSeeds < usualSeeds || len(failures) > 0 {
		return
	}
	for _, situation := range situations {
		if met[situation] == 0 {
			t.Errorf("%q never happened in %d histories: the simulation no longer tests it", situation, *simSeeds)
		}
	}
}

// reportAll tells the first failure of each clause in full, and lists the
// seeds of the others.
func reportAll(t *testing.T, failures map[uint64]*failure) {
	seeds := map[string][]uint64{}
	for _, seed := range slices.Sorted(maps.Keys(failures)) {
		f := failures[seed]
		if seeds[f.clause] = append(seeds[f.clause], seed); len(seeds[f.clause]) == 1 {
			t.Error(f.report(seed))
		}
	}
	for clause, list := range seeds {
		t.Errorf("%s broke in %d histories: seeds %.150s", clause, len(list), fmt.Sprint(list))
	}
}

// simulateAll runs the seeds 1 to n, as many at a time as there are
// processors.
func simulateAll(n int) (met map[string]int, failures map[uint64]*failure) {
	met, failures = map[string]int{}, map[uint64]*failure{}
	var mu sync.Mutex
	var all sync.WaitGroup
	shards := runtime.GOMAXPROCS(0)
	for shard := range shards {
		all.Go(func() {
			for seed := shard + 1; seed <= n; seed += shards {
				w, failure := simulate(uint64(seed), nil)
				mu.Lock()
				for situation, times := range w.met {
					met[situation] += times
				}
				if failure != nil {
					failures[uint64(seed)] = failure
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return met, failures
}

// failure is a clause that didn't hold, and the history up to there.
type failure struct {
	clause string
	text   string
	world  *world
	stack  string
}

// simulate runs one history, without the steps in skip.
func simulate(seed uint64, skip map[int]bool) (w *world, failed *failure) {
	w = newWorld(seed)
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *failure:
			failed = p
			failed.world = w
		default:
			failed = &failure{clause: "panic", text: fmt.Sprint(p), stack: string(debug.Stack()), world: w}
		}
	}()
	for i := range w.length {
		if !skip[i] {
			w.step(i)
		}
	}
	w.rest()
	return w, nil
}

// minimise drops steps of the history as long as the same clause breaks.
func minimise(seed uint64, first *failure) *failure {
	best, skip := first, map[int]bool{}
	for size := first.world.length / 2; size > 0; {
		shorter := false
		for from := 0; from < first.world.length; from += size {
			tried := maps.Clone(skip)
			for i := from; i < from+size; i++ {
				tried[i] = true
			}
			if len(tried) == len(skip) {
				continue
			}
			if _, f := simulate(seed, tried); f != nil && f.clause == first.clause {
				best, skip, shorter = f, tried, true
			}
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
	return best
}

// report tells a failure, its end as it happened, and the shortest history
// found that fails in the same clause.
func (f *failure) report(seed uint64) string {
	const last = 15
	var b strings.Builder
	fmt.Fprintf(&b, "%s: expected %s\n%s\n", f.clause, f.text, f.stack)
	fmt.Fprintf(&b, "The last of %d inputs:\n%s\n", len(f.world.units), f.world.story(last))
	small := minimise(seed, f)
	fmt.Fprintf(&b, "Shorter: %s: expected %s\n%s\n", small.clause, small.text, small.world.story(len(small.world.units)))
	fmt.Fprintf(&b, "Again: go test ./react -run TestSimulation -sim.seed=%d\n", seed)
	return b.String()
}
