package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tack-agent/tack/chat"
)

// Store keeps the logs of many sessions, who may write to which, and what
// belongs to them. session/storetest is this contract as tests.
//
// All methods may be called at the same time. Data handed to a store is not
// changed afterwards by either side, and neither is data a store returns.
// A context bounds the wait. An append whose context ends while it is under
// way answers ErrUncertain.
type Store interface {
	Journal
	Leases
	Snapshots
	Blobs

	// Level is what Durable means here.
	Level() Level
	// Close waits for the appends under way. Later calls answer ErrClosed, and
	// so do those that wait; another Close does nothing.
	Close() error
}

// Level is what a durable append survives.
type Level string

const (
	Ephemeral  Level = "ephemeral"  // nothing: the log is gone with the process
	Persistent Level = "persistent" // the loss of power: the log was synced to its disk
)

// Journal is the logs of a store.
type Journal interface {
	// Append commits records to sessions, with one sync for all of the call.
	// Each append stands for itself: its error, at its place in the answer,
	// says that nothing of it was written (or ErrUncertain), and the others
	// aren't touched by it. They happen in the order given, should two be to
	// the same session.
	Append(ctx context.Context, appends ...Append) []error
	// Read returns up to limit records, at least 1, with sequences above
	// after, in order and without a gap. Fewer don't mean the end, none means
	// that there are none yet. No session is an empty one.
	Read(ctx context.Context, id ID, after Seq, limit int) ([]Record, error)
	// Find returns the records that have ref, in order.
	Find(ctx context.Context, id ID, ref string) ([]Record, error)
	// Wait returns once the session has a record above after. It sees the
	// appends of this process at once, those of others within a second.
	Wait(ctx context.Context, id ID, after Seq) error

	// List returns all sessions that have a record, the last changed first.
	List(ctx context.Context) ([]Info, error)
	// Fork makes a session that shares a prefix with another. A *GapError
	// refuses a session that isn't empty or a record that doesn't follow the
	// prefix, ErrNotFound a parent that has no event At, from 1.
	Fork(ctx context.Context, f Fork) error
	// Remove deletes a session, its snapshots and its blobs. All its leases
	// are void after it, for ever; the id may be used anew.
	Remove(ctx context.Context, lease Lease) error
}

// Append is what one session's owner wants to add.
type Append struct {
	Lease Lease
	// Records have the consecutive sequences that follow the log's last one.
	// In this order, a *NotOwnerError refuses a void lease, a *GapError other
	// sequences, and an *ExistsError a claim that is taken, also by a record of
	// the same append. The most that one of them needs, all do. An append
	// without records only checks the lease.
	Records []Record
}

// Need is the most that one of the records needs.
func (a Append) Need() Need {
	for _, r := range a.Records {
		if r.Need == Durable {
			return Durable
		}
	}
	return Written
}

// Info describes a session.
type Info struct {
	ID      ID        `json:"id"`
	Head    Seq       `json:"head"`    // the last record
	Created time.Time `json:"created"` // of the first record
	Changed time.Time `json:"changed"` // of the last record
}

// Fork describes a session to make: the events of Parent up to At, at their
// sequences, with their refs and blobs, and one record after them.
type Fork struct {
	Lease  Lease // of the new session, which must be empty
	Parent ID
	At     Seq
	// Forget lists claims of the prefix that the new session doesn't take
	// over, with the refs of the same key: what was pending was never accepted
	// there. Its records may be read back with those keys or without.
	Forget []string
	Record Record // with the sequence At+1
}

