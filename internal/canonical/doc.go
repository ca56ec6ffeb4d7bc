// Package canonical holds the rules for JSON text that crosses a border of the
// program: what is accepted, how it is compared, and how it becomes Go values.
//
// User values stay JSON text inside the program, and other programs (JavaScript
// above all) read the same text. So a text is accepted only if every reader
// sees one and the same value in it: no duplicate keys, no lone surrogates, no
// number that a float64 would change silently.
//
// All functions are safe for concurrent use and keep no reference to their
// arguments.
package canonical
