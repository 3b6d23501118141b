package house

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The core is built from a copy that has nothing else. Its tests cost, so only CI runs them there.
func TestTheCoreStandsWithoutPlugins(t *testing.T) {
	if _, err := os.Stat(filepath.Join(top, "plugins")); err != nil {
		t.Skip("there is no plugins/ yet")
	}
	t.Parallel()
	alone := t.TempDir()
	copyCore(t, alone)
	steps := [][]string{{"build", "-trimpath", "./..."}}
	if os.Getenv("CI") == "true" {
		steps = append(steps, []string{"vet", "-trimpath", "./..."}, []string{"test", "-trimpath", "./..."})
	}
	for _, args := range steps {
		if out, err := goRun(t, alone, args...); err != nil {
			t.Fatalf("core alone, go %s: %v\n%s\tTo comply: let no room of the core need plugins/, cmd/ or the door.", args[0], err, out)
		}
	}
}

// A failure here is a finding about a library as often as about us.
func TestNoPackageIsSlowToInitialise(t *testing.T) {
	if _, err := os.Stat(filepath.Join(top, "cmd", "tack")); err != nil {
		t.Skip("there is no cmd/tack yet")
	}
	t.Parallel()
	tack := filepath.Join(t.TempDir(), "tack")
	if out, err := goRun(t, top, "build", "-o", tack, "./cmd/tack"); err != nil {
		t.Fatalf("build the stock binary: %v\n%s", err, out)
	}
	var traces []string
	for range 5 {
		traces = append(traces, traceInits(t, tack))
	}
	for _, f := range slowInits(traces) {
		t.Error(f)
	}
}

func copyCore(t *testing.T, to string) {
	t.Helper()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(top, name))
		if name == "go.sum" && os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	here := os.DirFS(top)
	for room, row := range table {
		if _, err := fs.Stat(here, room); err != nil || !slices.Contains(core, row.floor) {
			continue
		}
		if err := os.CopyFS(filepath.Join(to, room), os.DirFS(filepath.Join(top, room))); err != nil {
			t.Fatal(err)
		}
	}
}

// traceInits runs the program for nothing but its start: packages initialise before main.
func traceInits(t *testing.T, program string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--help")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	_ = cmd.Run() // --help may exit as it likes
	if !initLine.Match(trace.Bytes()) {
		t.Fatalf("%s printed no trace of its initialisation: %s", program, trace.Bytes())
	}
	return trace.String()
}

func goRun(t *testing.T, dir string, args ...string) (output []byte, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}