// Leases say which process may write to a session. A lease belongs to a
// process and holds as long as its heartbeat does; a session belongs to one
// process at a time. Each owner has a higher token than the one before, and
// an append with another token than the present one is refused inside its own
// transaction. So a process that wakes late writes nothing.
type Leases interface {
	// Beat says that a process lives, and will for ttl from now. The first
	// beat makes it known. One that comes late makes it live again; it has
	// lost only what others have acquired since.
	Beat(ctx context.Context, p Process, ttl time.Duration) error
	// Leave frees all sessions of a process at once.
	Leave(ctx context.Context, process string) error
	// Acquire makes a living process the owner of a session, known or new.
	// While another owner lives the answer is a *NotOwnerError with its
	// address. An owner may acquire anew: its older lease is void then. A
	// process that doesn't live gets another error.
	Acquire(ctx context.Context, id ID, process string) (Lease, error)
	// Release frees a session. A lease that is void is not an error.
	Release(ctx context.Context, lease Lease) error
	// Owner returns the living process that owns a session; the zero Process
	// if there is none.
	Owner(ctx context.Context, id ID) (Process, error)
}

// Process is what may own sessions.
type Process struct {
	ID      string `json:"id"`
	Address string `json:"address,omitempty"` // where it is reached: unix:/run/…/sock
}

// Lease is the right to write to a session.
type Lease struct {
	Session ID
	Process string
	Token   uint64 // above all that the id had before, also before a Remove
	Head    Seq    // the last record when it was acquired
}

// Snapshots keep the states of folds, so that opening reads a tail only.
type Snapshots interface {
	// Save keeps the newest snapshot of each fold: the one with the highest
	// sequence, of several the last. It is a hint: one that is lost or older
	// than another is rebuilt. A *NotOwnerError refuses a void lease,
	// ErrNotFound a snapshot of an event that isn't in the log.
	Save(ctx context.Context, lease Lease, s Snapshot) error
	// Snapshot returns the newest one; ErrNotFound if there is none.
	Snapshot(ctx context.Context, id ID, fold string) (Snapshot, error)
}

// Snapshot is the state of a fold after an event.
type Snapshot struct {
	Fold    string // its name
	Version int    // of the fold; another one reads as none
	Seq     Seq    // the last event in it
	Data    []byte
}

// Blobs keep the big things that facts name, each under what it is.
type Blobs interface {
	// Put keeps data for a session. It is as durable as the next durable
	// append to that session.
	Put(ctx context.Context, id ID, data []byte) (chat.Blob, error)
	// Blob returns the bytes; ErrNotFound if the session hasn't them.
	Blob(ctx context.Context, id ID, digest string) ([]byte, error)
}

var (
	// ErrExists is in the chain of every *ExistsError.
	ErrExists = errors.New("already in the log")
	// ErrNotOwner is in the chain of every *NotOwnerError.
	ErrNotOwner = errors.New("owned by another")
	// ErrUncertain says that an append may have been written or not. What is
	// in the log is known only after a successful sync, by a fresh lease.
	ErrUncertain = errors.New("outcome of the write is unknown")
	// ErrGap is in the chain of every *GapError.
	ErrGap = errors.New("not the next sequence")
	// ErrNotFound says that there is no such session, event, snapshot or blob.
	ErrNotFound = errors.New("not found")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("store is closed")
)

// ExistsError says that a claim is taken, and by which event. Seq is the place
// the record would have had if both are in one append.
type ExistsError struct {
	Claim string
	Seq   Seq
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s is %v, as event %d", e.Claim, ErrExists, e.Seq)
}

func (e *ExistsError) Unwrap() error { return ErrExists }

// NotOwnerError says who owns a session; Owner is zero where nobody does and
// the lease is merely void.
type NotOwnerError struct {
	Session ID
	Owner   Process
}

func (e *NotOwnerError) Error() string {
	if e.Owner.ID == "" {
		return fmt.Sprintf("session %s: the lease is void", e.Session)
	}
	return fmt.Sprintf("session %s is %v: process %s at %q", e.Session, ErrNotOwner, e.Owner.ID, e.Owner.Address)
}

func (e *NotOwnerError) Unwrap() error { return ErrNotOwner }

// GapError says that records don't follow the log's last one.
type GapError struct {
	Session ID
	Got     Seq // the first sequence that is wrong
	Want    Seq // what it should have been
}

func (e *GapError) Error() string {
	return fmt.Sprintf("append to session %s: event %d is %v, %d is", e.Session, e.Got, ErrGap, e.Want)
}

func (e *GapError) Unwrap() error { return ErrGap }
