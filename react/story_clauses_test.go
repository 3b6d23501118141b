package react

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// decided lists the clauses of the contract that are the machine's to keep.
// The rest is the owner's, the store's or the tools'.
const decided = `
	D3 D5 D7 D8 D9 D10 D11 D12 D13 D14 D15 D16
	C1 C2 C3 C4 C5 C6 C7 C8 C9 C10
	F1 F2 F3 F6
	Q1 Q2 R1 R2 R3
	L1 L2 L3 L4 L5 L6 L8 L9 L10 L11
	T2`

var clauseID = regexp.MustCompile(`\b[A-Z][0-9]+\b`)

// TestStoriesNameEveryClause keeps the stories complete: each clause that the
// machine decides is told by at least one, in a comment that names it.
func TestStoriesNameEveryClause(t *testing.T) {
	told := map[string]bool{}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if !strings.HasPrefix(line, "#") {
				continue
			}
			for _, id := range clauseID.FindAllString(line, -1) {
				told[id] = true
			}
		}
	}
	for _, id := range strings.Fields(decided) {
		if !told[id] {
			t.Errorf("%s: no story in react/testdata names this clause: tell one", id)
		}
	}
}
