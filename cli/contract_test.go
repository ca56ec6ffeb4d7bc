package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

var contract = filepath.Join("..", "docs", "cli-json.md")

// The examples of docs/cli-json.md are what the code writes, for each command.
func TestTheDocumentedJSONIsWhatIsWritten(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(contract)
	if err != nil {
		t.Fatal(err)
	}
	document := string(text)
	for command, write := range jsonResults() {
		a, out, errs := screen(outputJSON)
		if err := write(a); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		got := out.String() + errs.String()
		start, end := example(t, document, command)
		if *update {
			document = document[:start] + got + document[end:]
			continue
		}
		if diff := cmp.Diff(document[start:end], got); diff != "" {
			t.Errorf("example of %s (-documented +written):\n%s", command, diff)
		}
	}
	if *update {
		if err := os.WriteFile(contract, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// example finds the first JSON block below the heading of a command.
func example(t *testing.T, document, command string) (start, end int) {
	t.Helper()
	const opening, closing = "```json\n", "```"
	section := strings.Index(document, "\n## "+command+"\n")
	if section < 0 {
		t.Fatalf("%s has no section %q", contract, command)
	}
	start = section + strings.Index(document[section:], opening) + len(opening)
	return start, start + strings.Index(document[start:], closing)
}

var someContents = host.StoreContents{Version: 1, Bytes: 122880, Resources: 3, Effects: 1, Runs: 2, Events: 28}

func jsonResults() map[string]func(a *App) error {
	resource := readyResource()
	ref := resource.Metadata.Ref()
	return map[string]func(a *App) error{
		"controllers": func(a *App) error { return a.printResources(someLines(), "Zm9v", nil) },
		"controller":  func(a *App) error { return a.printPicture(somePicture()) },
		"apply": func(a *App) error {
			return a.printApplied(controller.PutResult{Action: controller.Configured, Resource: resource}, false)
		},
		"reconcile": func(a *App) error { return a.printRequested([]controller.Ref{ref}, true) },
		"delete": func(a *App) error {
			return a.printDeleted(deleteResult{
				head: schema("delete"), Controller: ref.Controller, Key: ref.Key, Resource: &resource,
				WaitsFor: reasonsOf([]controller.Cause{{
					Code: controller.ReasonHeldByFinalizer, Next: controller.ActorHost,
					Message: "its deletion waits until its controller has cleaned up: git-merge/worktree",
				}}),
			})
		},
		"explain": func(a *App) error {
			return a.printExplanation(ref, somePicture().why)
		},
		"suspend": func(a *App) error {
			return a.printSuspension(suspendResult{schema("suspend"), ref.Controller, ref.Key, true, true})
		},
		"unsuspend": func(a *App) error {
			return a.printSuspension(suspendResult{schema("unsuspend"), ref.Controller, ref.Key, false, false})
		},
		"effects": func(a *App) error { return a.printEffects(someEffects(), "41") },
		"effects resolve": func(a *App) error {
			return a.printResolved(ref, someEffects()[0].Effect, controller.VerdictApplied)
		},
		"freeze":        func(a *App) error { return a.printFreeze(freezeResult{schema("freeze"), true, true}) },
		"unfreeze":      func(a *App) error { return a.printFreeze(freezeResult{schema("unfreeze"), false, false}) },
		"sources":       func(a *App) error { return a.printSources(someSources()) },
		"queue list":    func(a *App) error { return a.printQueue(somePage()) },
		"queue rebuild": func(a *App) error { return a.printRebuilt(3) },
		"wait": func(a *App) error {
			return a.printWaited(waiter{ref: ref, goal: goal{"Verified", controller.True}}, &resource)
		},
		"events": func(a *App) error {
			return a.printEvents(nil, eventsResult{head: schema("events"), Events: eventsOf(someEvents()), Next: "MTo0Mg"}, nil)
		},
		"prune": func(a *App) error {
			return a.printPruned(host.Pruned{
				Events: 1204, Effects: 3, Deliveries: 17, Resources: []controller.Ref{ref},
				Runs: []host.PrunedRun{{
					RunID: someResult.RunID, Workflow: "greet", Status: runqueue.Done,
					EndedAt: clocktest.Epoch.Add(-91 * 24 * time.Hour), Bytes: 20480, Reason: host.TooOld,
				}},
			}, true)
		},
		"definitions": func(a *App) error {
			return a.printDefinitions(someEntries, []notLoadedLine{{"nightly", 12}})
		},
		"doctor": func(a *App) error {
			list := []host.Finding{someFindings[0], someFindings[2]}
			return a.showFindings(list, len(host.Wrong(list)))
		},
		"backup": func(a *App) error {
			return a.printJSON(backupResult{schema("backup"), "/backups/monday.sqlite", copyOf(someContents)})
		},
		"restore": func(a *App) error {
			return a.printRestored("/backups/monday.sqlite", host.Paths{Store: "/stores/controller.sqlite"}, host.Restoration{
				StoreRestored: host.StoreRestored{
					Contents: someContents, Kept: "/stores/controller.sqlite.before-restore-20270105T081500.000Z", Doubted: 1,
				},
				Runs: []host.UnrecordedRun{{RunID: someResult.RunID, Workflow: "greet", Fate: host.FateEnded}},
			})
		},
		"restore --accept": func(a *App) error { return a.printAccepted(true) },
		"host":             func(a *App) error { return a.printLeft(someSummary) },
		"run": func(a *App) error {
			return a.printRun("run", "", host.Paths{Runs: "/srv/ada/.pi/agent/workflows/runs"}, someResult)
		},
		"resume": func(a *App) error {
			return a.printRun("resume", "", host.Paths{Runs: "/srv/ada/.pi/agent/workflows/runs"}, someResult)
		},
		"answer": func(a *App) error {
			return a.printRun("answer", "20270105T081400Z-greet-1b2c3d4e", host.Paths{Runs: "/srv/ada/.pi/agent/workflows/runs"}, someResult)
		},
		"cancel": func(a *App) error {
			return a.printCancelled(cancelResult{schema("cancel"), someResult.RunID, "parked"})
		},
		"pause": func(a *App) error {
			return a.printPaused(pauseResult{schema("pause"), someResult.RunID, host.StatusPaused, "process 4711 on ada"})
		},
		"runs": func(a *App) error { return a.printRuns(someRunLines()) },
		"view": func(a *App) error { return a.printRunJSON(someBundle(), "", 0) },
		"logs": func(a *App) error {
			p := &logPrinter{app: a, logs: &logs{bundle: someBundle(), notKept: 1}}
			return errors.Join(p.piece(outputPiece{
				Node: "check", Attempt: "0f6c1d2e-0000-4000-8000-000000000001", Stream: "stdout", Text: "ok  \tall\n", At: "2027-01-05T08:15:00.005Z",
			}), p.end(context.Background()))
		},
		"graph": func(a *App) error { return a.showGraph("greet", "json", false) },
		"bench": func(a *App) error { return a.printBench(someBench) },
		"version": func(a *App) error {
			return a.printJSON(versionResult{schema("version"), a.o.Version, "go1.26", "linux", "amd64"})
		},
		"Errors": func(a *App) error {
			writeErrorJSON(a.o.Stderr, &controller.ConflictError{Ref: ref, Expected: 6, Current: 7})
			return nil
		},
	}
}

// Each command that prints a result is in the document, and each code of an
// error too.
func TestTheContractIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(contract)
	if err != nil {
		t.Fatal(err)
	}
	a, _, _ := screen()
	for _, name := range leaves(a.root(nil)) {
		family, _, _ := strings.Cut(name, " ")
		if family != "help" && family != "completion" && jsonResults()[name] == nil && jsonResults()[family] == nil {
			t.Errorf("command %s has no example", name)
		}
	}
	for code := range codes {
		if !strings.Contains(string(text), "`"+code+"`") {
			t.Errorf("code %s is not in %s", code, contract)
		}
	}
	for _, m := range regexp.MustCompile(`"schema": "([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
		others := []string{"pi-workflows.definition-snapshot.v1", workflow.ProgressSchema}
		if !strings.HasPrefix(m[1], product+".cli.") && !slices.Contains(others, m[1]) {
			t.Errorf("schema %s is not one of ours", m[1])
		}
	}
}

func someEffects() []effectLine {
	ref, e := readyResource().Metadata.Ref(), somePicture().effects[0]
	return []effectLine{{
		Controller: ref.Controller, ResourceKey: ref.Key, Effect: e,
		Attempts: []controller.EffectAttempt{{
			Number: 1, Action: controller.ActionApply, StartedAt: e.StartedAt, EndedAt: e.CompletedAt, Outcome: controller.OutcomeApplied,
		}},
	}}
}

// leaves names the commands that do something.
func leaves(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		if c.HasSubCommands() {
			names = append(names, leaves(c)...)
			continue
		}
		names = append(names, strings.TrimPrefix(c.CommandPath(), product+" "))
	}
	return names
}

func TestHelpFitsTheScreen(t *testing.T) {
	t.Parallel()
	a, out, _ := screen()
	commands := [][]string{{"--help"}}
	for _, name := range leaves(a.root(nil)) {
		commands = append(commands, append(strings.Fields(name), "--help"))
	}
	for _, args := range commands {
		out.Reset()
		if code := a.Execute(context.Background(), args); code != exitDone {
			t.Errorf("%v: exit %d", args, code)
		}
		for line := range strings.Lines(out.String()) {
			if args[0] != "completion" && len([]rune(line)) > 81 {
				t.Errorf("%v: line of %d characters: %q", args, len([]rune(line)), line)
			}
		}
	}
}
