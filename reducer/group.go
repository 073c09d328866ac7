package reducer

import (
	"cmp"
	"slices"

	"github.com/neardup/neardup/data"
)

// Partial is phase one of the salted reduce: the records of one (salt, key)
// partition, in any order and of any number of keys, become one Entry per
// distinct fingerprint and key, its documents ascending and each once.
// Entries come in order of key, then fingerprint. records is sorted in place.
//
// The salt is taken from the fingerprint, so identical fingerprints are
// always in the same partition and collapse here, before they travel on.
func Partial(records []data.Keyed) []data.Entry {
	sortKeyed(records)
	n := 0
	for i, r := range records {
		if i == 0 || compareBits(r.Key, r.Hi, r.Lo, records[i-1].Key, records[i-1].Hi, records[i-1].Lo) != 0 {
			n++
		}
	}
	entries := make([]data.Entry, 0, n)     // growing it would cost more than counting
	docs := make([]uint32, 0, len(records)) // backs all entries' Docs
	for i, r := range records {
		fresh := i == 0 || compareBits(r.Key, r.Hi, r.Lo, records[i-1].Key, records[i-1].Hi, records[i-1].Lo) != 0
		switch {
		case fresh:
			entries = append(entries, data.Entry{Key: r.Key, Hi: r.Hi, Lo: r.Lo})
		case r.Doc == records[i-1].Doc: // a record delivered twice counts once
			continue
		}
		docs = append(docs, r.Doc)
		e := &entries[len(entries)-1]
		e.Docs = docs[len(docs)-len(e.Docs)-1 : len(docs) : len(docs)]
	}
	return entries
}

// Final is phase two: it merges what the salts' partial reduces delivered for
// one partition of the keys, each part in the order that Partial gives, and
// calls group once per key in ascending order with the key's entries in
// ascending order of fingerprint. The slice is reused between calls. It stops
// at group's first error and returns it.
func Final(parts [][]data.Entry, group func(entries []data.Entry) error) error {
	total := 0
	for _, p := range parts {
		total += len(p)
	}
	all := make([]data.Entry, 0, total)
	for _, p := range parts {
		all = append(all, p...)
	}
	slices.SortStableFunc(all, compareEntries)

	var members []data.Entry
	for start := 0; start < len(all); {
		members = members[:0]
		end := start
		for ; end < len(all) && all[end].Key == all[start].Key; end++ {
			if n := len(members); n > 0 && compareEntries(members[n-1], all[end]) == 0 {
				members[n-1].Docs = union(members[n-1].Docs, all[end].Docs)
				continue
			}
			members = append(members, all[end])
		}
		if err := group(members); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// union merges two ascending lists, each document once.
func union(a, b []uint32) []uint32 {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

func compareEntries(a, b data.Entry) int {
	return compareBits(a.Key, a.Hi, a.Lo, b.Key, b.Hi, b.Lo)
}

func compareBits(aKey, aHi, aLo, bKey, bHi, bLo uint64) int {
	if c := cmp.Compare(aKey, bKey); c != 0 {
		return c
	}
	if c := cmp.Compare(aHi, bHi); c != 0 {
		return c
	}
	return cmp.Compare(aLo, bLo)
}
