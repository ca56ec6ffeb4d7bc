package main

import (
	"bytes"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The story ends as it should, and leaves no credentials anywhere but in the files
// that they came from.
func TestStory(t *testing.T) {
	t.Parallel()
	t.Cleanup(closeIdle)
	folder := t.TempDir()
	var out, log bytes.Buffer
	err := tell(t.Context(), &out, folder, slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), log.String())
	}
	_, end, _ := strings.Cut(out.String(), "401 Unauthorized.\n\n")
	readme, err := os.ReadFile("README.md")
	if err != nil || end == "" || !strings.Contains(string(readme), "```\n"+end+"```") {
		t.Errorf("README.md shows another end than this: %v\n%s", err, out.String())
	}
	canaries := secretsIn(t, folder)
	for _, canary := range canaries {
		for what, text := range map[string]string{"output": out.String(), "log": log.String()} {
			if strings.Contains(text, canary) {
				t.Errorf("the %s has a secret", what)
			}
		}
	}
	wantNowhere(t, folder, canaries)
}

// secretsIn reads the secrets of a story, and removes their files.
func secretsIn(t *testing.T, folder string) (values []string) {
	t.Helper()
	for _, name := range []string{"token", "webhook"} {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		if err != nil || len(text) < 20 {
			t.Fatalf("%q, %v", text, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		values = append(values, strings.TrimSpace(string(text)))
	}
	return values
}

// wantNowhere looks through the store, the run bundles and all else.
func wantNowhere(t *testing.T, folder string, canaries []string) {
	t.Helper()
	files, known := 0, false
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		known = known || bytes.Contains(text, []byte(repository))
		for _, canary := range canaries {
			if bytes.Contains(text, []byte(canary)) {
				t.Errorf("%s has a secret", path)
			}
		}
		return err
	})
	if err != nil || files < 10 || !known {
		t.Errorf("%d files, %v: the test looks at the wrong ones", files, err)
	}
}

func closeIdle() { http.DefaultTransport.(*http.Transport).CloseIdleConnections() }
