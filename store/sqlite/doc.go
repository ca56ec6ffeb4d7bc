// Package sqlite keeps the resources and the runs of projects in one SQLite
// file. It implements controller.Store and runqueue.Store over it.
//
// A Store has one connection that writes and a few that read. Callers hand
// their writes, as closures that may run again, to a goroutine that runs all
// that come before its commit in one transaction: they share its fsync. Several
// processes may open one file; claims and compare-and-swap arbitrate between
// them, each process notices the commits of the others, and whoever finds that a
// process is dead gives back what it had claimed.
//
// Times in the file are milliseconds since 1970, JSON is canonical text.
//
// Spec: controller runtime, Work queue.
package sqlite
