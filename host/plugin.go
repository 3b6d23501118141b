package host

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tack-agent/tack/plugin"
)

// Plugin is a part that the host starts when what it needs is there, and stops
// before that goes.
//
// Its life: Start is called with a scope that nobody else sees into. When it
// has returned nil, all that it registered is shown at once; when it hasn't,
// the scope is closed and nothing of it stays. A plugin is stopped by closing
// its scope. It has no other end.
type Plugin struct {
	// Name tells it from the others of a shelf.
	Name string
	// Needs are services that have to be there. It finds them anew at each use:
	// whoever provides them may be replaced while it runs.
	Needs []plugin.Key
	// Holds are needs that it keeps in hand from its start. It is restarted
	// together with whoever provides one of them.
	Holds []plugin.Key
	// Gives are the services that its start provides.
	Gives []plugin.Key
	// Config is what it was configured with. Of a plugin that comes again with
	// a deeply equal one nothing is restarted.
	Config any
	// Required stops the host's start if this plugin doesn't start.
	Required bool
	// Exclusive has the old instance stopped before a new one starts, as they
	// would be in each other's way: both want the same port or file.
	Exclusive bool
	// Start registers all that the plugin is. The context bounds the start
	// only; what is to go on belongs to the scope.
	Start func(ctx context.Context, s *plugin.Scope) error
}

// Shelf is the set of plugins that a host runs. Where needs leave a choice they
// start in this order.
type Shelf []Plugin

// needs lists what p can't be without.
func (p *Plugin) needs() []plugin.Key { return slices.Concat(p.Needs, p.Holds) }

func (p *Plugin) gives(k plugin.Key) bool { return slices.Contains(p.Gives, k) }

// same says whether a running p needn't be restarted to be q.
func (p *Plugin) same(q *Plugin) bool {
	return p.Required == q.Required && p.Exclusive == q.Exclusive && slices.Equal(p.Needs, q.Needs) &&
		slices.Equal(p.Holds, q.Holds) && slices.Equal(p.Gives, q.Gives) && reflect.DeepEqual(p.Config, q.Config)
}

// check names what is wrong with a shelf before anything is started.
func (s Shelf) check() error {
	seen := map[string]bool{}
	for i, p := range s {
		switch {
		case p.Name == "":
			return fmt.Errorf("plugin %d of the shelf has no name", i)
		case p.Start == nil:
			return fmt.Errorf("plugin %s has no Start", p.Name)
		case seen[p.Name]:
			return fmt.Errorf("plugin %s is on the shelf twice: give one another name", p.Name)
		}
		seen[p.Name] = true
	}
	return nil
}

var (
	// ErrMissing is in the chain of every *MissingError.
	ErrMissing = errors.New("isn't there")
	// ErrCycle is in the chain of every *CycleError.
	ErrCycle = errors.New("needs itself")
)

// PluginError names a plugin that did not start, or did not end well.
type PluginError struct {
	Plugin string
	Err    error
}

func (e *PluginError) Error() string { return fmt.Sprintf("plugin %s: %v", e.Plugin, e.Err) }

func (e *PluginError) Unwrap() error { return e.Err }

// MissingError names a service that a plugin needs and nobody provides.
type MissingError struct {
	Service string
	Givers  []string // the plugins that would, had they started
}

func (e *MissingError) Error() string {
	if len(e.Givers) == 0 {
		return fmt.Sprintf("service %s %v: no plugin gives it", e.Service, ErrMissing)
	}
	return fmt.Sprintf("service %s %v: it is given by %s, not started", e.Service, ErrMissing, strings.Join(e.Givers, ", "))
}

func (e *MissingError) Unwrap() error { return ErrMissing }

// CycleError names plugins that wait for each other: each needs a service of
// the next, and the last of the first.
type CycleError struct {
	Plugins  []string
	Services []string // at i: what i needs of the next
}

func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString(e.Plugins[0])
	for i, service := range e.Services {
		fmt.Fprintf(&b, " needs service %s of %s", service, e.Plugins[(i+1)%len(e.Plugins)])
		if i < len(e.Services)-1 {
			b.WriteString(", which")
		}
	}
	return fmt.Sprintf("%v: %s", ErrCycle, b.String())
}

func (e *CycleError) Unwrap() error { return ErrCycle }

// starting marks the context of a plugin's start.
type starting struct{}

// begin calls Start, and waits no longer for it than ctx allows.
func (p *Plugin) begin(ctx context.Context, s *plugin.Scope) error {
	ctx = context.WithValue(ctx, starting{}, true)
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if value := recover(); value != nil {
				ended <- &plugin.PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
		ended <- p.Start(ctx, s)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("start: %w", context.Cause(ctx))
	}
}
