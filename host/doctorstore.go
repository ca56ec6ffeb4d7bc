package host

import (
	"strings"

	"piworkflows/store/sqlite"
)

// largeLog is the size of a write-ahead log that is not copied into its file any
// more: four times what is kept of it.
const largeLog = 256 << 20

// file looks at the file of the store.
func (d *doctor) file(i sqlite.Inspection) {
	if i.Problem != "" {
		d.addf(FindingStoreDamaged, SeverityError, "$ restore FILE", "%s is damaged: %s", d.Store, i.Problem)
	} else {
		d.addf(FindingStoreSound, SeverityOK, "",
			"%s is sound: version %d, %s and %s of log", d.Store, i.Version, size(i.Bytes), size(i.LogBytes))
	}
	if i.LogBytes > largeLog {
		d.addf(FindingLogLarge, SeverityWarning, "end the command that has been reading for long",
			"the log of the store has grown to %s: something reads the store and does not come to an end", size(i.LogBytes))
	}
}

// owners tells who has the store open.
func (d *doctor) owners(i sqlite.Inspection) {
	var alive []string
	for _, o := range i.Owners {
		if o.Dead {
			d.addf(FindingOwnerDead, SeverityNote, "$ host", "%s died: whoever opens the store next frees what it had claimed", o.Label)
			continue
		}
		alive = append(alive, o.Label)
	}
	if len(alive) > 0 {
		d.addf(FindingOwners, SeverityOK, "", "open for writing: %s", strings.Join(alive, "; "))
	}
}

// beside looks at the files beside the store.
func (d *doctor) beside(i sqlite.Inspection) {
	for _, path := range i.Leftovers {
		d.addf(FindingLeftover, SeverityWarning, "remove "+path, "%s was left by a process that was killed", path)
	}
	for _, path := range i.Kept {
		d.addf(FindingKept, SeverityNote, "remove it once it is not needed", "%s is the store that a restoration replaced", path)
	}
}

// size writes bytes for people.
func size(bytes int64) string {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	switch {
	case bytes >= 10*gib:
		return count(bytes/gib, "GiB")
	case bytes >= 10*mib:
		return count(bytes/mib, "MiB")
	}
	return count((bytes+kib-1)/kib, "KiB")
}
