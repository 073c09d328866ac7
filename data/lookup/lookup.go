// Package lookup defines a store of documents by key, so that one page can be
// compared with a library without reading the library. A caller puts documents with
// their keys, in several tables, and queries for those that share a key with a page.
// A store never computes a key or a verdict.
//
// Documents are put and dropped in parts; a part is what was derived from one file
// of the library. Implementations are in the folders below. The tests here are the
// conformance suite that each must pass.
package lookup

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Table describes one table of keys. A document may have any number of keys in it.
type Table struct {
	// Width is how many bits a value has, 1 to 32.
	Width int
	// Prints says that the table's keys are made of fingerprints: documents under a
	// key are hits only if their fingerprints are within the query's distance.
	Prints bool
}

// Schema describes the keys and fingerprints of a store.
type Schema struct {
	Bits   int // of a fingerprint: 32, 64 or 128
	Tables []Table
	// Or are alternatives: a store that already has one of them keeps it.
	Or []Schema `json:"-"`
}

// Equal reports whether both have the same fingerprints and tables. It ignores Or.
func (s Schema) Equal(o Schema) bool { return s.Bits == o.Bits && slices.Equal(s.Tables, o.Tables) }

// Adopt returns the schema to use for a store that already has one: has, if it is
// among s.Or, else s. The result has no alternatives.
func (s Schema) Adopt(has Schema) Schema {
	if i := slices.IndexFunc(s.Or, has.Equal); i >= 0 {
		s = s.Or[i]
	}
	s.Or = nil
	return s
}

// Check returns the first mistake.
func (s Schema) Check() error {
	if s.Bits != 32 && s.Bits != 64 && s.Bits != 128 {
		return fmt.Errorf("lookup: fingerprints of %d bits: write 32, 64 or 128", s.Bits)
	}
	if len(s.Tables) > 64 {
		return fmt.Errorf("lookup: %d tables: at most 64", len(s.Tables))
	}
	for i, t := range s.Tables {
		if t.Width < 1 || t.Width > 32 {
			return fmt.Errorf("lookup: table %d has values of %d bits: write 1 to 32", i, t.Width)
		}
	}
	return nil
}

// CheckKey returns an error unless the schema has such a key.
func (s Schema) CheckKey(k Key) error {
	if k.Table < 0 || k.Table >= len(s.Tables) || uint64(k.Value)>>s.Tables[k.Table].Width != 0 {
		return fmt.Errorf("lookup: value %x of table %d is none", k.Value, k.Table)
	}
	return nil
}

// Key is one of a document's keys.
type Key struct {
	Table int
	Value uint32
}

// Entry is a document in a store.
type Entry struct {
	Row       int64 // its number within its part
	Keys      []Key // only for Put: hits have none
	ID        []byte
	Hi, Lo    uint64
	Normal    bool // of normal length
	Length    uint32
	Sketch    []byte // 64 bytes or none
	Letters   []byte
	FirstSeen []byte
	Cluster   []byte
}

// Query asks for documents that share a key.
type Query struct {
	Keys     []Key
	Hi, Lo   uint64
	Distance int
	// Reach has, for each of Keys, in how many bits a value may differ from the
	// key's and still be looked up; nil: in none. It is 0 in tables without Prints.
	Reach []int
	// All asks for every document of normal length within the distance, whatever
	// its keys. If Reach is not nil, the caller promises that Keys with Reach lead
	// to all of these documents (see Reaches), so a store need not compare every
	// document.
	All bool
	// Parts are parts that the store must have, in order of name: ErrParts if it
	// lacks one.
	Parts []string
	// Work, unless nil, is set to the work that the query took.
	Work *Work
}

// Work counts a query's work in the tables with Prints.
type Work struct {
	Values     int // looked up, summed over the parts
	Candidates int // fingerprints compared; a document counts each time that it was found
}

// Limit bounds the answer: at most so many hits from tables with Prints, the
// nearest, and so many for each key of another table.
const Limit = 1000

// Check returns the first mistake in a query to a store of the schema.
func (q *Query) Check(s Schema) error {
	if q.Reach != nil && len(q.Reach) != len(q.Keys) {
		return fmt.Errorf("lookup: reach of %d keys, there are %d", len(q.Reach), len(q.Keys))
	}
	for i, k := range q.Keys {
		if err := s.CheckKey(k); err != nil {
			return err
		}
		if q.Reach != nil && (q.Reach[i] < 0 || q.Reach[i] > 0 && !s.Tables[k.Table].Prints) {
			return fmt.Errorf("lookup: a reach of %d bits in table %d", q.Reach[i], k.Table)
		}
	}
	return nil
}

// ReachOf is the reach of key i in bits.
func (q *Query) ReachOf(i int) int {
	if q.Reach == nil {
		return 0
	}
	return q.Reach[i]
}

// Apart is the Hamming distance of a fingerprint from the query's.
func (q *Query) Apart(hi, lo uint64) int {
	return bits.OnesCount64(hi^q.Hi) + bits.OnesCount64(lo^q.Lo)
}

// Hit is a document that shares a key with a query.
type Hit struct {
	Part     string
	Distance int
	Entry
}

// ErrScan is returned by a store that would have to look at every document and
// cannot.
var ErrScan = errors.New("this store finds documents by their keys only")

// ErrParts is returned by a store that lacks a part which the query names.
var ErrParts = errors.New("parts of this store are not there")

// Store keeps documents in parts: a part is put and dropped as a whole. All
// methods are safe for concurrent use.
type Store interface {
	// Schema is the schema that the store uses.
	Schema() Schema
	// Parts returns the names of the parts, in order.
	Parts(ctx context.Context) ([]string, error)
	// Put writes a part, or replaces the one of that name. each yields its
	// documents with ascending rows. Other calls see the part only once it is
	// complete.
	Put(ctx context.Context, part string, each func(yield func(*Entry) error) error) error
	// Drop removes a part. It is no error if there is none of that name.
	Drop(ctx context.Context, part string) error
	// Near returns the documents that share a key with the query or, if it asks
	// for All, are within its distance: each once, in order of distance, part and
	// row, up to Limit.
	Near(ctx context.Context, q *Query) ([]Hit, error)
	Close() error
}
