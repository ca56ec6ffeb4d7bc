package host

import "slices"

// FindingCode is the stable code of a finding; docs/doctor.md has an entry for each.
type FindingCode string

// The codes of findings, in the order in which they are looked for.
const (
	FindingStoreMissing   FindingCode = "store_missing"
	FindingStoreUnusable  FindingCode = "store_unusable"
	FindingStoreDamaged   FindingCode = "store_damaged"
	FindingStoreSound     FindingCode = "store_sound"
	FindingLogLarge       FindingCode = "store_log_large"
	FindingOwners         FindingCode = "store_owners"
	FindingOwnerDead      FindingCode = "owner_dead"
	FindingLeftover       FindingCode = "leftover_file"
	FindingKept           FindingCode = "store_kept"
	FindingFrozen         FindingCode = "project_frozen"
	FindingRestored       FindingCode = "project_restored"
	FindingHostRuns       FindingCode = "host_runs"
	FindingWorkers        FindingCode = "workers_run"
	FindingNoHost         FindingCode = "no_host"
	FindingWorkWaits      FindingCode = "work_waits"
	FindingInDoubt        FindingCode = "effects_in_doubt"
	FindingRunInterrupted FindingCode = "runs_interrupted"
	FindingRunUnrecorded  FindingCode = "run_unrecorded"
	FindingBundleCutOff   FindingCode = "bundle_cut_off"
	FindingSourceDegraded FindingCode = "source_degraded"
	FindingSourceFailing  FindingCode = "source_failing"
	FindingDefinitions    FindingCode = "definitions"
	FindingDefinition     FindingCode = "definition_broken"
	FindingNotLoaded      FindingCode = "controller_not_loaded"
	FindingRuns           FindingCode = "runs_root"
	FindingRunsMissing    FindingCode = "runs_root_missing"
	FindingRunsUnusable   FindingCode = "runs_root_unusable"
	FindingCommandsLeft   FindingCode = "commands_left"
	FindingOutputLeft     FindingCode = "output_left"
	FindingSpaceLow       FindingCode = "disk_space_low"
	FindingSpace          FindingCode = "disk_space"
	FindingWatchLimit     FindingCode = "watch_limit"
	FindingWatchLimitLow  FindingCode = "watch_limit_low"
	FindingProgram        FindingCode = "program_found"
	FindingProgramMissing FindingCode = "program_missing"
	FindingProgramOld     FindingCode = "program_too_old"
)

// FindingCodes returns all codes, in order.
func FindingCodes() []FindingCode {
	return []FindingCode{
		FindingStoreMissing, FindingStoreUnusable, FindingStoreDamaged, FindingStoreSound, FindingLogLarge,
		FindingOwners, FindingOwnerDead, FindingLeftover, FindingKept, FindingFrozen, FindingRestored,
		FindingHostRuns, FindingWorkers, FindingNoHost, FindingWorkWaits, FindingInDoubt, FindingRunInterrupted, FindingRunUnrecorded,
		FindingBundleCutOff,
		FindingSourceDegraded, FindingSourceFailing,
		FindingDefinitions, FindingDefinition, FindingNotLoaded,
		FindingRuns, FindingRunsMissing, FindingRunsUnusable,
		FindingCommandsLeft, FindingOutputLeft,
		FindingSpaceLow, FindingSpace, FindingWatchLimit, FindingWatchLimitLow,
		FindingProgram, FindingProgramMissing, FindingProgramOld,
	}
}

// Severity says how much a finding matters.
type Severity string

// The severities. Something is wrong with a warning or an error.
const (
	// SeverityOK is as it should be.
	SeverityOK Severity = "ok"
	// SeverityNote is good to know.
	SeverityNote Severity = "note"
	// SeverityWarning works, and will not for long, or not for all.
	SeverityWarning Severity = "warning"
	// SeverityError does not work.
	SeverityError Severity = "error"
)

// Finding is one thing that Diagnose looked at.
type Finding struct {
	Code     FindingCode
	Severity Severity
	Message  string
	// Run is the command of this program that mends it or shows more, Do is what else
	// does; both are empty if there is nothing to do.
	Run, Do string
}

// Wrong reports whether a person should act on the finding.
func (f Finding) Wrong() bool { return f.Severity == SeverityWarning || f.Severity == SeverityError }

// Wrong returns the findings that a person should act on.
func Wrong(list []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(list), func(f Finding) bool { return !f.Wrong() })
}
