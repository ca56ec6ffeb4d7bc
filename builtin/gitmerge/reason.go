package gitmerge

// The reasons of the conditions Ready and Verified. The first group are also
// the reasons of a blocked verify-branch.
const (
	// ReasonConflict: the two commits do not merge without a person.
	ReasonConflict = "Conflict"
	// ReasonUnrelated: the two commits have no common ancestor.
	ReasonUnrelated = "UnrelatedHistories"
	// ReasonCheckFailed and ReasonCheckTimedOut: the check did not pass on the
	// merged tree.
	ReasonCheckFailed   = "CheckFailed"
	ReasonCheckTimedOut = "CheckTimedOut"
	// ReasonHeadChanged: the branch is not at the expected head (any more).
	ReasonHeadChanged = "HeadChanged"
	// ReasonTargetChanged: the target moved during the verification.
	ReasonTargetChanged = "TargetChanged"
	// ReasonNoProgress: a step was repeated and nothing changed.
	ReasonNoProgress = "NoProgress"

	// ReasonVerifying: a verification is asked for or running.
	ReasonVerifying = "Verifying"
	// ReasonCheckPassed: the merged tree passed its check.
	ReasonCheckPassed = "CheckPassed"
	// ReasonVerificationFailed: the verification itself could not be done.
	ReasonVerificationFailed = "VerificationFailed"
	// ReasonAwaitingApproval: verified, and the spec does not approve the merge.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonMerging: the merge is proposed, its result not known yet.
	ReasonMerging = "Merging"
	// ReasonMerged: the controller merged it. ReasonAlreadyMerged: somebody did.
	ReasonMerged        = "Merged"
	ReasonAlreadyMerged = "AlreadyMerged"
	// ReasonMergeUndone: the target was moved back behind the merge.
	ReasonMergeUndone = "MergeUndone"

	// ReasonRepositoryMissing, ReasonBranchMissing and ReasonTargetMissing:
	// there is no such thing.
	ReasonRepositoryMissing = "RepositoryMissing"
	ReasonBranchMissing     = "BranchMissing"
	ReasonTargetMissing     = "TargetMissing"
	// ReasonTargetSymbolic: the target is another name of a branch.
	ReasonTargetSymbolic = "TargetSymbolic"
	// ReasonTargetCheckedOut: moving the target would pull it away from under
	// a worktree.
	ReasonTargetCheckedOut = "TargetCheckedOut"
	// ReasonGitUnusable: Git is missing or too old.
	ReasonGitUnusable = "GitUnusable"
	// ReasonDeleting: the deletion waits for a running verification.
	ReasonDeleting = "Deleting"
)

// VerifiedCondition is the condition type that tells whether the merge result
// passed its check; controller.Ready tells whether it is merged.
const VerifiedCondition = "Verified"
