// Package history says what documents of earlier nights mean for those of this
// run.
//
// [Matches] gathers pairs of a document of this run and one of an earlier night,
// and answers for each document of this run: the best match, the best match that
// was kept, when the id was first seen, and which earlier clusters it touches. To
// gather is commutative: neither the order of the pairs matters, nor whether they
// are added one by one or gathered in several Matches first. So workers, and
// processes on several hosts, can each join a part of the library.
//
// [Descend] then decides which earlier cluster each cluster of this run continues.
//
// The package reads no library and knows no engine.
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

// Match is a document of an earlier night that a document of this run matches.
type Match struct {
	Night, ID, FirstSeen string
	Distance             int
	Similarity           float64 // that the verdict rests on; 0 if the distance alone decided
	Reason               string
}

// Cluster returns the id of the document's cluster, if the document was kept in
// its night.
func (e *Match) Cluster() string { return FoundedCluster(e.Night, []byte(e.ID)) }

// compare orders earlier documents, the best match first: by smaller distance,
// then earlier night, then smaller id.
func (e *Match) compare(o *Match) int {
	return cmp.Or(cmp.Compare(e.Distance, o.Distance), strings.Compare(e.Night, o.Night), strings.Compare(e.ID, o.ID))
}

// Matches gathers what earlier nights know of this run's documents. A row is a
// document; a unit is a set of documents with equal views. A document that is not
// matched has a row and no unit; of it only unchanged copies are gathered.
//
// For each row it has
//   - the first night with the document's id,
//   - without a unit: the first night with the document unchanged.
//
// For each unit it has
//   - the best match, and the best match with another id than that,
//   - the best match among documents that were kept in their nights,
//   - the clusters of all its matches,
//   - the number of matches with the same fingerprint,
//   - the nights that have a match.
//
// The second best is needed since a document's own id is no match of it.
type Matches struct {
	nights []string        // earlier nights, in order
	passed atomic.Int64    // see Pass
	locks  [256]sync.Mutex // each guards the rows and units of a remainder
	rows   []seen
	units  []*ofUnit // nil without a match

	plainLock sync.Mutex
	plain     map[int]Nights // by row without a unit: nights that have it unchanged
}

// seen holds the first nights with a row's id, and with the row unchanged; "" if
// there is none.
type seen struct{ first, unchanged string }

type ofUnit struct {
	best, other Match    // the two best matches with different ids
	kept        []Match  // at most one: the best match that was kept in its night
	matches     int      // 0, 1 or 2: how many of best and other are set
	clusters    []string // sorted
	exact, last int64    // matches at distance 0, and those of them in the last earlier night
	nights      Nights   // nights that have a match
}

// New returns empty Matches for the given numbers of rows and units. nights are
// the names of the nights before this run's, in order.
func New(rows, units int, nights ...string) *Matches {
	return &Matches{nights: nights, rows: make([]seen, rows), units: make([]*ofUnit, units), plain: map[int]Nights{}}
}

// Nights is a set of earlier nights: bit i stands for the i-th.
type Nights []uint64

// add adds the night with index at; a negative one adds nothing.
func (n *Nights) add(at int) {
	if at < 0 {
		return
	}
	for at/64 >= len(*n) {
		*n = append(*n, 0)
	}
	(*n)[at/64] |= 1 << (at % 64)
}

// take adds the nights of o.
func (n *Nights) take(o Nights) {
	for len(*n) < len(o) {
		*n = append(*n, 0)
	}
	for i, w := range o {
		(*n)[i] |= w
	}
}

// place returns the index of a night among the earlier ones, or -1.
func (e *Matches) place(night string) int {
	if at, ok := slices.BinarySearch(e.nights, night); ok {
		return at
	}
	return -1
}

// Span returns the first and the last night of a set, and the size of the set. It
// ignores nights that do not exist, which a damaged file may name.
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

// Nights returns the nights that have a match of the unit.
func (e *Matches) Nights(unit uint32) Nights {
	if u := e.units[unit]; u != nil {
		return u.nights
	}
	return nil
}

// Plain returns the nights that have the document of a row without a unit
// unchanged.
func (e *Matches) Plain(row int) Nights { return e.plain[row] }

// TakePlain adds nights that were gathered elsewhere to those that have the row
// unchanged. Safe for concurrent use.
func (e *Matches) TakePlain(row int, of Nights) {
	e.plainLock.Lock()
	defer e.plainLock.Unlock()
	nights := e.plain[row]
	nights.take(of)
	e.plain[row] = nights
}

// Reset removes all that was gathered.
func (e *Matches) Reset() {
	clear(e.rows)
	clear(e.units)
	clear(e.plain)
	e.passed.Store(0)
}

