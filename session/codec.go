package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Need is how safe a record must be before anyone acts on it.
type Need int

const (
	// Written survives the end of the process, kill -9 included. The next
	// durable append makes it durable too.
	Written Need = iota
	// Durable survives what the store's level says: for a durable store, the
	// loss of power.
	Durable
)

// Record is an event as a store keeps it.
type Record struct {
	Seq     Seq       `json:"seq"`
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Version int       `json:"v"`
	Data    []byte    `json:"-"` // compact JSON
	// Claim is a key that only one record of the session can have, for ever.
	// Empty claims nothing.
	Claim string   `json:"-"`
	Refs  []string `json:"-"` // the keys the record is found by
	Need  Need     `json:"-"` // not kept
}

// kind is what the codec knows of one type of core fact.
type kind struct {
	version int
	need    Need
	decode  func([]byte) (Fact, error)
}

// core lists the core facts by type. A version rises when an older reader
// would misread the data; its decoder reads all versions up to it.
var core = map[string]kind{
	Accepted{}.Type():    {1, Durable, into[Accepted]},
	Entered{}.Type():     {1, Written, into[Entered]},
	Refused{}.Type():     {1, Written, into[Refused]},
	Taken{}.Type():       {1, Written, into[Taken]},
	Withdrawn{}.Type():   {1, Durable, into[Withdrawn]},
	Amended{}.Type():     {1, Durable, into[Amended]},
	Cancelled{}.Type():   {1, Durable, into[Cancelled]},
	Parked{}.Type():      {1, Written, into[Parked]},
	Released{}.Type():    {1, Written, into[Released]},
	TurnStarted{}.Type(): {1, Written, into[TurnStarted]},
	Halted{}.Type():      {1, Written, into[Halted]},
	TurnEnded{}.Type():   {1, Written, into[TurnEnded]},
	Header{}.Type():      {1, Written, into[Header]},
	Until{}.Type():       {1, Written, into[Until]},
	Attempt{}.Type():     {1, Written, into[Attempt]},
	Reopened{}.Type():    {1, Written, into[Reopened]},
	Answered{}.Type():    {1, Durable, into[Answered]},
	CallStarted{}.Type(): {1, Durable, into[CallStarted]},
	Resulted{}.Type():    {1, Durable, into[Resulted]},
	Question{}.Type():    {1, Durable, into[Question]},
	Reply{}.Type():       {1, Durable, into[Reply]},
	Replaced{}.Type():    {1, Durable, into[Replaced]},
	Configured{}.Type():  {1, Durable, into[Configured]},
	Spawned{}.Type():     {1, Durable, into[Spawned]},
	Parent{}.Type():      {1, Durable, into[Parent]},
	Forked{}.Type():      {1, Durable, into[Forked]},
}

func into[F Fact](data []byte) (Fact, error) {
	var f F
	err := json.Unmarshal(data, &f)
	return f, err
}

// ErrUnreadable is in the chain of every *FormatError.
var ErrUnreadable = errors.New("not readable by this version of tack")

// FormatError says that a session holds a fact which this version of the
// program can't read. Nothing of the session is lost by it.
type FormatError struct {
	Session ID
	Seq     Seq
	Type    string
	Version int
	Known   int // the newest version that is known of Type; 0 if none is
	Err     error
}

func (e *FormatError) Error() string {
	at := fmt.Sprintf("read session %s: event %d: ", e.Session, e.Seq)
	switch {
	case e.Err != nil:
		return at + fmt.Sprintf("%q version %d: %v: the log may be damaged; restore it from a backup", e.Type, e.Version, e.Err)
	case e.Version < 1:
		return at + fmt.Sprintf("%q has version %d and the first is 1: the log is damaged; restore it from a backup", e.Type, e.Version)
	case e.Known == 0:
		return at + fmt.Sprintf("unknown fact %q: update tack, or open the session with the version that wrote it", e.Type)
	default:
		return at + fmt.Sprintf("%q has version %d and only %d is known: update tack", e.Type, e.Version, e.Known)
	}
}

func (e *FormatError) Unwrap() []error { return []error{ErrUnreadable, e.Err} }

// Encode makes the record of an event.
func Encode(e Event) (Record, error) {
	r := Record{Seq: e.Seq, Time: e.Time, Type: e.Fact.Type()}
	if n, noted := e.Fact.(Noted); noted {
		if err := n.Validate(); err != nil {
			return Record{}, err
		}
		r.Version, r.Data = n.Version, n.Data
	} else {
		k, known := core[r.Type]
		if !known {
			return Record{}, fmt.Errorf("encode fact: %q is no core fact; a plugin's is a Noted", r.Type)
		}
		data, err := encode(e.Fact)
		if err != nil {
			return Record{}, fmt.Errorf("encode fact %q: %w", r.Type, err)
		}
		r.Version, r.Need, r.Data = k.version, k.need, data
	}
	if f, claims := e.Fact.(interface{ Claim() string }); claims {
		r.Claim = f.Claim()
	}
	if f, refers := e.Fact.(interface{ Refs() []string }); refers {
		r.Refs = f.Refs()
	}
	return r, nil
}

var errNoObject = errors.New("not a JSON object")

// Decode reads the record of a session. A plugin's fact comes back as Noted;
// a core fact that isn't known is a *FormatError.
func Decode(id ID, r Record) (Event, error) {
	e := Event{Seq: r.Seq, Time: r.Time}
	if pluginType(r.Type) {
		n := Noted{Kind: r.Type, Version: r.Version, Data: r.Data, Key: strings.TrimPrefix(r.Claim, notedKeys)}
		for _, ref := range r.Refs {
			n.Finds = append(n.Finds, strings.TrimPrefix(ref, notedKeys))
		}
		e.Fact = n
		return e, nil
	}
	k := core[r.Type]
	if r.Version > k.version || r.Version < 1 {
		return e, &FormatError{Session: id, Seq: r.Seq, Type: r.Type, Version: r.Version, Known: k.version}
	}
	fact, err := k.decode(r.Data)
	if err == nil && !bytes.HasPrefix(r.Data, []byte("{")) {
		err = errNoObject
	}
	if err != nil {
		return e, &FormatError{Session: id, Seq: r.Seq, Type: r.Type, Version: r.Version, Known: k.version, Err: err}
	}
	e.Fact = fact
	return e, nil
}

// Validate keeps plugins' facts out of the core's names and readable.
func (n Noted) Validate() error {
	switch {
	case !pluginType(n.Kind):
		return fmt.Errorf("encode fact %q: a plugin's fact is named plugin/fact", n.Kind)
	case n.Version < 1:
		return fmt.Errorf("encode fact %q: version %d, the first is 1", n.Kind, n.Version)
	case !json.Valid(n.Data):
		return fmt.Errorf("encode fact %q: its data is not JSON", n.Kind)
	}
	return nil
}

// encode writes v as JSON and leaves < > & and provider data as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
