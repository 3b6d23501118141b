package agenttest

import "github.com/tack-agent/tack/session"

// noted is a plugin's fact.
func noted(kind string) session.Noted {
	return session.Noted{Kind: kind, Version: 1, Data: []byte(`{"n":1}`)}
}
