package engine

import "piworkflows/runbundle/spool"

// openSpool removes what a dead owner of the run left, and makes room for what
// this one prints.
func (r *Run) openSpool() {
	o := r.e.o
	so := spool.Options{
		Dir: o.SpoolDir, RunID: r.o.RunID, Bytes: o.SpoolBytes, FS: o.FS, Clock: o.Clock, Logger: o.Logger,
	}
	if o.Printed != nil {
		so.Tell = func(p spool.Piece) { o.Printed(r.o.RunID, p) }
	}
	r.spool = spool.New(so)
}

// output takes what the attempt prints; whoever asks for it closes it.
func (a *attempt) output() *spool.File { return a.r.spool.Attempt(a.node.NodeID(), a.c.AttemptID) }
