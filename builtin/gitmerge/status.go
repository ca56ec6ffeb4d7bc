package gitmerge

// Status is what the controller remembers between passes. All else it reads
// again each time.
type Status struct {
	// Repository is where a worktree or a ref of ours may be; empty: nowhere.
	Repository string `json:"repository,omitempty"`
	// Head and Target are the commits that the last pass found.
	Head   string `json:"head,omitempty"`
	Target string `json:"target,omitempty"`
	// Candidate is the merge commit that passed its check.
	Candidate string `json:"candidate,omitempty"`
	// Round counts the verifications that proved nothing; each asks for a
	// verification of its own.
	Round int `json:"round,omitempty"`
	// Rejections counts the proposals that came to nothing.
	Rejections int `json:"rejections,omitempty"`
	// Proposal is the merge whose result is not known yet. While there is one,
	// no other is made.
	Proposal *Proposal `json:"proposal,omitempty"`
	// Merge is what the controller merged last.
	Merge *Merge `json:"merge,omitempty"`
}

// Proposal is one intended merge. It is in the status before its effect is
// tried, so that the effect is found again whatever happens to the refs.
type Proposal struct {
	// Key is the key of the effect.
	Key string `json:"key"`
	// Generation is the one of the spec that asked for it.
	Generation int64 `json:"generation"`
	// Branch and Target are full ref names.
	Branch string `json:"branch"`
	Target string `json:"target"`
	// Head is the commit that Branch must be at, Old the one of Target.
	Head string `json:"head"`
	Old  string `json:"old"`
	// Candidate is the commit that Target moves to.
	Candidate string `json:"candidate"`
}

// Merge is one merge that was made.
type Merge struct {
	Candidate string `json:"candidate"`
	// Generation is the one of the spec that asked for it.
	Generation int64 `json:"generation"`
}
