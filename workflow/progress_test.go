package workflow_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/workflow"
)

// progress is the data of valid progress with more fields.
func progress(more string) string {
	return `{"schema":"pi-workflows.progress.v1","status":"running"` + more + `}`
}

func TestProgressIsChecked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data string
		want []flaw
	}{
		"least":               {progress(``), nil},
		"everything":          {progress(`,"label":"Tests","phase":"unit","completed":0,"total":0.5,"unit":"files","sourceUpdatedAt":"2027-01-05T08:15:00Z","sourceEstimatedFinishAt":"2027-01-05T09:15:00.25+01:00"`), nil},
		"complete":            {progress(`,"completed":7,"total":7,"unit":"%"`), nil},
		"completed alone":     {progress(`,"completed":12345.5,"unit":"rows"`), nil},
		"total alone":         {progress(`,"total":5,"unit":"rows"`), nil},
		"unit alone":          {progress(`,"unit":"rows"`), nil},
		"longest texts":       {progress(`,"label":" ` + strings.Repeat("é", 200) + ` ","phase":"` + strings.Repeat("é", 128) + `","unit":"` + strings.Repeat("é", 32) + `"`), nil},
		"no schema":           {`{"status":"running"}`, []flaw{{"data.schema", `must be "pi-workflows.progress.v1"`}}},
		"other schema":        {`{"schema":"pi-workflows.progress.v2","status":"running"}`, []flaw{{"data.schema", "must be"}}},
		"no status":           {`{"schema":"pi-workflows.progress.v1"}`, []flaw{{"data.status", `"" is none of`}}},
		"status of a null":    {`{"schema":"pi-workflows.progress.v1","status":null}`, []flaw{{"data.status", "must be a string"}, {"data.status", "is none"}}},
		"label too long":      {progress(`,"label":"` + strings.Repeat("é", 201) + `"`), []flaw{{"data.label", "has 201 characters, not 1 to 200"}}},
		"phase too long":      {progress(`,"phase":"` + strings.Repeat("é", 129) + `"`), []flaw{{"data.phase", "129"}}},
		"unit too long":       {progress(`,"unit":"` + strings.Repeat("é", 33) + `"`), []flaw{{"data.unit", "33"}}},
		"blank label":         {progress(`,"label":"  "`), []flaw{{"data.label", "has 0 characters"}}},
		"C0":                  {progress(`,"label":"a\u001bb"`), []flaw{{"data.label", "control"}}},
		"DEL":                 {progress(`,"phase":"a\u007fb"`), []flaw{{"data.phase", "control"}}},
		"C1":                  {progress(`,"unit":"a\u0085b"`), []flaw{{"data.unit", "control"}}},
		"line break":          {progress(`,"label":"a\n"`), []flaw{{"data.label", "control"}}},
		"label is a number":   {progress(`,"label":1`), []flaw{{"data.label", "must be a string"}}},
		"negative":            {progress(`,"completed":-0.1,"unit":"x"`), []flaw{{"data.completed", "-0.1 is negative"}}},
		"total of zero":       {progress(`,"total":0,"unit":"x"`), []flaw{{"data.total", "0 is not above zero"}}},
		"more than all":       {progress(`,"completed":3,"total":2.5,"unit":"x"`), []flaw{{"data.total", "2.5 is below completed 3"}}},
		"count as text":       {progress(`,"completed":"3","unit":"x"`), []flaw{{"data.completed", "must be a number"}}},
		"no unit":             {progress(`,"completed":3`), []flaw{{"data.unit", "required with completed or total"}}},
		"no unit of a total":  {progress(`,"total":3`), []flaw{{"data.unit", "required"}}},
		"unknown field":       {progress(`,"eta":3,"Label":"x"`), []flaw{{"data.Label", "no field of"}, {"data.eta", "no field of"}}},
		"odd field":           {progress(`,"a b":3`), []flaw{{`data["a b"]`, "no field of"}}},
		"no object":           {`[]`, []flaw{{"data", "must be a JSON object"}}},
		"several":             {`{"schema":"x","status":"running","label":"","total":-1}`, []flaw{{"data.schema", ""}, {"data.label", ""}, {"data.total", ""}, {"data.unit", ""}}},
		"time without offset": {progress(`,"sourceUpdatedAt":"2027-01-05T08:15:00"`), []flaw{{"data.sourceUpdatedAt", "no RFC 3339 time"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.ReadProgress(json.RawMessage(test.data))
			if test.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantFlaws(t, rejected(t, err).Problems, test.want)
		})
	}
}

