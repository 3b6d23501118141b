package modeltest

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"
)

// marked runs f; every goroutine started from within can be found by the mark.
func (t *trial) marked(f func()) {
	pprof.Do(context.Background(), pprof.Labels("modeltest", t.mark()), func(context.Context) { f() })
}

func (t *trial) mark() string { return fmt.Sprintf("%p", t) }

// left waits until no goroutine has the mark, and returns the stacks of those
// that stay.
func (t *trial) left() []string {
	for end := time.Now().Add(t.Patience); ; time.Sleep(time.Millisecond) {
		left := stacks(`"modeltest":"` + t.mark() + `"`)
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// stacks lists those of the goroutines with the label, equal ones together.
func stacks(label string) []string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return []string{err.Error()}
	}
	var found []string
	for group := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(group, label) {
			found = append(found, group)
		}
	}
	return found
}
