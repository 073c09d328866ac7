// Package lineage stores what the components and versions of a run with a library
// are through all nights. It is state that one stage hands to the next. It never
// decides which they continue.
package lineage

import "github.com/neardup/neardup/job/internal/state"

// File is within the run directory's state.
const File = "lineage"

const kind = "neardup lineage 4"

// Lineage is what a component and versions that begin with the same document are.
type Lineage struct {
	Component string // its id through all nights; "" if none begins with the document
	Versions  string // "" if containment joins nothing with it
}

// Write writes what components and versions are, by their first documents.
func Write(path string, clusters map[uint64]Lineage) error {
	return state.WriteGob(path, kind, clusters)
}

// Read reads what Write wrote.
func Read(path string) (map[uint64]Lineage, error) {
	return state.ReadGob[map[uint64]Lineage](path, kind)
}