func TestProgressTimesAreRFC3339(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"2027-01-05T08:15:00Z":           true,
		"2027-01-05T08:15:00.123456789Z": true,
		"2027-01-05T08:15:00-11:30":      true,
		"2027-01-05t08:15:00z":           false,
		"2027-01-05 08:15:00Z":           false,
		"2027-01-05T8:15:00Z":            false,
		"2027-01-05T08:15:00,5Z":         false,
		"2027-01-05T08:15Z":              false,
		"2027-01-05T08:15:00+0100":       false,
		"2027-01-05T08:15:00+24:00":      false,
		"2027-02-30T08:15:00Z":           false,
		"Zebra":                          false,
		"2027-01-05":                     false,
		"":                               false,
	}
	for text, fine := range tests {
		for _, field := range []string{"sourceUpdatedAt", "sourceEstimatedFinishAt"} {
			_, err := workflow.ReadProgress(json.RawMessage(progress(`,"` + field + `":"` + text + `"`)))
			if (err == nil) != fine {
				t.Errorf("%s %q: %v", field, text, err)
			}
		}
	}
}

func TestProgressMakesAnUpdateThatReadsBack(t *testing.T) {
	t.Parallel()
	done, all := 2.5, 10.0
	p := workflow.Progress{
		Status: workflow.ProgressRunning, Label: "Tests", Phase: "unit", Completed: &done, Total: &all, Unit: "files",
		SourceUpdatedAt:         time.Date(2027, 1, 5, 8, 15, 0, 0, time.UTC),
		SourceEstimatedFinishAt: time.Date(2027, 1, 5, 9, 15, 0, 5e8, time.UTC),
	}
	u, err := p.Update("overall")
	if err != nil {
		t.Fatal(err)
	}
	if u.Type != workflow.UpdateProgress || u.Key != "overall" {
		t.Errorf("update %+v", u)
	}
	back, err := workflow.ReadProgress(u.Data)
	p.Schema = workflow.ProgressSchema
	if diff := cmp.Diff(p, back); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	least, err := workflow.Progress{Status: workflow.ProgressPending}.Update("k")
	if want := `{"schema":"pi-workflows.progress.v1","status":"pending"}`; err != nil || string(least.Data) != want {
		t.Errorf("%s %v", least.Data, err)
	}
}

func TestProgressThatMakesNoUpdate(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, p := range []workflow.Progress{{}, {Status: "on"}, {Status: workflow.ProgressRunning, Completed: &nan, Unit: "x"}} {
		_, err := p.Update("k")
		rejected(t, err)
	}
	_, err := workflow.Progress{Status: workflow.ProgressRunning}.Update("no key")
	if got := rejected(t, err); got.Problems[0].Place != "key" {
		t.Error(err)
	}
}

func TestProgressIsOver(t *testing.T) {
	t.Parallel()
	over := map[workflow.ProgressStatus]bool{
		workflow.ProgressPending: false, workflow.ProgressRunning: false, workflow.ProgressWaiting: false, workflow.ProgressBlocked: false,
		workflow.ProgressUnknown: false, workflow.ProgressCompleted: true, workflow.ProgressFailed: true, workflow.ProgressCancelled: true,
	}
	for status, want := range over {
		if status.Over() != want {
			t.Errorf("%s: over %v", status, status.Over())
		}
	}
}
