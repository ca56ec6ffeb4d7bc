package canonical

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// field is what encoding/json would decode a key into.
type field struct {
	kind   reflect.Type
	quoted bool // the `string` option: the value is a string that holds JSON
	depth  int  // of embedding
	tagged bool
	hidden bool // two fields claim the name with equal right: nobody gets it
}

var fieldCache sync.Map // reflect.Type → map[string]field

// fieldsOf returns the fields of a struct by their exact JSON names, with the
// rules of encoding/json for embedded structs: the least deep field wins, then
// the tagged one, and a tie hides the name.
func fieldsOf(structure reflect.Type) map[string]field {
	cached, _ := fieldCache.Load(structure)
	if fields, ok := cached.(map[string]field); ok {
		return fields
	}
	fields := map[string]field{}
	collect(structure, 0, fields, map[reflect.Type]bool{})
	for name, found := range fields {
		if found.hidden {
			delete(fields, name)
		}
	}
	fieldCache.Store(structure, fields)
	return fields
}

func collect(structure reflect.Type, depth int, fields map[string]field, open map[reflect.Type]bool) {
	if open[structure] {
		return // a struct that embeds a pointer to itself adds nothing new
	}
	open[structure] = true
	defer delete(open, structure)
	for member := range structure.Fields() {
		tag := member.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		inner := embedded(member)
		switch {
		case tag == "-" || !member.IsExported() && inner == nil:
		case inner != nil && name == "":
			collect(inner, depth+1, fields, open)
		case member.IsExported():
			found := field{kind: member.Type, quoted: hasOption(options, "string"), depth: depth, tagged: name != ""}
			if name == "" {
				name = member.Name
			}
			claim(fields, name, found)
		}
	}
}

// embedded returns the struct type of an embedded field, or nil.
func embedded(member reflect.StructField) reflect.Type {
	inner := member.Type
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	if !member.Anonymous || inner.Kind() != reflect.Struct {
		return nil
	}
	return inner
}

func claim(fields map[string]field, name string, found field) {
	known, taken := fields[name]
	switch {
	case !taken, found.depth < known.depth, found.depth == known.depth && found.tagged && !known.tagged:
		fields[name] = found
	case found.depth == known.depth && found.tagged == known.tagged:
		known.hidden = true
		fields[name] = known
	}
}

func hasOption(options, wanted string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == wanted {
			return true
		}
	}
	return false
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func decodesItself(kind reflect.Type) bool {
	if kind.NumMethod() == 0 && kind.PkgPath() == "" && kind.Kind() != reflect.Struct {
		return false // the common case, without the search: string, int, []T, …
	}
	for _, candidate := range []reflect.Type{kind, reflect.PointerTo(kind)} {
		if candidate.Implements(jsonUnmarshaler) || candidate.Implements(textUnmarshaler) {
			return true
		}
	}
	return false
}

func nullable(kind reflect.Type) bool {
	switch kind.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		return true
	default:
		return decodesItself(kind)
	}
}