// Pass adds to the number of earlier documents that were compared with all of this
// run's. Safe for concurrent use.
func (e *Matches) Pass(documents int64) { e.passed.Add(documents) }

// Documents returns the sum of the calls of Pass.
func (e *Matches) Documents() int64 { return e.passed.Load() }

// Rows returns the number of rows.
func (e *Matches) Rows() int { return len(e.rows) }

// Units returns the number of units.
func (e *Matches) Units() int { return len(e.units) }

// Seen notes that an earlier document has the row's id, which the library first
// saw in the night first. unchanged is the night of that document if the row has
// no unit and the document equals it, else "". Safe for concurrent use.
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

// firstNight returns the earlier of two nights; "" stands for none.
func firstNight(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// FirstSeen returns the first night with the row's id, "" if there is none.
func (e *Matches) FirstSeen(row int) string { return e.rows[row].first }

// Unchanged returns the first night with the row unchanged, for a row without a
// unit; "" if there is none.
func (e *Matches) Unchanged(row int) string { return e.rows[row].unchanged }

// Row is a document of an earlier night, with the verdict on it and a unit. Add
// copies its bytes.
type Row struct {
	Night      string
	ID         []byte
	FirstSeen  string
	Cluster    []byte // empty: the document was alone
	Kept       bool   // it was kept in its night
	Distance   int
	Similarity float64
	Reason     string
}

// Add adds a match of a unit and an earlier document. Safe for concurrent use.
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

// unit locks and returns what is gathered of a unit, which it makes if needed.
func (e *Matches) unit(unit uint32) (u *ofUnit, unlock func()) {
	lock := &e.locks[unit%uint32(len(e.locks))]
	lock.Lock()
	if e.units[unit] == nil {
		e.units[unit] = &ofUnit{}
	}
	return e.units[unit], lock.Unlock
}

// Gathered is what one Matches knows of one unit, for another to Take.
type Gathered struct {
	Unit        uint32
	Matches     []Match // the best, and the best of another id
	Kept        []Match // at most one: the best that stayed in its night
	Clusters    []string
	Exact, Last int64
	Nights      Nights
}

// Gathered returns what is known of a unit; ok is false if it has no match. g
// shares memory with e.
func (e *Matches) Gathered(unit uint32) (g Gathered, ok bool) {
	u := e.units[unit]
	if u == nil {
		return g, false
	}
	return Gathered{unit, []Match{u.best, u.other}[:u.matches], u.kept, u.clusters, u.exact, u.last, u.nights}, true
}

// Take adds what another Matches gathered of a unit. Safe for concurrent use.
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

// Alike returns empty Matches for units of earlier documents: sets of them with
// equal views. The caller adds the documents of each set at distance 0, then
// passes each set on with TakeAlike.
func (e *Matches) Alike(units int) *Matches { return New(0, units, e.nights...) }

// TakeAlike adds matches of a unit and all documents of g, which have equal views
// and so the same distance, similarity and reason. They must have been added to g
// at distance 0. Safe for concurrent use.
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

// Exact returns the number of matches that have the unit's fingerprint, and how
// many of them are in the last earlier night.
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

// Match returns the best match of the document id of the unit, among those with
// another id; ok is false without one.
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

// Kept returns the unit's best match among the documents that were kept in their
// nights, whatever its id; ok is false without one.
func (e *Matches) Kept(unit uint32) (Match, bool) {
	if u := e.units[unit]; u != nil && len(u.kept) > 0 {
		return u.kept[0], true
	}
	return Match{}, false
}

// Clusters returns the ids of the clusters of the unit's matches, sorted.
func (e *Matches) Clusters(unit uint32) []string {
	if e.units[unit] == nil {
		return nil
	}
	return e.units[unit].clusters
}

// FoundedCluster returns the id of the cluster that a document founds: the night,
// a slash, and 24 hexadecimal digits, which are a hash of the document's id. The
// probability that any two of a billion documents of one night share an id is
// 10⁻¹¹. Ids sort by night, so the eldest cluster has the smallest.
func FoundedCluster(night string, id []byte) string {
	sum := xxh3.Hash128(id).Bytes()
	return night + "/" + hex.EncodeToString(sum[:12])
}

// Descent is a cluster of this run's documents, with the earlier clusters that it
// continues.
type Descent struct {
	Founded   string   // the id it gets if it continues none; no other cluster has it
	Continues []string // ids of clusters of earlier nights
}

// Merge says that cluster From has become a part of cluster Into.
type Merge struct{ From, Into string }

// Descend returns the ids of this run's clusters. A cluster that continues one
// earlier cluster keeps that one's id. If it joins several, all of them take the
// smallest id among them, which is the eldest's; merges says so for each of the
// others, sorted by From. The order of clusters does not matter.
//
// Joins are transitive: it is a union-find over the ids of earlier clusters.
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
