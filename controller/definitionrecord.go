package controller

import "time"

// DefinitionKind says what is defined.
type DefinitionKind string

// The kinds of definitions.
const (
	KindController DefinitionKind = "controller"
	KindWorkflow   DefinitionKind = "workflow"
)

// DefinitionRecord says where a definition came from that a host works with.
type DefinitionRecord struct {
	Kind DefinitionKind `json:"kind"`
	Name string         `json:"name"`
	// Place is where it was found: in the project, for all projects, or in the program.
	Place string `json:"place"`
	// Source names it there, Digest tells it from what it was before.
	Source string `json:"source"`
	Digest string `json:"digest"`
	// LoadedAt is when a host first worked with this digest; the store sets it.
	LoadedAt time.Time `json:"-"`
}

// Bounds of the definitions of one project.
const (
	// MaxDefinitions bounds how many a host may record.
	MaxDefinitions = 10_000
	// MaxSourceName bounds the name of a source, in bytes.
	MaxSourceName = 4096
)
