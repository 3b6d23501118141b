package house

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const slowInit = time.Millisecond

// initLine is what GODEBUG=inittrace=1 prints for each package (package runtime, "Environment Variables").
var initLine = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock`)

// slowInits finds the packages that took too long in every one of the traces: what was slow
// once was only unlucky.
func slowInits(traces []string) []finding {
	fastest := map[string]time.Duration{}
	for _, trace := range traces {
		for _, match := range initLine.FindAllStringSubmatch(trace, -1) {
			took, err := time.ParseDuration(match[2] + "ms")
			if before, seen := fastest[match[1]]; err == nil && (!seen || took < before) {
				fastest[match[1]] = took
			}
		}
	}
	var found []finding
	for name, took := range fastest {
		if took >= slowInit {
			found = append(found, finding{
				name, fmt.Sprintf("takes %v to initialise, in every run of the stock binary", took),
				"make its tables on first use, in a function; if it is a library's, find out what pulls it in and build that lazily or leave it out",
			})
		}
	}
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.where, b.where) })
	return found
}
