package archtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ours makes a package of the module.
func ours(path string, imports ...string) pkg {
	return pkg{path: module + "/" + path, imports: imports, module: module}
}

// TestForbiddenArrows proves that each rule of the picture can break.
func TestForbiddenArrows(t *testing.T) {
	t.Parallel()
	tests := []struct{ from, to string }{
		{"workflow", "controller"},
		{"workflow", "engine"},
		{"workflow", "runbundle"},
		{"workflow", "runqueue"},
		{"controller", "workflow"},
		{"controller", "engine"},
		{"controller", "runbundle"},
		{"controller", "host"},
		{"controller/conditions", "store/sqlite"},
		{"engine", "controller"},
		{"engine", "runqueue"},
		{"engine", "host"},
		{"engine", "store/sqlite"},
		{"engine/shell", "controller/effects"},
		{"builtin/gitmerge", "engine"},
		{"builtin/gitmerge", "host"},
		{"builtin/gitmerge", "store/sqlite"},
		{"store/sqlite", "engine"},
		{"store/sqlite", "store/postgres"},
		{"store/sqlite", "store/storetest"},
		{"store/storetest", "store/sqlite"},
		{"runqueue", "controller"},
		{"runbundle", "workflow"},
		{"view", "controller"},
		{"view", "engine"},
		{"agent", "controller"},
		{"source", "engine"},
		{"tsdef", "engine"},
		{"host", "cli"},
		{"host", "builtin/gitmerge"},
		{"host", "testkit"},
		{"cli", "builtin/gitmerge"},
		{"cli", "demo"},
		{"cli", "store/sqlite"},
		{"lease", "runqueue"},
		{"lease", "secret"},
		{"clock", "lease"},
		{"clock", "controller"},
		{"internal/canonical", "clock"},
		{"internal/git", "workflow"},
		{"demo", "cmd/pi-workflows"},
		{"cmd/pi-workflows", "test/harness"},
	}
	for _, test := range tests {
		got := checkArrows(rooms, []pkg{ours(test.from, "fmt", module+"/"+test.to)})
		if len(got) != 1 || !strings.Contains(got[0], module+"/"+test.from+" imports "+module+"/"+test.to) {
			t.Errorf("%s → %s: %q", test.from, test.to, got)
		}
	}
}

func TestAllowedArrows(t *testing.T) {
	t.Parallel()
	tests := []struct{ from, to string }{
		{"cmd/pi-workflows", "cli"},
		{"cmd/pi-workflows", "internal/git"},
		{"demo", "builtin/gitmerge"},
		{"host", "engine"},
		{"cli", "engine"},
		{"host", "controller"},
		{"controller", "runqueue"},
		{"controller/conditions", "controller"},
		{"engine", "workflow"},
		{"store/sqlite", "controller"},
		{"workflow", "clock"},
		{"lease", "clock"},
		{"lease", "internal/limit"},
		{"internal/durable", "internal/limit"},
	}
	for _, test := range tests {
		if got := checkArrows(rooms, []pkg{ours(test.from, module+"/"+test.to)}); got != nil {
			t.Errorf("%s → %s: %q", test.from, test.to, got)
		}
	}
}

func TestPackageInNoRoom(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"utils", "store", "store/memory", "controllers"} {
		if got := checkArrows(rooms, []pkg{ours(path)}); len(got) != 1 || !strings.Contains(got[0], "in no room") {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestCheckTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		house []room
		want  string
	}{
		{"up", []room{{path: "a"}, {path: "b", uses: []string{"a"}}}, "b uses a, which is not below it"},
		{"itself", []room{{path: "a", uses: []string{"a"}}}, "a uses a, which is not below it"},
		{"nowhere", []room{{path: "a", uses: []string{"b"}}}, "a uses b, which is not below it"},
		{"twice", []room{{path: "a"}, {path: "a"}}, "a is drawn twice"},
		{
			"joined", []room{{path: "a", uses: []string{"*"}}, {path: "engine"}, {path: "controller"}},
			"a may import both controller and engine; only a joiner may",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{test.want}, checkTable(test.house, []string{"b"})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCarriesFollowsEveryImport(t *testing.T) {
	t.Parallel()
	graph := []pkg{
		ours("controller", "fmt", module+"/internal/ids"),
		ours("controller/deep", "x.example/deep"),
		ours("internal/ids", "x.example/uuid/v7"),
		ours("cli", "x.example/cobra"),
		{path: "fmt", imports: []string{"os"}},
		{path: "x.example/deep", module: "x.example/deep", imports: []string{"x.example/uuid/v7"}},
		{path: "x.example/uuid/v7", module: "x.example/uuid"},
		{path: "x.example/cobra", module: "x.example/cobra"},
	}
	want := []string{"x.example/deep", "x.example/uuid"}
	if got := carries(rooms, graph, "controller"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
