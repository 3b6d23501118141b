// Package catalog is the ledger of the public names and what plugin authors may
// use, kept in the folder api. No product imports it.
//
// Generating and verifying are one function, [catalog]: the test writes what it
// returns (-update), or compares it with what is there. What is public is every
// package outside internal, cmd, bench and tools, as it builds on linux/amd64
// without cgo.
//
// Two promises are judged on the way, by type and not by name: nothing but the
// three verbs delivers a message (verbs.go), and what hooks are asked and answer
// is data (data.go). Each has a table of exceptions, with reasons; an exception
// that nothing needs fails.
package catalog

//go:generate go test -run TestTheCatalogIsUpToDate . -update
