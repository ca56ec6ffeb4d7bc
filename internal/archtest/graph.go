package archtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// readGraph asks go list for every package of the module and all that they
// import, without tests, as it is for one operating system.
func readGraph(ctx context.Context, root, goos string) ([]pkg, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Imports,Module", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w\n%s", goos, err, stderr.String())
	}
	return parseGraph(strings.NewReader(string(out)))
}

// parseGraph reads the stream of objects that go list writes.
func parseGraph(r io.Reader) ([]pkg, error) {
	var graph []pkg
	for dec := json.NewDecoder(r); ; {
		var listed struct {
			ImportPath string
			Imports    []string
			Module     *struct{ Path string }
		}
		err := dec.Decode(&listed) //nolint:musttag // go list names its fields as Go does
		if errors.Is(err, io.EOF) {
			return graph, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the answer of go list: %w", err)
		}
		p := pkg{path: listed.ImportPath, imports: listed.Imports}
		if listed.Module != nil {
			p.module = listed.Module.Path
		}
		graph = append(graph, p)
	}
}
