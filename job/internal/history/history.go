// Package history says what documents of earlier nights mean to those of this run:
// which of them each matches best, when it was first seen, and which earlier
// cluster each cluster continues. It reads no library and knows no engine.
package history

import (
	"cmp"
	"encoding/hex"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// Match is a document of an earlier night that one of this run's matches.
type Match struct {
	Night, ID, FirstSeen string
	Distance             int
	Similarity           float64 // that the verdict rests on, if there was one beside the distance
	Reason               string
}

// Cluster is the id of the cluster of an earlier document that stayed.
func (e *Match) Cluster() string { return FoundedCluster(e.Night, []byte(e.ID)) }

// compare orders earlier documents, the best match first: by distance, then
// by night, the earliest first, then by id.
func (e *Match) compare(o *Match) int {
	return cmp.Or(cmp.Compare(e.Distance, o.Distance), strings.Compare(e.Night, o.Night), strings.Compare(e.ID, o.ID))
}

// Matches gathers what earlier nights know of this run's documents: of each
// row, a document, the night in which its id was first seen, and that in which
// it was first seen unchanged, if it is of no unit; of each unit the best match
// among the earlier documents, the best of another id, the best that stayed in its
// night, the clusters that all its matches are of, and how many have its very
// fingerprint; and which nights have the same as each of them. Neither the order in
// which they arrive matters, nor whether they come one by one or gathered
// elsewhere.
type Matches struct {
	nights []string // earlier ones, in order
	passed atomic.Int64
	locks  [256]sync.Mutex
	rows   []seen
	units  []*ofUnit

	plainLock sync.Mutex
	plain     map[int]Nights // by row, of no unit: those that have it unchanged
}

// seen are nights in which a row's id was first seen, "" if it never was.
type seen struct{ first, unchanged string }

type ofUnit struct {
	best, other Match    // of different ids
	kept        []Match  // at most one: the best that stayed in its night
	matches     int      // 0, 1 or 2: how many of them there are
	clusters    []string // in order
	exact, last int64    // earlier documents of the same fingerprint, and those of the night before
	nights      Nights   // that have a match
}

// New gathers for so many rows and units; nights are the names of the nights before
// this run's, in order.
func New(rows, units int, nights ...string) *Matches {
	return &Matches{nights: nights, rows: make([]seen, rows), units: make([]*ofUnit, units), plain: map[int]Nights{}}
}

// Nights are some of a library's earlier nights: a bit for each, in their order.
type Nights []uint64

// add adds a night by its place; less than 0 is none.
func (n *Nights) add(at int) {
	if at < 0 {
		return
	}
	for at/64 >= len(*n) {
		*n = append(*n, 0)
	}
	(*n)[at/64] |= 1 << (at % 64)
}

// take adds those of o.
func (n *Nights) take(o Nights) {
	for len(*n) < len(o) {
		*n = append(*n, 0)
	}
	for i, w := range o {
		(*n)[i] |= w
	}
}

// place is that of a night among the earlier ones, -1 if it is none of them.
func (e *Matches) place(night string) int {
	if at, ok := slices.BinarySearch(e.nights, night); ok {
		return at
	}
	return -1
}

// Span says how many nights those are, and which are the first and the last of them.
func (e *Matches) Span(of Nights) (first, last string, nights int) {
	for i, w := range of {
		if w == 0 || 64*i+63-bits.LeadingZeros64(w) >= len(e.nights) { // a part that is damaged
			continue
		}
		if nights == 0 {
			first = e.nights[64*i+bits.TrailingZeros64(w)]
		}
		last = e.nights[64*i+63-bits.LeadingZeros64(w)]
		nights += bits.OnesCount64(w)
	}
	return first, last, nights
}

// Nights are those that have the same as the documents of a unit, and Plain those that
// have the document of a row of no unit unchanged.
func (e *Matches) Nights(unit uint32) Nights {
	if u := e.units[unit]; u != nil {
		return u.nights
	}
	return nil
}

// Plain see Nights.
func (e *Matches) Plain(row int) Nights { return e.plain[row] }

// TakePlain takes in nights that were gathered elsewhere for a row of no unit. Safe
// for concurrent use.
func (e *Matches) TakePlain(row int, of Nights) {
	e.plainLock.Lock()
	defer e.plainLock.Unlock()
	nights := e.plain[row]
	nights.take(of)
	e.plain[row] = nights
}

// Reset forgets all that was gathered.
func (e *Matches) Reset() {
	clear(e.rows)
	clear(e.units)
	clear(e.plain)
	e.passed.Store(0)
}

// Pass counts earlier documents that were compared with all of this run's. Safe
// for concurrent use.
func (e *Matches) Pass(documents int64) { e.passed.Add(documents) }

// Documents is how many earlier documents have passed.
func (e *Matches) Documents() int64 { return e.passed.Load() }

// Rows is for how many rows it gathers.
func (e *Matches) Rows() int { return len(e.rows) }

// Units is for how many units it gathers.
func (e *Matches) Units() int { return len(e.units) }

// Seen takes in that an earlier document has the row's id, which was first
// seen in the night first, and of a row of no unit the night that has it
// unchanged, "" if that one has not. Safe for concurrent use.
func (e *Matches) Seen(row int, first, unchanged string) {
	lock := &e.locks[row%len(e.locks)]
	lock.Lock()
	defer lock.Unlock()
	r := &e.rows[row]
	r.first, r.unchanged = firstNight(r.first, first), firstNight(r.unchanged, unchanged)
	if at := e.place(unchanged); at >= 0 {
		var one Nights
		one.add(at)
		e.TakePlain(row, one)
	}
}

// earlier is the earlier of two nights; "" is none.
func firstNight(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// FirstSeen is the night in which the row's id was first seen, "" if it never
// was, and Unchanged that in which a row of no unit was first as it is now.
func (e *Matches) FirstSeen(row int) string { return e.rows[row].first }

// Unchanged see FirstSeen.
func (e *Matches) Unchanged(row int) string { return e.rows[row].unchanged }

// Row is a document of an earlier night as Add takes it; its bytes are
// copied.
type Row struct {
	Night      string
	ID         []byte
	FirstSeen  string
	Cluster    []byte // empty: the document was alone
	Kept       bool   // it stayed in its night
	Distance   int
	Similarity float64
	Reason     string
}

// Add takes in that a unit and an earlier document are the same. Safe for
// concurrent use.
func (e *Matches) Add(unit uint32, row *Row) {
	u, unlock := e.unit(unit)
	defer unlock()
	m := Match{
		Night: row.Night, ID: string(row.ID), FirstSeen: row.FirstSeen,
		Distance: row.Distance, Similarity: row.Similarity, Reason: row.Reason,
	}
	u.add(&m)
	if row.Kept {
		u.keep(&m)
	}
	cluster := string(row.Cluster)
	if cluster == "" {
		cluster = FoundedCluster(row.Night, row.ID)
	}
	u.join(cluster)
	at := e.place(row.Night)
	u.nights.add(at)
	if row.Distance == 0 {
		u.exact++
		if at >= 0 && at == len(e.nights)-1 {
			u.last++
		}
	}
}

// unit locks what is known of a unit.
func (e *Matches) unit(unit uint32) (u *ofUnit, unlock func()) {
	lock := &e.locks[unit%uint32(len(e.locks))]
	lock.Lock()
	if e.units[unit] == nil {
		e.units[unit] = &ofUnit{}
	}
	return e.units[unit], lock.Unlock
}

// Gathered is what is known of one unit, to be taken in elsewhere.
type Gathered struct {
	Unit        uint32
	Matches     []Match // the best, and the best of another id
	Kept        []Match // at most one: the best that stayed in its night
	Clusters    []string
	Exact, Last int64
	Nights      Nights
}

// Gathered returns what is known of a unit; ok is false if that is nothing. It
// shares the memory.
func (e *Matches) Gathered(unit uint32) (g Gathered, ok bool) {
	u := e.units[unit]
	if u == nil {
		return g, false
	}
	return Gathered{unit, []Match{u.best, u.other}[:u.matches], u.kept, u.clusters, u.exact, u.last, u.nights}, true
}

// Take takes in what was gathered elsewhere. Safe for concurrent use.
func (e *Matches) Take(g *Gathered) {
	u, unlock := e.unit(g.Unit)
	defer unlock()
	for i := range g.Matches {
		u.add(&g.Matches[i])
	}
	for i := range g.Kept {
		u.keep(&g.Kept[i])
	}
	for _, c := range g.Clusters {
		u.join(c)
	}
	u.exact += g.Exact
	u.last += g.Last
	u.nights.take(g.Nights)
}

// Alike returns what gathers, for so many units of earlier documents that look
// alike, what TakeAlike takes.
func (e *Matches) Alike(units int) *Matches { return New(0, units, e.nights...) }

// TakeAlike takes in that a unit and all documents of g, which were added at
// distance 0, are the same, at that distance and for that reason. Safe for
// concurrent use.
func (e *Matches) TakeAlike(unit uint32, g *Gathered, distance int, similarity float64, reason string) {
	var matches [3]Match
	at := *g
	n := copy(matches[:2], g.Matches)
	end := n + copy(matches[n:], g.Kept)
	at.Unit, at.Matches, at.Kept = unit, matches[:n], matches[n:end]
	for i := range matches[:end] {
		m := &matches[i]
		m.Distance, m.Similarity, m.Reason = distance, similarity, reason
	}
	if distance > 0 {
		at.Exact, at.Last = 0, 0
	}
	e.Take(&at)
}

// Exact is how many earlier documents have the fingerprint of a unit, and how
// many of them are of the night before.
func (e *Matches) Exact(unit uint32) (exact, last int64) {
	if u := e.units[unit]; u != nil {
		return u.exact, u.last
	}
	return 0, 0
}

func (u *ofUnit) add(m *Match) {
	switch {
	case u.matches == 0:
		u.best, u.matches = *m, 1
	case u.best.ID == m.ID:
		if u.best.compare(m) > 0 {
			u.best = *m
		}
	case u.best.compare(m) > 0:
		u.other, u.best, u.matches = u.best, *m, 2
	case u.matches == 1 || u.other.compare(m) > 0:
		u.other, u.matches = *m, 2
	}
}

func (u *ofUnit) keep(m *Match) {
	if len(u.kept) == 0 {
		u.kept = []Match{*m}
	} else if u.kept[0].compare(m) > 0 {
		u.kept[0] = *m
	}
}

func (u *ofUnit) join(cluster string) {
	if at, joined := slices.BinarySearch(u.clusters, cluster); !joined {
		u.clusters = slices.Insert(u.clusters, at, cluster)
	}
}

// Match returns the best match of a document of the unit: the best among those
// that have another id than its own; ok is false without one.
func (e *Matches) Match(unit uint32, id []byte) (Match, bool) {
	u := e.units[unit]
	switch {
	case u == nil:
		return Match{}, false
	case u.best.ID != string(id):
		return u.best, true
	case u.matches == 2:
		return u.other, true
	}
	return Match{}, false
}

// Kept returns the best match of the unit's documents among those that stayed in
// their nights, whatever its id; ok is false without one.
func (e *Matches) Kept(unit uint32) (Match, bool) {
	if u := e.units[unit]; u != nil && len(u.kept) > 0 {
		return u.kept[0], true
	}
	return Match{}, false
}

// Clusters returns the clusters of the unit's matches, in order.
func (e *Matches) Clusters(unit uint32) []string {
	if e.units[unit] == nil {
		return nil
	}
	return e.units[unit].clusters
}

// FoundedCluster is the id of the cluster that begins with a document: its
// night and 24 hexadecimal digits, a hash of the document's id. Two of a
// billion documents of a night share one with a probability of 10⁻¹¹. An
// earlier cluster's id is the smaller.
func FoundedCluster(night string, id []byte) string {
	sum := xxh3.Hash128(id).Bytes()
	return night + "/" + hex.EncodeToString(sum[:12])
}

// Descent is a cluster among this run's documents with the earlier clusters
// that it continues.
type Descent struct {
	Founded   string   // its id if it continues none; no other cluster has it
	Continues []string // ids of clusters of earlier nights
}

// Merge says that a cluster has become a part of another.
type Merge struct{ From, Into string }

// Descend gives this run's clusters their ids. A cluster keeps its id when it
// grows; where several earlier clusters are joined, all take the smallest id
// among them, that of the eldest, and the merges say so, in order. The order
// of the clusters does not matter.
func Descend(clusters []Descent) (ids []string, merges []Merge) {
	parent := map[string]string{} // of earlier clusters; a root is its own
	var root func(id string) string
	root = func(id string) string {
		up, ok := parent[id]
		if !ok {
			parent[id] = id
			return id
		}
		if up != id {
			up = root(up)
			parent[id] = up
		}
		return up
	}
	for _, c := range clusters {
		for _, id := range c.Continues {
			a, b := root(c.Continues[0]), root(id)
			parent[max(a, b)] = min(a, b)
		}
	}
	ids = make([]string, len(clusters))
	for i, c := range clusters {
		if ids[i] = c.Founded; len(c.Continues) > 0 {
			ids[i] = root(c.Continues[0])
		}
	}
	for id := range parent {
		if into := root(id); into != id {
			merges = append(merges, Merge{id, into})
		}
	}
	slices.SortFunc(merges, func(a, b Merge) int { return strings.Compare(a.From, b.From) })
	return ids, merges
}
