// Package lineage stores the ids, which last through all nights, of the components
// and versions of a run with a library. It is state that one stage hands to the
// next. The package never decides which earlier ones they continue.
package lineage

import "github.com/neardup/neardup/job/internal/state"

// File is the name of the file in the state folder.
const File = "lineage"

const kind = "neardup lineage 4"

// Lineage holds the ids of the component and of the versions whose first document is
// the same.
type Lineage struct {
	Component string // id of the component; "" if the document is the first of none
	Versions  string // id of the versions; "" if containment joins nothing here
}

// Write writes the ids of components and versions, by number of the first document.
func Write(path string, clusters map[uint64]Lineage) error {
	return state.WriteGob(path, kind, clusters)
}

// Read reads what Write wrote.
func Read(path string) (map[uint64]Lineage, error) {
	return state.ReadGob[map[uint64]Lineage](path, kind)
}
