package cli

import (
	"errors"
	"slices"

	"piworkflows/agent"
	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/internal/canonical"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/secret"
	"piworkflows/view"
	"piworkflows/workflow"
)

// maxShownValue bounds what an error repeats of a value that was too long.
const maxShownValue = 80

type fields = map[string]any

// errorFields returns what the typed error within err knows, under the names
// of the JSON contract.
func errorFields(err error) fields {
	for _, known := range slices.Concat(runErrorFields(), effectErrorFields(), []func(error) (fields, bool){
		field(func(e *controller.LimitError) fields {
			return fields{"what": e.What, "limit": e.Limit, "size": e.Size, "unit": e.Unit}
		}),
		field(func(e *controller.NotFoundError) fields { return refFields(e.Ref) }),
		field(func(e *controller.DeletingError) fields { return refFields(e.Ref) }),
		field(func(e *controller.ConflictError) fields {
			f := refFields(e.Ref)
			f["expected"], f["current"] = e.Expected, e.Current
			return f
		}),
		field(func(e *controller.NameError) fields {
			return fields{"what": e.What, "value": view.Fit(e.Value, maxShownValue), "rule": e.Rule}
		}),
		field(func(e *controller.SpecError) fields {
			return fields{"controller": e.Controller, "problems": e.Problems}
		}),
		field(func(e *controller.UnknownControllerError) fields {
			return fields{"name": e.Name, "known": orEmpty(e.Known)}
		}),
		field(func(e *controller.UnknownWorkflowError) fields {
			return fields{"name": e.Name, "known": orEmpty(e.Known)}
		}),
		field(func(e *workflow.InvalidError) fields {
			return fields{"workflow": e.Workflow, "problems": problems(e.Problems)}
		}),
		field(func(e *agent.ScriptError) fields { return fields{"problems": pointed(e.Problems)} }),
		field(func(e *agent.UnusedError) fields { return fields{"left": e.Left} }),
		field(func(e *canonical.Error) fields { return fields{"pointer": e.Pointer, "offset": e.Offset} }),
		field(func(e *host.HeldError) fields { return fields{"lock": e.Lock, "holder": e.Holder} }),
		field(func(e *host.ListenError) fields { return fields{"address": e.Addr} }),
		field(func(e *host.InvalidAddressError) fields { return fields{"address": e.Addr} }),
		field(func(e *host.UnguardedError) fields { return fields{"address": e.Addr} }),
		field(func(e *host.DrainError) fields { return fields{"afterMs": e.After.Milliseconds()} }),
		field(func(e *secret.LeakError) fields { return fields{"what": e.What} }),
		field(func(e *secret.UnavailableError) fields { return fields{"secret": e.Ref.String()} }),
		field(func(e *lease.LostError) fields { return fields{"what": e.What, "reason": e.Reason} }),
		field(func(e *runqueue.NotFoundError) fields { return fields{"runId": e.RunID} }),
		field(func(e *view.StepError) fields { return fields{"runId": e.RunID, "step": e.Step, "steps": e.Steps} }),
		field(func(e *NodeError) fields { return fields{"runId": e.RunID, "node": view.Fit(e.Node, maxShownValue)} }),
		field(func(e *RunError) fields { return fields{"runId": e.RunID, "status": e.Status, "runErrorCode": e.Code} }),
		field(func(e *FileError) fields { return fields{"path": e.Path} }),
		field(func(e *MissingFileError) fields { return fields{"path": e.Path} }),
		field(func(e *PassFailedError) fields { return refFields(e.Ref) }),
		field(func(e *TimeoutError) fields {
			return fields{"for": e.For, "last": e.Last, "timeoutMs": e.Timeout.Milliseconds()}
		}),
		field(func(e *BrokenError) fields { return fields{"broken": e.Broken} }),
		field(func(e *FindingsError) fields { return fields{"wrong": e.Wrong} }),
		field(func(e *UnfinishedError) fields { return fields{"failed": pendingsOf(e.Failed)} }),
	}) {
		if f, ok := known(err); ok {
			return f
		}
	}
	return nil
}

// effectErrorFields are those of errors about effects and deletions.
func effectErrorFields() []func(error) (fields, bool) {
	return []func(error) (fields, bool){
		field(func(e *controller.EffectNotFoundError) fields { return effectFields(e.Ref, e.Effect) }),
		field(func(e *controller.EffectBusyError) fields { return effectFields(e.Ref, e.Effect) }),
		field(func(e *controller.EffectResolvedError) fields {
			f := effectFields(e.Ref, e.Effect)
			f["state"] = e.State
			return f
		}),
		field(func(e *controller.ForceError) fields { return finalizerFields(e.Ref, e.Finalizer) }),
		field(func(e *controller.FinalizerNotFoundError) fields {
			f := finalizerFields(e.Ref, e.Finalizer)
			f["present"] = orEmpty(e.Present)
			return f
		}),
		field(func(e *controller.UnfinishedEffectsError) fields {
			f := refFields(e.Ref)
			f["effects"] = orEmpty(e.Effects)
			return f
		}),
	}
}

// field gives the fields of one type of error.
func field[E error](read func(E) fields) func(error) (fields, bool) {
	return func(err error) (fields, bool) {
		e, ok := errors.AsType[E](err)
		if !ok {
			return nil, false
		}
		return read(e), true
	}
}

func finalizerFields(r controller.Ref, finalizer string) fields {
	f := refFields(r)
	f["finalizer"] = view.Fit(finalizer, maxShownValue)
	return f
}

func effectFields(r controller.Ref, effect string) fields {
	f := refFields(r)
	f["effect"] = effect
	return f
}

// runErrorFields are those of the errors about one run.
func runErrorFields() []func(error) (fields, bool) {
	return []func(error) (fields, bool){
		field(func(e *runqueue.HeldError) fields { return fields{"runId": e.RunID, "holder": e.Holder} }),
		field(func(e *runqueue.EndedError) fields { return fields{"runId": e.RunID, "status": e.Status} }),
		field(func(e *runbundle.EndedError) fields { return fields{"runId": e.RunID, "status": e.Status} }),
		field(func(e *runqueue.NotWaitingError) fields { return fields{"runId": e.RunID, "status": e.Status} }),
		field(func(e *engine.NotWaitingError) fields { return fields{"runId": e.RunID, "status": e.Status} }),
		field(func(e *host.NotRunningError) fields { return fields{"runId": e.RunID, "status": e.Status} }),
		field(func(e *runqueue.ContinuedError) fields { return fields{"runId": e.RunID, "continuedBy": e.ContinuedBy} }),
		field(func(e *runqueue.ChildRunError) fields { return fields{"runId": e.RunID, "childOf": e.ChildOf} }),
		field(func(e *engine.SourceChangedError) fields {
			return fields{"runId": e.RunID, "differences": e.Differences}
		}),
		field(func(e *engine.NodeGoneError) fields { return fields{"runId": e.RunID, "node": e.Node} }),
	}
}

func refFields(r controller.Ref) fields { return fields{"controller": r.Controller, "key": r.Key} }

// problems gives the problems of a definition their names in JSON.
func problems(list []workflow.Problem) []fields {
	out := make([]fields, len(list))
	for i, p := range list {
		out[i] = fields{"place": p.Place, "message": p.Message}
	}
	return out
}

// pointed gives problems whose places are JSON pointers their names in JSON.
func pointed(list []workflow.Problem) []fields {
	out := make([]fields, len(list))
	for i, p := range list {
		out[i] = fields{"pointer": p.Place, "message": p.Message}
	}
	return out
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
