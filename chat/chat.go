// Package chat holds the words of a conversation: messages and who they are
// from, the parts they are made of, a model's answers, tool calls, their
// results, and token usage.
//
// Everything here is data. Values are immutable by custom: who changes one
// works on a Clone. JSON there and back leaves every valid value unchanged,
// provider data that nobody here understands included; no bytes and no list
// are the same as empty ones. An encoder that escapes HTML respells provider
// data; one told not to leaves its bytes alone.
package chat

import "maps"

// Role says how a model is to read a message.
type Role string

const (
	RoleUser   Role = "user"   // something to work on
	RoleSystem Role = "system" // guidance from whoever runs the agent
)

// SourceKind says what sort of sender a message has.
type SourceKind string

const (
	SourceUser   SourceKind = "user"   // a person
	SourcePlugin SourceKind = "plugin" // a part of the harness
	SourceAgent  SourceKind = "agent"  // another agent
	SourceHost   SourceKind = "host"   // the process that embeds the agent
)

// Source is who a message is from. Only people may leave their name out.
type Source struct {
	Kind SourceKind `json:"kind"`
	Name string     `json:"name,omitempty"` // the person, plugin, agent id or host
}

// User is a person without a name.
func User() Source { return Source{Kind: SourceUser} }

// Plugin is the plugin called name.
func Plugin(name string) Source { return Source{Kind: SourcePlugin, Name: name} }

// Agent is the agent whose session is id.
func Agent(id string) Source { return Source{Kind: SourceAgent, Name: id} }

// Host is the embedding process called name.
func Host(name string) Source { return Source{Kind: SourceHost, Name: name} }

// Message is what one sender says, as one unit.
//
// The id may be the sender's own: it is the idempotency key, unique in its
// session for ever. Meta is kept and shown to clients, never to the model.
type Message struct {
	ID     string            `json:"id"`
	Role   Role              `json:"role"`
	Source Source            `json:"source"`
	Parts  []Part            `json:"parts"`
	Meta   map[string]string `json:"meta,omitempty"`
}

// Say is a user message from a person, holding text.
func Say(text string) Message {
	return Message{Role: RoleUser, Source: User(), Parts: []Part{Text(text)}}
}

// From returns the message as sent by s.
func (m Message) From(s Source) Message { m.Source = s; return m }

// As returns the message under the given id.
func (m Message) As(id string) Message { m.ID = id; return m }

// Clone shares nothing with m.
func (m Message) Clone() Message {
	m.Parts = CloneParts(m.Parts)
	m.Meta = maps.Clone(m.Meta)
	return m
}

// Size is what a message counts against a limit, in bytes: its parts, inline
// or kept as blobs, and its meta.
func (m Message) Size() int64 {
	n := PartsSize(m.Parts)
	for k, v := range m.Meta {
		n += int64(len(k) + len(v))
	}
	return n
}
