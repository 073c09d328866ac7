package mapper

import (
	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
)

// Segment is the second map: it calls emit with fingerprint f of document doc
// under its key in every table of the layout, table 00A first, the rest of
// its bits as the value. It stops at emit's first error and returns it.
func Segment(layout *simhash.Layout, f simhash.Fingerprint, doc uint32, emit func(data.Keyed) error) error {
	for t := range layout.Tables() {
		if err := emit(SegmentTable(layout, t, f, doc)); err != nil {
			return err
		}
	}
	return nil
}

// SegmentTable is Segment for one table.
func SegmentTable(layout *simhash.Layout, table int, f simhash.Fingerprint, doc uint32) data.Keyed {
	key, rest := layout.Key(table, f)
	return data.Keyed{Key: uint64(key), Hi: rest.Hi, Lo: rest.Lo, Doc: doc}
}

// Salt returns which of salts partial reduces takes the record: it spreads
// one key's group over all of them, and brings identical fingerprints
// together. It depends on the record's bits alone, so a task that is tried
// again repeats itself exactly.
func Salt(r data.Keyed, salts int) int {
	return int(mix(r.Hi^mix(r.Lo)) % uint64(salts))
}

// Shard returns which of shards final reduces takes the record: all records of
// one key go to the same.
func Shard(r data.Keyed, shards int) int {
	return int(mix(r.Key) % uint64(shards))
}

// mix is the finalizer of MurmurHash3: every input bit reaches every output
// bit.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
