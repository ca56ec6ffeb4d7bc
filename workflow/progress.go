package workflow

import (
	"encoding/json"
	"time"

	"piworkflows/internal/canonical"
)

// ProgressSchema names the shape of Progress.
const ProgressSchema = "pi-workflows.progress.v1"

// The bounds of the texts of a Progress, in characters.
const (
	MaxProgressLabel = 200
	MaxProgressPhase = 128
	MaxProgressUnit  = 32
)

// ProgressStatus is where the work that a Progress tells of stands.
type ProgressStatus string

// The statuses of progress.
const (
	ProgressPending   ProgressStatus = "pending"
	ProgressRunning   ProgressStatus = "running"
	ProgressWaiting   ProgressStatus = "waiting"
	ProgressBlocked   ProgressStatus = "blocked"
	ProgressCompleted ProgressStatus = "completed"
	ProgressFailed    ProgressStatus = "failed"
	ProgressCancelled ProgressStatus = "cancelled"
	ProgressUnknown   ProgressStatus = "unknown"
)

var progressStatuses = []ProgressStatus{
	ProgressPending, ProgressRunning, ProgressWaiting, ProgressBlocked,
	ProgressCompleted, ProgressFailed, ProgressCancelled, ProgressUnknown,
}

// Over reports whether the work has ended.
func (s ProgressStatus) Over() bool {
	return s == ProgressCompleted || s == ProgressFailed || s == ProgressCancelled
}

// Progress is the data of an update of type UpdateProgress: how far one piece of
// work, the key of the update, has come.
//
// Spec: workflow engine, Progress data.
type Progress struct {
	// Schema is ProgressSchema; Update fills it in.
	Schema string `json:"schema"`
	// Status is required.
	Status ProgressStatus `json:"status"`
	// Label names the work to people, Phase the part of it that is going on. Both
	// are printable and optional.
	Label string `json:"label,omitempty"`
	Phase string `json:"phase,omitempty"`
	// Completed and Total count units: Completed from zero, Total above zero and
	// not below Completed. Nil is unknown.
	Completed *float64 `json:"completed,omitempty"`
	Total     *float64 `json:"total,omitempty"`
	// Unit is what is counted; required with Completed or Total.
	Unit string `json:"unit,omitempty"`
	// SourceUpdatedAt is when the source of these facts last changed, and
	// SourceEstimatedFinishAt its own estimate. Both are RFC 3339 with an offset;
	// zero is unknown.
	SourceUpdatedAt         time.Time `json:"sourceUpdatedAt,omitzero"`
	SourceEstimatedFinishAt time.Time `json:"sourceEstimatedFinishAt,omitzero"`
}

// Update returns the update that publishes the progress of one piece of work.
func (p Progress) Update(key string) (Update, error) {
	p.Schema = ProgressSchema
	data, err := canonical.Marshal(p)
	if err != nil {
		return Update{}, &UpdateError{Type: UpdateProgress, Key: key, Problems: []Problem{{"data", err.Error()}}}
	}
	return Update{Type: UpdateProgress, Key: key, Data: data}.Normalised()
}

// ReadProgress decodes and checks the data of an update of type UpdateProgress.
// The error is an *UpdateError.
func ReadProgress(data json.RawMessage) (Progress, error) {
	var problems problems
	p := readProgress(&problems, data)
	if len(problems.list) > 0 {
		return Progress{}, &UpdateError{Type: UpdateProgress, Problems: problems.list}
	}
	return p, nil
}
