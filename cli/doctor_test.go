package cli

import (
	"testing"

	"piworkflows/controller"
	"piworkflows/host"
)

var someFindings = []host.Finding{
	{Code: host.FindingStoreSound, Severity: host.SeverityOK, Message: "/stores/controller.sqlite is sound: version 1, 144 KiB and 0 KiB of log"},
	{Code: host.FindingFrozen, Severity: host.SeverityNote, Message: "no effect is applied since 2027-01-05T08:14:59.000Z: the project was frozen by ada: incident", Run: "unfreeze"},
	{Code: host.FindingWorkWaits, Severity: host.SeverityWarning, Message: "3 pieces of work are due, for 12s at most, and no host runs in this project", Run: "host"},
	{Code: host.FindingLeftover, Severity: host.SeverityWarning, Message: "/stores/controller.sqlite.0a1b.tmp was left by a process that was killed", Do: "remove /stores/controller.sqlite.0a1b.tmp"},
	{Code: host.FindingProgramMissing, Severity: host.SeverityNote, Message: "pi was not found: agent steps that are done by Pi cannot be used", Do: "install Pi"},
}

var someEntries = []host.DefinitionEntry{
	{
		Kind: controller.KindController, Name: "git-merge", Place: host.PlaceProject, Source: ".pi/controllers/git-merge.controller.ts",
		Digest: "4f1c", State: host.DefinitionLoaded,
	},
	{
		Kind: controller.KindController, Name: "git-merge", Place: host.PlaceBuiltIn, Source: "go", Digest: "9a02",
		State: host.DefinitionHidden, HiddenBy: host.PlaceProject,
	},
	{
		Kind: controller.KindWorkflow, Name: "greet", Place: host.PlaceGlobal, Source: "a.workflow.ts", State: host.DefinitionBroken,
		Err: &host.DuplicateDefinitionError{
			Kind: controller.KindWorkflow, Name: "greet", Place: host.PlaceGlobal, Sources: []string{"a.workflow.ts", "b.workflow.ts"},
		},
	},
}

func TestTheScreenOfDefinitions(t *testing.T) {
	t.Parallel()
	a, out, _ := screen()
	if err := a.printDefinitions(someEntries, []notLoadedLine{{"nightly", 12}}); err != nil {
		t.Fatal(err)
	}
	golden(t, "screen-definitions.txt", out.String())
}

func TestTheScreenOfDoctor(t *testing.T) {
	t.Parallel()
	a, out, _ := screen()
	if err := a.showFindings(someFindings, 2); err != nil {
		t.Fatal(err)
	}
	golden(t, "screen-doctor.txt", out.String())
}

func TestDoctorFailsIfSomethingIsWrong(t *testing.T) {
	t.Parallel()
	a, _, _ := screen()
	if err := a.printFindings(someFindings[:2]); err != nil {
		t.Errorf("nothing is wrong: %v", err)
	}
	if err := a.printFindings(someFindings); codeOf(err) != "something_wrong" {
		t.Errorf("error %v", err)
	}
}
