// Package plugin holds what binds the parts of the harness together without
// their knowing each other.
//
// A Scope is a lifetime: what is registered through it is undone when it is
// closed, last first. Three kinds of typed keys name what is registered. A
// Service is had: one value, found by whoever needs it. An Event is told: all
// who listen hear it, and none can stop it. A Hook is asked: those who wrap it
// stand around an answer and may change the question, the answer, or both.
//
// Keys are package-level values and hold nothing; all that is registered is in
// scopes. Looking up goes from a scope to those it is in, up to the root: what
// is registered in an agent's scope is that agent's alone.
//
// Acquire first, then offer: as what came last is undone first, a plugin that
// registers its hooks and services after what they stand on never answers with
// half of itself gone.
package plugin
