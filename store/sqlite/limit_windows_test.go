package sqlite_test

import (
	"errors"

	"piworkflows/store/sqlite"
)

func runIntoLimit(*sqlite.Store) error { return errors.New("there is no limit on file size") }

func fillLog(*sqlite.Store) error { return errors.New("there is no limit on file size") }
