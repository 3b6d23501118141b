// Package house holds the rules of the house as tests. No product imports it.
//
// A rule is a function from the source tree to findings; each finding says what
// is wrong and how to comply. [rules] lists those that only read, and TestHouse
// runs them on this repository. Two more run the go command: the core builds
// without its plugins, and no package is slow to initialise.
//
// To add a rule: write the function in a file named after what it watches, add
// it to [rules] under a name that is a sentence, and give it examples in
// examples_test.go. A rule without an example that it catches fails the tests:
// a rule that cannot fail is worth nothing.
//
// To allow an import, change the table in rooms.go or the list in libraries.go,
// with the reason; a decision note says what was given up.
//
// Not here yet: the configuration snippets in the READMEs boot. That rule needs
// a host to boot them with.
package house
