package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tack-agent/tack/chat"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// filled sets every field of a value to something that isn't zero, so that a
// field which the codec loses shows.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text <&> é")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(8)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"key": "value"}))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(i))
		}
	case reflect.Slice:
		fillSlice(v)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)))
			return
		}
		for i := range v.NumField() {
			filled(v.Field(i))
		}
	default:
		panic("a field of kind " + v.Kind().String())
	}
}

func fillSlice(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"<&>":12345678901234567890.10,"x":[]}`))
	case reflect.TypeFor[[]byte]():
		v.SetBytes([]byte{0, 255})
	default:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			filled(v.Index(i))
		}
	}
}

// everyFact is one filled fact of each core type, by type.
func everyFact() []Fact {
	empty := []Fact{
		Accepted{},
		Entered{},
		Refused{},
		Taken{},
		Withdrawn{},
		Amended{},
		Cancelled{},
		Parked{},
		Released{},
		TurnStarted{},
		TurnEnded{},
		Halted{},
		Header{},
		Until{},
		Attempt{},
		Reopened{},
		Answered{},
		CallStarted{},
		Resulted{},
		Question{},
		Reply{},
		Replaced{},
		Configured{},
		Spawned{},
		Parent{},
		Forked{},
	}
	var all []Fact
	for _, f := range empty {
		v := reflect.New(reflect.TypeOf(f)).Elem()
		filled(v)
		all = append(all, v.Interface().(Fact))
	}
	slices.SortFunc(all, func(a, b Fact) int { return strings.Compare(a.Type(), b.Type()) })
	return all
}

func TestEveryCoreFactIsKnownToTheCodec(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "facts.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Recv != nil && f.Name.Name == "Type" {
			declared++
		}
	}
	if got, want := len(core), declared-1; got != want { // Noted is no core fact
		t.Errorf("the codec knows %d types of facts, facts.go declares %d: add the new one to core in codec.go", got, want)
	}
	for _, f := range everyFact() {
		if _, known := core[f.Type()]; !known {
			t.Errorf("the codec doesn't know %q: add it to core in codec.go", f.Type())
		}
	}
	if got := len(everyFact()); got != len(core) {
		t.Errorf("%d facts are tested, the codec knows %d: add the new one to everyFact", got, len(core))
	}
}

func TestFactsComeBackAsTheyWere(t *testing.T) {
	for _, f := range everyFact() {
		e := Event{Seq: 9, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Fact: f}
		r, err := Encode(e)
		if err != nil {
			t.Errorf("encode %s: %v", f.Type(), err)
			continue
		}
		got, err := Decode("s", r)
		if err != nil {
			t.Errorf("decode %s: %v", f.Type(), err)
			continue
		}
		if diff := cmp.Diff(e, got); diff != "" {
			t.Errorf("%s came back otherwise (-was +is):\n%s", f.Type(), diff)
		}
	}
}

// A field that is set alone comes back too: what is left out says nothing of
// what isn't.
func TestEachFieldOfAFactComesBackAlone(t *testing.T) {
	for _, f := range everyFact() {
		kind := reflect.TypeOf(f)
		for i := range kind.NumField() {
			v := reflect.New(kind).Elem()
			filled(v.Field(i))
			want := v.Interface().(Fact)
			r, err := Encode(Event{Seq: 1, Fact: want})
			if err != nil {
				t.Errorf("encode %s with %s: %v", f.Type(), kind.Field(i).Name, err)
				continue
			}
			got, err := Decode("s", r)
			if err != nil {
				t.Errorf("decode %s with %s: %v", f.Type(), kind.Field(i).Name, err)
			} else if diff := cmp.Diff(want, got.Fact); diff != "" {
				t.Errorf("%s with %s came back otherwise (-was +is):\n%s", f.Type(), kind.Field(i).Name, diff)
			}
		}
	}
}

// TestTheFormatOfFactsIsPinned shows every change of what is written. A change
// that an older reader would misread needs a new version in codec.go.
func TestTheFormatOfFactsIsPinned(t *testing.T) {
	var got bytes.Buffer
	for _, f := range everyFact() {
		r, err := Encode(Event{Seq: 1, Fact: f})
		if err != nil {
			t.Fatal(err)
		}
		need := map[Need]string{Written: "written", Durable: "durable"}[r.Need]
		got.WriteString(r.Type + " v" + string(rune('0'+r.Version)) + " " + need)
		if r.Claim != "" {
			got.WriteString(" claim=" + r.Claim)
		}
		got.WriteString(" refs=" + strings.Join(r.Refs, ",") + "\n\t" + string(r.Data) + "\n")
	}
	const golden = "testdata/facts.golden"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("what is written has changed (-was +is); if older readers still read it rightly: go test ./session -run Pinned -update\n%s", diff)
	}
}

func TestProviderDataIsWrittenByteForByte(t *testing.T) {
	provider := json.RawMessage(`{"signature":"a<b>&c","n":1.50,"deep":{"z":1,"a":[null]}}`)
	f := Answered{Answer: chat.Answer{Finish: chat.FinishStop, Blocks: []chat.Block{{Kind: chat.BlockReasoning, Provider: provider}}}}
	r, err := Encode(Event{Seq: 1, Fact: f})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(r.Data, provider) {
		t.Errorf("written %s, want in it %s", r.Data, provider)
	}
}

func TestWhatCantBeReadIsRefusedByNameWithAdvice(t *testing.T) {
	good, err := Encode(Event{Seq: 3, Fact: TurnStarted{Turn: 1}})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		change func(*Record)
		says   string
	}{
		"S4: an unknown core fact": {func(r *Record) { r.Type = "teleported" }, `unknown fact "teleported": update tack`},
		"S4: a newer version":      {func(r *Record) { r.Version = 2 }, `"turn.started" has version 2 and only 1 is known: update tack`},
		"no version":               {func(r *Record) { r.Version = 0 }, "version 0 and the first is 1"},
		"data that is null":        {func(r *Record) { r.Data = []byte("null") }, "not a JSON object"},
		"damaged data":             {func(r *Record) { r.Data = r.Data[:3] }, "the log may be damaged"},
	}
	for name, c := range cases {
		r := good
		c.change(&r)
		_, err := Decode("7f", r)
		var format *FormatError
		if !errors.As(err, &format) || !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: got %v, want a FormatError", name, err)
			continue
		}
		if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "session 7f: event 3") {
			t.Errorf("%s: says %q, want the session, the event and %q", name, err, c.says)
		}
	}
}

func TestAPluginsFactIsKeptAndFoundAndMayBeUnknown(t *testing.T) {
	n := Noted{Kind: "todo/changed", Version: 3, Data: json.RawMessage(`{"x":1}`), Key: "todo/1", Finds: []string{"todo"}}
	r, err := Encode(Event{Seq: 1, Fact: n})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode("s", r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Fact(n), got.Fact); diff != "" {
		t.Errorf("R1: came back otherwise (-was +is):\n%s", diff)
	}
	for what, bad := range map[string]Noted{
		"a core fact's name":   {Kind: "accepted", Version: 1, Data: n.Data},
		"no version":           {Kind: "a/b", Data: n.Data},
		"data that isn't JSON": {Kind: "a/b", Version: 1, Data: json.RawMessage("{")},
	} {
		if _, err := Encode(Event{Seq: 1, Fact: bad}); err == nil {
			t.Errorf("%s: encoded, want an error", what)
		}
	}
}

func TestNoneIsNotAll(t *testing.T) {
	for _, f := range []Fact{Configured{Tools: []string{}}, Parked{Reason: ParkedStopped, IDs: []string{}}, Configured{}, Parked{Reason: ParkedBudget}} {
		r, err := Encode(Event{Seq: 1, Fact: f})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode("s", r)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Fact, f) {
			t.Errorf("%#v came back as %#v: an empty list is none, and nil is all", f, got.Fact)
		}
	}
}
