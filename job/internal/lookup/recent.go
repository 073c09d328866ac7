package lookup

import (
	"bytes"
	"slices"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/state/idtable"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

// recent holds the pages of one log file in memory, searchable by the tables of the
// store's schema. Pages with equal views share a unit, and postings lead to units:
//
//	table, value ─heads─► posting ─before─► posting …   each names a unit
//	unit ─last─► entry ─before─► entry …                each names a page, by its id's row
//
// Postings and entries are chained from the latest back. The numbers in heads, last and
// before are 1 + an index; 0 ends a chain. It has no lock: its owner guards it.
type recent struct {
	path  string // of the file
	token string // Run of the night that the file becomes
	night string // that night's name; set before the night is made
	made  bool   // the night has been made
	began time.Time
	width []int // bits of a value, by segment table

	units    *mapper.Units
	ids      idtable.Table
	pages    []recentPage // by row of ids
	entries  []recentEntry
	last     []uint32              // by unit: 1 + the latest entry that was made for it
	prints   []simhash.Fingerprint // by unit
	heads    map[uint64]uint32     // by table and value: 1 + the latest posting
	postings []recentPosting
	durable  int // the first so many entries are on the disk
	keys     *keys
}

// recentPage is the newest version of an id.
type recentPage struct {
	entry  uint32 // 1 + its entry
	unit   uint32 // corpus.NoUnit: no table leads to it
	class  string
	hi, lo uint64
	length uint32
}

// recentEntry is one addition of a page; entries are in the order of additions.
type recentEntry struct {
	row    uint32 // of ids
	before uint32 // 1 + the entry of the same unit before it
	change int64  // the library's change then: only later deletions hide the page
}

// recentPosting is one of a unit's keys.
type recentPosting struct{ unit, before uint32 }

func newRecent(x *Index, path string, of logMeta) *recent {
	r := &recent{path: path, token: of.Token, began: of.Began, units: mapper.NewUnits(x.config.Match.Verified()), heads: map[uint64]uint32{}, keys: x.newKeys()}
	for t := range x.layout.Tables() {
		r.width = append(r.width, x.layout.KeyBits(t))
	}
	return r
}

// undo is what takeBack needs to undo an add. Several are undone latest first.
type undo struct {
	row uint32
	was recentPage // the version before; none of a new id
}

// has reports whether the newest version of an id equals the page, and if so its
// entry's index.
func (r *recent) has(id []byte, v *data.View, class string) (entry int, ok bool) {
	row := r.ids.Find(id)
	if row < 0 {
		return 0, false
	}
	p := &r.pages[row]
	if p.class != class || p.hi != v.Hi || p.lo != v.Lo || p.length != v.Length {
		return 0, false
	}
	if p.unit != corpus.NoUnit {
		var have data.View
		r.units.View(p.unit, &have)
		if have.Sketch != v.Sketch || !bytes.Equal(have.Letters, v.Letters) {
			return 0, false
		}
	}
	return int(p.entry) - 1, true
}

// add adds a page as the newest version of its id, and returns what undoes that.
func (r *recent) add(id []byte, v *data.View, class string, change int64) undo {
	row := r.ids.Find(id)
	if row < 0 {
		row = r.ids.Len()
		r.ids.Add(id)
		r.pages = append(r.pages, recentPage{})
	}
	back := undo{uint32(row), r.pages[row]} //nolint:gosec // a file has fewer
	entry := recentEntry{row: uint32(row), change: change}
	unit := corpus.NoUnit
	if v.Normal || v.Sketch != [data.SketchSize]byte{} {
		unit = r.units.Add(v)
		if int(unit) == len(r.last) {
			r.last, r.prints = append(r.last, 0), append(r.prints, simhash.Fingerprint{Hi: v.Hi, Lo: v.Lo})
			r.post(unit, v)
		}
		entry.before = r.last[unit]
		r.last[unit] = uint32(len(r.entries) + 1) //nolint:gosec // a file has fewer
	}
	r.entries = append(r.entries, entry)
	r.pages[row] = recentPage{entry: uint32(len(r.entries)), unit: unit, class: class, hi: v.Hi, lo: v.Lo, length: v.Length} //nolint:gosec // a file has fewer
	return back
}

// takeBack undoes the latest add. It leaves nothing behind: while a disk is full, pages
// may come and be taken back for hours, and memory must not grow.
func (r *recent) takeBack(u undo) {
	end := len(r.entries) - 1
	if unit := r.pages[u.row].unit; unit != corpus.NoUnit {
		if r.last[unit] = r.entries[end].before; r.last[unit] == 0 {
			r.unpost(unit)
			r.last, r.prints = r.last[:unit], r.prints[:unit]
			r.units.RemoveLast()
		}
	}
	r.entries = r.entries[:end]
	if r.pages[u.row] = u.was; u.was.entry == 0 {
		r.pages = r.pages[:u.row]
		r.ids.RemoveLast()
	}
}

func (r *recent) post(unit uint32, v *data.View) {
	for _, k := range r.keys.of(v) {
		at := postingOf(k.Table, k.Value)
		r.postings = append(r.postings, recentPosting{unit, r.heads[at]})
		r.heads[at] = uint32(len(r.postings)) //nolint:gosec // a file has fewer
	}
}

// unpost removes the postings of the latest unit.
func (r *recent) unpost(unit uint32) {
	var v data.View
	r.units.View(unit, &v)
	for _, k := range slices.Backward(r.keys.of(&v)) {
		end := len(r.postings) - 1
		at := postingOf(k.Table, k.Value)
		if before := r.postings[end].before; before == 0 {
			delete(r.heads, at)
		} else {
			r.heads[at] = before
		}
		r.postings = r.postings[:end]
	}
}

func postingOf(table int, value uint32) uint64 { return uint64(table)<<32 | uint64(value) } //nolint:gosec // at most 64 tables

// near calls visit once with each unit that the query finds, as a store would.
func (r *recent) near(q *lookup.Query, visit func(unit uint32)) {
	seen := map[uint32]bool{}
	found := func(unit uint32) {
		if !seen[unit] {
			seen[unit] = true
			visit(unit)
		}
	}
	for i, k := range q.Keys {
		if k.Table >= len(r.width) { // only the latest lookup.Limit, as in a store
			at := r.heads[postingOf(k.Table, k.Value)]
			for n := 0; at != 0 && n < lookup.Limit; n++ {
				p := r.postings[at-1]
				found(p.unit)
				at = p.before
			}
			continue
		}
		around(k.Value, r.width[k.Table], q.ReachOf(i), func(value uint32) {
			for at := r.heads[postingOf(k.Table, value)]; at != 0; {
				p := r.postings[at-1]
				if print := r.prints[p.unit]; q.Apart(print.Hi, print.Lo) <= q.Distance {
					found(p.unit)
				}
				at = p.before
			}
		})
	}
}

// around visits value and all values of width bits that differ from it in at most
// reach bits.
func around(value uint32, width, reach int, visit func(uint32)) {
	visit(value)
	if reach > 0 {
		for bit := range width {
			aroundBelow(value^1<<bit, bit, reach-1, visit)
		}
	}
}

// aroundBelow is around with changes only in the bits below bit.
func aroundBelow(value uint32, bit, reach int, visit func(uint32)) {
	visit(value)
	if reach > 0 {
		for b := range bit {
			aroundBelow(value^1<<b, b, reach-1, visit)
		}
	}
}

// each calls visit with the pages of a unit, latest first, until it returns false. It
// visits only newest versions of ids and, unless all, only pages on the disk.
func (r *recent) each(unit uint32, all bool, visit func(row int, e *recentEntry) bool) {
	for at := r.last[unit]; at != 0; {
		e := &r.entries[at-1]
		if r.pages[e.row].entry == at && (all || int(at) <= r.durable) && !visit(int(e.row), e) {
			return
		}
		at = e.before
	}
}

// beside is how many ids count in addition to the library's documents: none if the
// library has the file as a night.
func (r *recent) beside(now *current) int64 {
	if r.isNight(now.Manifest()) {
		return 0
	}
	return int64(r.ids.Len())
}

// AddedNight is what an answer gives as the night of a page that is no night yet.
const AddedNight = "added"

// among adds the matches among the file's pages to the question's answer.
func (r *recent) among(q *question, all bool) {
	var o data.View
	r.near(&q.query, func(unit uint32) {
		r.units.View(unit, &o)
		found, same := q.judge(&o)
		if same {
			r.take(q, unit, all, found)
		}
	})
}

// take adds a match for each page of a unit, at most as many as an answer may have.
func (r *recent) take(q *question, unit uint32, all bool, found Match) {
	n := 0
	r.each(unit, all, func(row int, e *recentEntry) bool {
		id := r.ids.At(row)
		if q.now.Hides(id, e.change) {
			return true
		}
		found.ID, found.Night, found.FirstSeen = string(id), AddedNight, AddedNight
		q.take(found)
		n++
		return n < q.index.limit
	})
}

// size is the number of additions; each version of an id counts.
func (r *recent) size() int { return len(r.entries) }

// isNight reports whether the manifest has a night that was made from the file.
func (r *recent) isNight(m *library.Manifest) bool {
	n, ok := m.Night(r.night)
	return ok && n.Run == r.token
}
