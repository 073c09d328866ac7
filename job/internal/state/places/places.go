// Package places translates document numbers into rows of the fingerprints table, by
// which tables refer to a document.
package places

import (
	"sort"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state"
)

// File is the name of the file in the state folder that holds the number of the first
// document of each part of the fingerprints table.
const File = "places"

const kind = "neardup places 2"

// Write writes the numbers of the first documents of all parts, which ascend.
func Write(path string, firsts []uint64) error { return state.WriteGob(path, kind, firsts) }

// Places is what Write wrote. Not safe for concurrent use.
type Places struct {
	firsts []uint64 // first document of each part, ascending
	part   int      // part of the last document asked for, where the next search starts
}

// Read reads the file at path.
func Read(path string) (*Places, error) {
	firsts, err := state.ReadGob[[]uint64](path, kind)
	return &Places{firsts: firsts}, err
}

// Row returns the row number by which tables refer to a document.
func (p *Places) Row(doc uint64) int64 {
	if doc < p.firsts[p.part] || p.part+1 < len(p.firsts) && doc >= p.firsts[p.part+1] {
		p.part = sort.Search(len(p.firsts), func(i int) bool { return p.firsts[i] > doc }) - 1
	}
	return data.RowNumber(p.part, doc-p.firsts[p.part])
}
