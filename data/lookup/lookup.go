// Package lookup says what a store of single documents has to do, so that one
// page can be compared with a library without reading the library. A store
// keeps documents under keys and gives those back that share one with a query;
// it never computes a key or a verdict. Implementations are in the folders
// below; the tests here are what all of them must pass.
package lookup

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
)

// Table is a kind of key. A document may have any number of keys in a table.
type Table struct {
	// Width is how many bits a value has, 1 to 32.
	Width int
	// Prints says that documents which share a value are wanted only if their
	// fingerprints are within the query's distance.
	Prints bool
}

// Schema is what the documents of a store have in common.
type Schema struct {
	Bits   int // of a fingerprint: 32, 64 or 128
	Tables []Table
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

// Entry is a document of a store.
type Entry struct {
	Row       int64 // its number within its part
	Keys      []Key // when it is put; a store does not give them back
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
	// Reach says, by key, in how many bits a value of a table with Prints may
	// differ from the key's; nil: in none.
	Reach []int
	// All asks for every document of normal length within the distance,
	// whatever its keys. If Reach is not nil then keys and reach are such that
	// they find all these documents (see Reaches), so that a store need not
	// look at every one.
	All bool
	// Parts are to be there, in order of name: ErrParts if one is not.
	Parts []string
}

// Limit bounds a query's hits of tables with Prints, the nearest first, and
// those of each other key.
const Limit = 1000

// Check returns the first mistake of a query to a store of the schema.
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

// ReachOf is how far key i reaches.
func (q *Query) ReachOf(i int) int {
	if q.Reach == nil {
		return 0
	}
	return q.Reach[i]
}

// Apart is the distance of a fingerprint from the query's.
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

// ErrParts is returned by a store that does not have, or not any more, the parts
// that a query is about.
var ErrParts = errors.New("parts of this store are not there")

// Store keeps documents in parts: a part is put and dropped as a whole. All
// methods are safe for concurrent use.
type Store interface {
	// Parts names the parts that are there, in order.
	Parts(ctx context.Context) ([]string, error)
	// Put makes the documents that each yields, rows ascending, a part, in the
	// place of one of that name. A part is there only once it is complete.
	Put(ctx context.Context, part string, each func(yield func(*Entry) error) error) error
	// Drop removes a part; one that is not there is no error.
	Drop(ctx context.Context, part string) error
	// Near returns each document that shares a key with the query, or is
	// within its distance, once: in order of distance, part and row.
	Near(ctx context.Context, q *Query) ([]Hit, error)
	Close() error
}
