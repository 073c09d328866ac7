// Package idtable holds ids in memory, numbered by row, and finds the row of an id. It
// is a hash table with linear probing, whose entries hold half of the id's hash
// beside the row, so that few ids are compared in vain.
package idtable

import (
	"bytes"

	"github.com/zeebo/xxh3"
)

// Table holds ids. The row of an id is its place in the order in which they were
// added, from 0. Reading is safe for concurrent use.
type Table struct {
	text  []byte
	ends  []int    // of the ids in text
	table []uint64 // upper half of an id's hash, row + 1; 0: free
}

// Add appends an id, which must not be in the table yet, and copies it.
func (x *Table) Add(id []byte) {
	x.text = append(x.text, id...)
	x.ends = append(x.ends, len(x.text))
	if 3*len(x.ends) <= 2*len(x.table) {
		x.enter(len(x.ends) - 1)
		return
	}
	x.table = make([]uint64, max(16, 2*len(x.table)))
	for row := range x.ends {
		x.enter(row)
	}
}

func (x *Table) enter(row int) {
	h := xxh3.Hash(x.At(row))
	at := h & uint64(len(x.table)-1)
	for x.table[at] != 0 {
		at = (at + 1) & uint64(len(x.table)-1)
	}
	x.table[at] = h&^(1<<32-1) | uint64(row+1)
}

// RemoveLast removes the id that was added last.
func (x *Table) RemoveLast() {
	row := len(x.ends) - 1
	id := x.At(row)
	mask := uint64(len(x.table) - 1)
	at := xxh3.Hash(id) & mask
	for x.table[at]&(1<<32-1) != uint64(row+1) {
		at = (at + 1) & mask
	}
	x.table[at] = 0 // of those that are there none was placed past it
	x.text, x.ends = x.text[:len(x.text)-len(id)], x.ends[:row]
}

// Len returns the number of ids.
func (x *Table) Len() int { return len(x.ends) }

// At returns the id of a row. The caller must not change it.
func (x *Table) At(row int) []byte {
	start := 0
	if row > 0 {
		start = x.ends[row-1]
	}
	return x.text[start:x.ends[row]]
}

// Find returns the row of an id, or −1 if the table does not have it.
func (x *Table) Find(id []byte) int {
	if len(x.table) == 0 {
		return -1
	}
	h := xxh3.Hash(id)
	for at := h & uint64(len(x.table)-1); x.table[at] != 0; at = (at + 1) & uint64(len(x.table)-1) {
		e := x.table[at]
		if e>>32 != h>>32 {
			continue
		}
		if row := int(e&(1<<32-1)) - 1; bytes.Equal(x.At(row), id) {
			return row
		}
	}
	return -1
}
