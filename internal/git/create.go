package git

import (
	"context"
	"path/filepath"
)

// CreateBare makes a bare repository at an absolute path, whose HEAD is the
// given branch, and fills it with a stream of git fast-import. The path must
// not exist. After an error there may be a part of the repository.
func CreateBare(ctx context.Context, path, branch, stream string, o Options) (*Repo, error) {
	if err := CheckBranch(branch); err != nil {
		return nil, err
	}
	r := o.repo()
	if err := r.checkVersion(ctx); err != nil {
		return nil, err
	}
	create := call{
		args: []string{"init", "--quiet", "--bare", "--template=", "--initial-branch=" + branch, "--", path},
		dir:  filepath.Dir(path),
	}
	if _, err := r.run(ctx, create); err != nil {
		return nil, err
	}
	made, err := Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	_, err = made.run(ctx, call{args: []string{"fast-import", "--quiet", "--done"}, stdin: stream})
	return made, err
}
