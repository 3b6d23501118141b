package host

import (
	"context"
	"strings"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// The services that the host finds what it works with by.
var (
	// Store keeps the sessions. A host that has none in its Options takes the
	// one a plugin gives; it is the host's from its plugin's start to its end.
	Store = plugin.NewService[session.Store]("host.store")
	// Driver makes the agents. It is looked up at each opening.
	Driver = plugin.NewService[agent.Driver]("host.driver")
	// Links reach other processes. There may be several.
	Links = plugin.NewService[Link]("host.link")
	// Self is the host, which it provides itself.
	Self = plugin.NewService[*Host]("host.self")
)

// Link is a way to the owner of a session in another process, which is where a
// session is written (contract F4). A plugin that provides one also listens, if
// it wants this process to be reached: who asks for a session gets
// (*Host).Open's answer, and an error that is session.ErrNotOwner crosses the
// link with the address it names, not followed further.
//
// All methods may be called at any time, at the same time.
type Link interface {
	// Scheme is what its addresses begin with, up to the first colon: unix.
	Scheme() string
	// Address is where this process is reached: unix:/run/tack/7.sock. Empty:
	// it isn't by this link. It is told with every heartbeat.
	Address() string
	// Dial reaches the agent that another process has on a session. Its answers
	// are the agent's own; the errors of package agent are recognised by
	// errors.Is on this side too. Where the process isn't there any more, or
	// ends during a call, a call that may have been done answers ErrUncertain
	// and one that was not ErrClosed. The context bounds the dialling only;
	// what it opened is the link's to close, at the latest with its scope.
	Dial(ctx context.Context, address string, id session.ID) (agent.Agent, error)
}

// linkFor finds the link whose scheme an address has.
func linkFor(s *plugin.Scope, address string) Link {
	scheme, _, _ := strings.Cut(address, ":")
	links := Links.All(s)
	for i := len(links) - 1; i >= 0; i-- {
		if links[i].Scheme() == scheme {
			return links[i]
		}
	}
	return nil
}

// addressOf is where this process is reached: by the first link that says so.
func addressOf(s *plugin.Scope) string {
	for _, link := range Links.All(s) {
		if address := link.Address(); address != "" {
			return address
		}
	}
	return ""
}
