package workflow

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// reservedPrefix marks the nodes that composition creates.
const reservedPrefix = "__piw_"

var (
	idPattern       = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	versionPattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)
	plainKey        = regexp.MustCompile(`^[A-Za-z0-9_+-]{1,128}$`)
	commandWords    = []string{"answer", "cancel", "list", "pause", "resume", "status"}
	inheritedFields = []string{
		"constructor", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf",
		"propertyIsEnumerable", "__proto__", "__defineGetter__", "__defineSetter__",
		"__lookupGetter__", "__lookupSetter__",
	}
)

// id reports what keeps a name from being a node ID, and whether nothing does.
// Routes, mounts and exits obey the same rules: all of them become keys of
// JavaScript objects and parts of longer IDs.
func (p *problems) id(place, id string) bool {
	before := len(p.list)
	switch {
	case id == "":
		p.addf(place, "a name is required")
	case len(id) > MaxNameBytes:
		p.addf(place, "is a name of %d bytes, over the limit of %d: shorten it", len(id), MaxNameBytes)
	case !idPattern.MatchString(id):
		p.addf(place, "%q is no valid name: start with a letter or _, go on with letters, digits, _ and -", id)
	case strings.HasPrefix(id, reservedPrefix):
		p.addf(place, "%q begins with %s, which is reserved for composition: choose another name", id, reservedPrefix)
	case slices.Contains(inheritedFields, id):
		p.addf(place, "%q is a field that every JavaScript object has: choose another name", id)
	}
	return len(p.list) == before
}

// endpoint reports what is wrong with a place that an edge may start from: a
// node, or an exit of an included workflow, written mount.exit with exactly one
// dot.
func (p *problems) endpoint(place, name string) {
	if strings.Count(name, ".") > 1 {
		p.addf(place, "%q has more than one dot: name a node, or an exit of a mount as mount.exit", shorten(name))
		return
	}
	mount, exit, isExit := strings.Cut(name, ".")
	p.id(place, mount)
	if isExit {
		p.id(place, exit)
	}
}

// text reports text that cannot be recorded as it is.
func (p *problems) text(place, s string) {
	if !utf8.ValidString(s) {
		p.addf(place, "is not valid UTF-8: the record could not hold it unchanged")
	}
}

// version reports what keeps a text from being a revision or a contract ID.
func (p *problems) version(place, s string) {
	if !versionPattern.MatchString(s) {
		p.addf(place, "%q does not match %s", s, versionPattern)
	}
}
