package house

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const top = "../.." // of the repository, from here

func TestHouse(t *testing.T) {
	house := read(t, os.DirFS(top))
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, f := range rule.check(house) {
				t.Error(f)
			}
		})
	}
	for _, f := range filesBeyond(house, longFile) {
		t.Log("worth a look: ", f)
	}
}

func TestARuleCatchesWhatItForbids(t *testing.T) {
	for _, example := range examples {
		t.Run(example.name, func(t *testing.T) {
			i := slices.IndexFunc(rules, func(r rule) bool { return r.name == example.rule })
			if i < 0 {
				t.Fatalf("no rule is called %q", example.rule)
			}
			found := rules[i].check(read(t, example.tree()))
			var got []string
			for _, f := range found {
				got = append(got, f.where+": "+f.wrong)
				if f.comply == "" {
					t.Errorf("%v\nThe finding doesn't say how to comply.", f)
				}
			}
			if !slices.EqualFunc(got, example.want, strings.HasPrefix) {
				t.Errorf("got findings\n\t%s\nwant findings that begin with\n\t%s", strings.Join(got, "\n\t"), strings.Join(example.want, "\n\t"))
			}
		})
	}
}

func TestEveryRuleCanFailAndPass(t *testing.T) {
	for _, rule := range rules {
		var fails, passes bool
		for _, example := range examples {
			fails = fails || example.rule == rule.name && len(example.want) > 0
			passes = passes || example.rule == rule.name && len(example.want) == 0
		}
		if !fails || !passes {
			t.Errorf("rule %q: example that breaks it: %v, example that keeps it: %v; add both to examples_test.go", rule.name, fails, passes)
		}
	}
}

func TestALongFileIsWorthALook(t *testing.T) {
	house := read(t, source{"chat/chat.go": "package chat\n" + strings.Repeat("\n", longFile)}.fs())
	if found := filesBeyond(house, longFile); len(found) != 1 {
		t.Errorf("got %v, want one finding for a file of %d lines", found, longFile+1)
	}
	if found := filesAreShort(house); len(found) != 0 {
		t.Errorf("got %v, want none: only %d lines fail", found, tooLongFile+1)
	}
}

func TestASlowInitIsSlowInEveryRun(t *testing.T) {
	quick := "init lib/quick @0.1 ms, 0.9 ms clock, 16 bytes, 1 allocs\n"
	slow := "init lib/slow @0.1 ms, 1.5 ms clock, 16 bytes, 1 allocs\n"
	unlucky := "init lib/quick @0.1 ms, 7.1 ms clock, 16 bytes, 1 allocs\n"
	found := slowInits([]string{quick + slow, slow + unlucky})
	if len(found) != 1 || found[0].where != "lib/slow" {
		t.Errorf("got %v, want one finding, about lib/slow", found)
	}
}

// source is a small module: the text of each file by its path.
type source map[string]string

func (s source) fs() fs.FS {
	files := fstest.MapFS{"go.mod": {Data: []byte("module example.org/m\n")}}
	for name, text := range s {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func read(t *testing.T, fsys fs.FS) *tree {
	t.Helper()
	tree, err := readTree(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
