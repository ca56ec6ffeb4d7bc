// Package archtest is the picture of the house and the test that the house
// looks like it.
package archtest

import "slices"

// module is the path of the module that the rooms are in.
const module = "piworkflows"

// room is a directory with a purpose. Every package lies in the room with the
// longest matching path; packages of one room may import each other.
type room struct {
	path string
	// uses are the rooms that this one may import, all of them below it.
	uses []string
	// why is the reason for the rule; it stands in the message when it breaks.
	why string
}

// rooms is the house from the roof down. An arrow never runs up.
var rooms = []room{
	{"test", below, "end-to-end tests see the whole house, and nothing sees them"},
	{"cmd", below, "main wires everything together"},
	{"examples", below, "an example is a user's program"},
	{"demo", below, "the demo tells the story with everything that a user has"},
	{
		"cli", and("host", "agent", "engine", "view", "controller", "workflow", "runbundle", "runqueue"),
		"commands talk to the host and to the contracts, so that a Go program gets the same commands around other definitions; " +
			"of the engine they print results",
	},
	{
		"host", and("metrics", "agent", "store/sqlite", "store/postgres", "source", "tsdef", "engine", "controller",
			"workflow", "runbundle", "runqueue"),
		"the one place that joins the manager to the engine; definitions come to it from outside",
	},
	{
		"metrics", and("controller", "workflow", "runqueue"),
		"collectors read observer interfaces, so that nobody else carries an exporter",
	},
	{
		"testkit", and("store/sqlite", "controller", "workflow", "runbundle", "runqueue"),
		"authors test against the real store, without a host",
	},
	{"agent", and("engine", "workflow", "runbundle"), "an executor serves one step of a graph and names its conversation in the record"},
	{"builtin", and("controller", "workflow"), "definitions name both contracts and no machinery"},
	{"store/sqlite", and("controller", "runqueue"), "a store implements the two contracts"},
	{"store/postgres", and("controller", "runqueue"), "a store implements the two contracts"},
	{
		"store/storetest/modeltest", and("store/storetest", "controller", "runqueue"),
		"what needs test libraries of others is apart from the kit, which every store carries",
	},
	{"store/storetest", and("controller", "runqueue"), "the kit tests the contracts, not one store"},
	{"source", and("controller"), "a source knows one function of the controller contract"},
	{"tsdef", and("controller", "workflow"), "TypeScript definitions become ordinary Go definitions"},
	{"engine", and("workflow", "runbundle"), "the engine runs graphs, whoever asked for it; it has never heard of controllers"},
	{"view", and("workflow", "runbundle"), "a view reads records and changes nothing"},
	{
		"controller", and("runqueue"),
		"the contract reaches runs through its own Scheduler and the rows of runqueue; a program that imports it carries no engine",
	},
	{"workflow", and(), "graphs are values; a program that imports them carries neither engine nor controller"},
	{"runbundle", and(), "the record of a run outlives the engine that wrote it"},
	{"runqueue", and(), "the queue of runs is a contract of its own"},
	{"lease", []string{"clock", "internal"}, "a lease is a matter of time, and of nothing else"},
	{"clock", ground, "small packages serve everybody and know nobody"},
	{"secret", ground, "small packages serve everybody and know nobody"},
	{"internal", nil, "the ground carries the house and imports none of it"},
}

// joiners are the rooms that may import both the controller and the engine. In
// every other room the two never meet, so that each can be had without the other.
var joiners = []string{"test", "cmd", "examples", "demo", "cli", "host"}

// carried is what a program carries that imports one room: all modules of
// others, direct or not. A new line here is a decision for every user.
var carried = map[string][]string{
	"controller": {"github.com/google/uuid", "github.com/gowebpki/jcs"},
	"workflow":   {"github.com/gowebpki/jcs"},
	// The kit adds nothing to what its contracts carry.
	"store/storetest": {"github.com/google/uuid", "github.com/gowebpki/jcs"},
}

var (
	// below stands for every room below.
	below = []string{"*"}
	// ground is under everything.
	ground = []string{"internal"}
	// small are the packages that every room may use.
	small = []string{"lease", "clock", "secret", "internal"}
)

func and(names ...string) []string { return slices.Concat(names, small) }
