package mapper

import (
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// Units is a set of distinct views (a signature set), numbered from 0 in the order
// in which they were added. A view is what a verdict reads of a document; a
// unit is one view and stands for all documents that have it. So a page that was
// crawled a million times is compared once, and what holds for its unit holds for
// each copy.
//
// Views are kept as columns, so that a scan of one of them touches no other.
// Without verification verdicts read the fingerprint alone, and so do Units: the
// other columns stay empty.
//
// Only one goroutine may add units, and none may read meanwhile. Afterwards any
// number may read.
type Units struct {
	verified bool
	hi, lo   []uint64 // hi is nil while all are 0
	normal   []bool   // this and what follows only if verified
	lengths  []uint32
	sketches [][data.SketchSize]byte
	letters  []byte // of each short text its outline, then its letters
	ends     []int  // where each unit's part of letters ends
	samples  []byte
	sampled  []int // where each unit's part of samples ends; nil while all are empty

	table  []uint32 // hash table of views, linear probing: unit + 1; 0: free
	packed []byte
}

// NewUnits returns an empty set. Without verification every view counts as one of
// normal length, and two views are equal if their fingerprints are.
func NewUnits(verified bool) *Units { return &Units{verified: verified} }

// Len is the number of units.
func (u *Units) Len() int { return len(u.lo) }

// Add returns the unit of a view. It makes a new one if no equal view was added
// before.
func (u *Units) Add(v *data.View) uint32 {
	if 3*(u.Len()+1) > 2*len(u.table) {
		u.table = make([]uint32, max(16, 2*len(u.table)))
		var have data.View
		for unit := range u.lo {
			u.View(uint32(unit), &have)
			at, _ := u.place(&have)
			u.table[at] = uint32(unit + 1)
		}
	}
	at, unit := u.place(v)
	if unit > 0 {
		return unit - 1
	}
	u.Append(v)
	u.table[at] = uint32(u.Len())
	return uint32(u.Len() - 1)
}

// Grow makes room for n more units, whose letters and samples are as long as they are.
func (u *Units) Grow(n int) {
	u.lo = slices.Grow(u.lo, n)
	if u.verified {
		u.normal, u.lengths = slices.Grow(u.normal, n), slices.Grow(u.lengths, n)
		u.sketches, u.ends = slices.Grow(u.sketches, n), slices.Grow(u.ends, n)
	}
}

// Append adds a view without looking for an equal one: the caller knows that
// there is none. One set must not mix Append and Add, as Append leaves the hash
// table alone.
func (u *Units) Append(v *data.View) {
	if v.Hi != 0 && u.hi == nil {
		u.hi = make([]uint64, u.Len())
	}
	if u.hi != nil {
		u.hi = append(u.hi, v.Hi)
	}
	u.lo = append(u.lo, v.Lo)
	if u.verified {
		u.normal, u.lengths, u.sketches = append(u.normal, v.Normal), append(u.lengths, v.Length), append(u.sketches, v.Sketch)
		if len(v.Letters) > 0 {
			u.letters = append(sketch.AppendOutline(u.letters, v.Letters), v.Letters...)
		}
		u.ends = append(u.ends, len(u.letters))
		if len(v.Sample) > 0 && u.sampled == nil {
			u.sampled = make([]int, u.Len()-1, cap(u.lo))
		}
		if u.sampled != nil {
			u.samples = append(u.samples, v.Sample...)
			u.sampled = append(u.sampled, len(u.samples))
		}
	}
}

// RemoveLast removes the unit that was added last, by Add.
func (u *Units) RemoveLast() {
	last := u.Len() - 1
	var v data.View
	u.View(uint32(last), &v)
	at, _ := u.place(&v)
	u.table[at] = 0 // it was inserted last, so no other unit's probe passed over this slot
	u.lo = u.lo[:last]
	if u.hi != nil {
		u.hi = u.hi[:last]
	}
	if !u.verified {
		return
	}
	u.normal, u.lengths, u.sketches = u.normal[:last], u.lengths[:last], u.sketches[:last]
	u.letters, u.ends = withoutLast(u.letters, u.ends)
	if u.sampled != nil {
		u.samples, u.sampled = withoutLast(u.samples, u.sampled)
	}
}

// withoutLast cuts the last unit's bytes off a column of variable length.
func withoutLast(b []byte, ends []int) ([]byte, []int) {
	ends = ends[:len(ends)-1]
	if len(ends) == 0 {
		return b[:0], ends
	}
	return b[:ends[len(ends)-1]], ends
}

// place returns the slot of a view in the hash table and its unit + 1. For a view
// that is not there it returns the free slot it would take, and 0.
func (u *Units) place(v *data.View) (at uint64, unit uint32) {
	key := *v
	if !u.verified {
		key = data.View{Hi: v.Hi, Lo: v.Lo}
	}
	u.packed = key.Append(u.packed[:0])
	mask := uint64(len(u.table) - 1)
	var have data.View
	for at = xxh3.Hash(u.packed) & mask; u.table[at] != 0; at = (at + 1) & mask {
		unit = u.table[at]
		if u.lo[unit-1] != v.Lo {
			continue
		}
		if u.View(unit-1, &have); have.Hi == v.Hi && (!u.verified || have.Equal(v)) {
			return at, unit
		}
	}
	return at, 0
}

// View sets v to a unit's view. Its Letters and Sample belong to the set: the
// caller must not change them.
func (u *Units) View(unit uint32, v *data.View) {
	*v = data.View{Hi: u.high(unit), Lo: u.lo[unit], Normal: true}
	if u.verified {
		v.Normal, v.Length, v.Sketch = u.normal[unit], u.lengths[unit], u.sketches[unit]
		v.Letters, v.Sample = u.lettersOf(unit), u.sampleOf(unit)
	}
}

func (u *Units) high(unit uint32) uint64 {
	if u.hi == nil {
		return 0
	}
	return u.hi[unit]
}

func (u *Units) isNormal(unit uint32) bool { return !u.verified || u.normal[unit] }

// length returns the characters of a unit's text; 0 without verification.
func (u *Units) length(unit uint32) uint32 {
	if !u.verified {
		return 0
	}
	return u.lengths[unit]
}

func (u *Units) lettersOf(unit uint32) []byte {
	b := u.shortText(unit)
	if len(b) == 0 {
		return nil
	}
	return b[b.Size():]
}

// shortText returns a unit's outline with its letters behind it, or nothing if
// its text is not short.
func (u *Units) shortText(unit uint32) sketch.Outline {
	if !u.verified {
		return nil
	}
	return stretch(u.letters, u.ends, unit)
}

// stretch returns a unit's bytes in a column of variable length: b holds the
// bytes of all units, ends where each one's end.
func stretch(b []byte, ends []int, unit uint32) []byte {
	start := 0
	if unit > 0 {
		start = ends[unit-1]
	}
	return b[start:ends[unit]]
}

func (u *Units) sampleOf(unit uint32) []byte {
	if u.sampled == nil {
		return nil
	}
	return stretch(u.samples, u.sampled, unit)
}

// Rows returns the units in the form of earlier nights' documents, row i being
// unit i. No unit may be added while the rows are in use.
func (u *Units) Rows() *HistoryRows {
	r := &HistoryRows{N: u.Len(), Hi: u.hi, Lo: u.lo, Normal: make([]bool, u.Len()), View: func(i int, v *data.View) { u.View(uint32(i), v) }}
	if r.Hi == nil {
		r.Hi = make([]uint64, r.N)
	}
	for i := range r.Normal {
		r.Normal[i] = u.isNormal(uint32(i))
	}
	r.Sketch = func(i int) []byte {
		if !u.verified || u.sketches[i] == [data.SketchSize]byte{} {
			return nil
		}
		return u.sketches[i][:]
	}
	r.Letters = func(i int) []byte { return u.lettersOf(uint32(i)) }
	return r
}
