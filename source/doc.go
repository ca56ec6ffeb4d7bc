// Package source holds the sources that come with the house, each in a package
// of its own: schedule, poll, resources, webhook and fswatch. All of them are a
// controller.Source and know nothing but its controller.Intake.
//
// Spec: Sources and workers. docs/sources.md describes each.
package source
