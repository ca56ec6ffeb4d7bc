package sqlite

import (
	"fmt"
	"strings"
)

// DamagedError says that a file of a store is not whole.
type DamagedError struct {
	Path string
	// Problem is the first that SQLite found.
	Problem string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged (%.200s): use another copy", e.Path, e.Problem)
}

// ErrorCode is the stable code of the error.
func (*DamagedError) ErrorCode() string { return "store_damaged" }

// CopyExistsError refuses to overwrite a file with a copy.
type CopyExistsError struct{ Path string }

func (e *CopyExistsError) Error() string {
	return e.Path + " exists and was left untouched: name another file for the copy"
}

// ErrorCode is the stable code of the error.
func (*CopyExistsError) ErrorCode() string { return "copy_exists" }

// NoFolderError says that the folder is not there that a copy should be made in.
type NoFolderError struct{ Path string }

func (e *NoFolderError) Error() string {
	return "there is no folder " + e.Path + " for the copy: make it, or name another file"
}

// ErrorCode is the stable code of the error.
func (*NoFolderError) ErrorCode() string { return "file_not_found" }

// NoFileError says that there is no copy of the name.
type NoFileError struct{ Path string }

func (e *NoFileError) Error() string {
	return "there is no file " + e.Path + ": name a copy that backup made"
}

// ErrorCode is the stable code of the error.
func (*NoFileError) ErrorCode() string { return "file_not_found" }

// NoCopyError refuses a file that is a store in use and no copy of one: a part of
// it is in another file.
type NoCopyError struct{ Path string }

func (e *NoCopyError) Error() string {
	return e.Path + " is a store in use and no copy of one: make a copy with backup, and name that"
}

// ErrorCode is the stable code of the error.
func (*NoCopyError) ErrorCode() string { return "not_a_copy" }

// OtherProjectError refuses a copy that has nothing of the project of the store: the
// project would not see anything of it, and lose from sight what it has.
type OtherProjectError struct {
	// Path is the copy.
	Path string
	// Project is what the project of the store is called, Projects are the scopes of
	// those that the copy has.
	Project  string
	Projects []string
}

func (e *OtherProjectError) Error() string {
	return fmt.Sprintf("%s has nothing of project %s, but of %s: name the directory of its project with --project, "+
		"or bring it back here nevertheless with --other-project", e.Path, e.Project, strings.Join(e.Projects, " and "))
}

// ErrorCode is the stable code of the error.
func (*OtherProjectError) ErrorCode() string { return "other_project" }

// UnreadableError says that there is a file in the place of the store that is no
// database: one of somebody else, or a store whose beginning is ruined.
type UnreadableError struct{ Path string }

func (e *UnreadableError) Error() string {
	return e.Path + " is no store, or one whose beginning is ruined, and was left untouched: " +
		"to put the copy in its place and keep it under another name, add --replace-unreadable"
}

// ErrorCode is the stable code of the error.
func (*UnreadableError) ErrorCode() string { return "store_unreadable" }

// OpenError says that the store cannot be replaced while processes have it open.
type OpenError struct {
	Path string
	// Owners name these processes for people.
	Owners []string
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("%s is open: stop %s, and try again", e.Path, strings.Join(e.Owners, " and "))
}

// ErrorCode is the stable code of the error.
func (*OpenError) ErrorCode() string { return "store_open" }

// ReplacedError says that the store was being replaced by a copy when it was opened.
type ReplacedError struct{ Path string }

func (e *ReplacedError) Error() string {
	return e.Path + " is being replaced by a copy: try again in a moment"
}

// ErrorCode is the stable code of the error.
func (*ReplacedError) ErrorCode() string { return "store_replaced" }
