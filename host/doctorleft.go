package host

import (
	"os"
	"path/filepath"

	"piworkflows/engine"
	"piworkflows/internal/wording"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/runqueue"
)

// left tells of what killed processes left beside the runs. A host removes it when it
// starts.
func (d *doctor) left() {
	ledger := Options{Paths: d.Paths}.processes()
	commands, err := engine.Leftovers(ledger)
	switch {
	case err != nil:
		d.addf(FindingCommandsLeft, SeverityWarning, "mend the permissions of "+ledger, "%v", err)
	case commands > 0:
		d.addf(FindingCommandsLeft, SeverityWarning, "$ host", "%s that killed processes started: a host ends them when it starts",
			wording.Count(commands, "command may go on", "commands may go on"))
	}
	if d.Spool == "" {
		return
	}
	runs, err := spool.Left(d.Spool)
	switch {
	case err != nil:
		d.addf(FindingOutputLeft, SeverityWarning, "mend the permissions of "+d.Spool, "%v", err)
	case len(runs) > 0:
		d.addf(FindingOutputLeft, SeverityNote, "$ host", "what %s printed is left in %s: a host removes it when it starts",
			wording.Count(len(runs), "killed run", "killed runs"), d.Spool)
	}
}

// cutOff tells of a bundle that was being made when its process died: it has no
// manifest yet. Whoever begins the run moves it out of the way.
func (d *doctor) cutOff(row runqueue.Row) bool {
	dir := filepath.Join(d.Runs, row.RunID)
	if _, err := runbundle.ReadManifest(dir); !unrecorded(err) {
		return false
	}
	if _, err := os.Lstat(dir); err != nil {
		return false
	}
	mend := "$ host"
	if row.ChildOf == "" && !row.Detached {
		mend = "$ resume " + row.RunID
	}
	d.addf(FindingBundleCutOff, SeverityNote, mend, "%s was being made when its process died: "+
		"whoever begins the run anew moves it out of the way", dir)
	return true
}
