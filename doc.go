// Package tack is the door of the harness: what an embedder imports first.
//
// It is empty for now. The rooms behind it are described in docs/overview.md.
package tack
