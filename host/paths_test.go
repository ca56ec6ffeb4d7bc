package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"piworkflows/host"
)

func TestLocate(t *testing.T) {
	project := t.TempDir()
	root := t.TempDir()
	t.Setenv("PI_WORKFLOWS_CONTROLLER_DIR", root)
	t.Setenv("PI_WORKFLOWS_RUNS_DIR", "")
	t.Setenv("HOME", root)
	got, err := host.Locate(host.Places{Project: project})
	if err != nil {
		t.Fatal(err)
	}
	if dir := filepath.Dir(filepath.Dir(got.Store)); dir != filepath.Join(root, "projects") {
		t.Errorf("Store = %s", got.Store)
	}
	if want := filepath.Join(root, ".pi", "agent", "workflows", "runs"); got.Runs != want {
		t.Errorf("Runs = %s, want %s", got.Runs, want)
	}
	if want := filepath.Join(root, ".pi", "agent", "workflows", "spool"); got.Spool != want {
		t.Errorf("Spool = %s, want %s", got.Spool, want)
	}
	chosen, err := host.Locate(host.Places{Project: project, Store: "x.sqlite", Runs: "mine"})
	if err != nil || !filepath.IsAbs(chosen.Store) || !filepath.IsAbs(chosen.Runs) || chosen.Spool != chosen.Runs+".spool" {
		t.Errorf("Locate = %+v, %v", chosen, err)
	}
}

func TestLocateFollowsLinksToTheProject(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(project, link); err != nil {
		t.Fatal(err)
	}
	direct, err := host.Locate(host.Places{Project: project})
	if err != nil {
		t.Fatal(err)
	}
	if linked, err := host.Locate(host.Places{Project: link}); err != nil || linked != direct {
		t.Errorf("Locate = %+v, %v, want %+v", linked, err, direct)
	}
}

func TestLocateRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, file + "-missing"} {
		if _, err := host.Locate(host.Places{Project: dir}); !isProjectError(err) {
			t.Errorf("Locate(%s) = %v, want a *ProjectError", dir, err)
		}
	}
	_, err := host.Locate(host.Places{Project: t.TempDir(), Store: "postgres://user:secret@localhost/db"})
	if unsupported, ok := errors.AsType[*host.UnsupportedStoreError](err); !ok {
		t.Errorf("Locate = %v, want an *UnsupportedStoreError", err)
	} else if text := unsupported.Error(); filepath.Base(text) == "" || containsSecret(text) {
		t.Errorf("the error tells the password: %s", text)
	}
}
