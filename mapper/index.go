package mapper

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/hamming"
	"github.com/neardup/neardup/simhash/sketch"
)

// mostHot is how many units an earlier document may be near to, or share one value
// with, before Probe counts it as hot.
const mostHot = 64

// Index holds this run's documents, laid out to be looked up. Documents of earlier
// nights stream past it, and a [Prober] finds the matches between the two. Its
// tables are those of the join:
//
//	each tier        a hamming.Index of the distinct fingerprints
//	each of Tables   a valueIndex: filter, then sorted postings of value and unit
//
// An Index is immutable and safe for concurrent use.
type Index struct {
	rule   Rule
	hot    int // mostHot, except in tests
	units  *Units
	tiers  []tierIndex
	tables []valueIndex // by place in Tables; empty if the rule does not use the table or a library lacks its columns
	differ int          // if sketches differ in more bits, they rule the pair out
}

// A tierIndex finds the units of a tier that are near to a fingerprint.
type tierIndex struct {
	Tier
	narrow  *hamming.Index[uint64] // of the units' distinct fingerprints
	wide    *hamming.Index[columns.Uint128]
	starts  []uint32 // units sharing[starts[i]:starts[i+1]] have distinct fingerprint i
	sharing []uint32 // the units of the tier, sorted by fingerprint
}

// libraryKeeps are the parts of a document's view that a library keeps. A table
// that reads other parts finds nothing of earlier nights.
const libraryKeeps = data.ReadSketch | data.ReadLetters

// NewIndex returns an index of the units, to which nothing may be added any more.
// It serves all of the rule's candidates except those by samples, which a library
// does not keep. Bits is the width of the fingerprints. NewIndex works on workers
// goroutines; 0 stands for GOMAXPROCS.
func NewIndex(units *Units, rule Rule, bits, workers int) (*Index, error) {
	return newIndex(units, rule, hamming.Options{Workers: workers, Bits: bits}, mostHot)
}

func newIndex(units *Units, rule Rule, options hamming.Options, hot int) (*Index, error) {
	t := &Index{rule: rule, hot: hot, units: units}
	for _, tier := range rule.Tiers() {
		x, err := newTierIndex(units, tier, options)
		if err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
		t.tiers = append(t.tiers, x)
	}
	t.indexValues()
	return t, nil
}

func newTierIndex(units *Units, tier Tier, options hamming.Options) (t tierIndex, err error) {
	t.Tier = tier
	for u := range uint32(units.Len()) {
		if tier.Has(&data.View{Normal: units.isNormal(u), Length: units.length(u)}) {
			t.sharing = append(t.sharing, u)
		}
	}
	slices.SortFunc(t.sharing, func(a, b uint32) int {
		if c := cmp.Compare(units.high(a), units.high(b)); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(units.lo[a], units.lo[b]), cmp.Compare(a, b))
	})
	for i, u := range t.sharing {
		if i == 0 || units.lo[t.sharing[i-1]] != units.lo[u] || units.high(t.sharing[i-1]) != units.high(u) {
			t.starts = append(t.starts, uint32(i))
		}
	}
	t.starts = append(t.starts, uint32(len(t.sharing)))
	if options.Bits == 128 {
		t.wide, err = hamming.NewIndex(listsOf[columns.Uint128](units, &t), tier.K, options)
	} else {
		t.narrow, err = hamming.NewIndex(listsOf[uint64](units, &t), tier.K, options)
	}
	return t, err
}

// listsOf returns the distinct fingerprints of the tier, each with its units.
func listsOf[F columns.Fingerprint](units *Units, t *tierIndex) *columns.Lists[F] {
	distinct := make([]F, len(t.starts)-1)
	for i := range distinct {
		u := t.sharing[t.starts[i]]
		distinct[i] = columns.Of[F](units.high(u), units.lo[u])
	}
	return columns.NewLists(distinct, t.sharing, t.starts)
}

// indexValues fills in t.tables.
func (t *Index) indexValues() {
	// A pair whose estimate is below this limit is not the same, unless both texts
	// are short. So pairs that share no more than a band need no verdict then.
	t.differ = sketch.MostDiffer(min(t.rule.EstimateLimit(0), t.rule.EstimateLimit(t.rule.LongFrom)))
	t.tables = make([]valueIndex, len(Tables))
	values := NewKeyEmitter(nil, t.rule)
	var postings []uint64
	var v data.View
	for table := range t.tables {
		if !Tables[table].Asked(&t.rule) || Tables[table].Reads&^libraryKeeps != 0 {
			continue
		}
		postings = postings[:0]
		for u := range uint32(t.units.Len()) {
			t.units.View(u, &v)
			postings = values.Column(postings, table, &v, u)
		}
		t.tables[table] = newValueIndex(postings, t.hot)
		t.tables[table].plant(t.units, table)
	}
}

// A valueIndex finds the units that have a value in one table. A bitmap over the
// leading bits of the values says for most values that no unit has them; the
// others are found in the sorted postings, by a directory of their leading bits.
type valueIndex struct {
	filter   []uint64        // the bitmap, a bit for each value of filterBits leading bits; nil: no such table
	top      uint            // value >> top is its place in tops
	tops     []uint32        // postings[tops[i]:tops[i+1]] have leading bits i
	postings []uint64        // value << 32 | unit, ascending, each once
	values   map[uint32]bool // the hot values
	hot      []uint64        // a bitmap of their hotBits leading bits; nil if there are none

	// forests has a forest for each value of more units than are all compared.
	forests map[uint32]*forest
}

const (
	filterBits = 24 // 2 MiB: the filter stays in a core's cache

	// hotBits is how many leading bits of a value are looked up to see whether it
	// may be hot. The bitmap's 8 KiB stay in a core's first-level cache.
	hotBits = 16
)

// newValueIndex returns the index of postings, which are distinct. A value of more
// than hot units is hot. The result does not refer to postings.
func newValueIndex(postings []uint64, hot int) valueIndex {
	top := min(ValueBits, max(1, bits.Len(uint(len(postings)))-1))
	x := valueIndex{filter: make([]uint64, 1<<filterBits/64), top: uint(ValueBits - top), tops: make([]uint32, 1<<top+1)}
	for _, e := range postings {
		at := uint32(e>>32) >> (ValueBits - filterBits)
		x.filter[at/64] |= 1 << (at % 64)
		x.tops[uint32(e>>32)>>x.top]++
	}
	end := uint32(0)
	for i, n := range x.tops {
		end += n
		x.tops[i] = end
	}
	x.postings = make([]uint64, len(postings))
	for _, e := range slices.Backward(postings) {
		at := &x.tops[uint32(e>>32)>>x.top]
		*at--
		x.postings[*at] = e
	}
	for i := range x.tops[1:] {
		slices.Sort(x.postings[x.tops[i]:x.tops[i+1]])
	}
	for from := 0; from+hot < len(x.postings); from++ {
		if value := uint32(x.postings[from] >> 32); uint32(x.postings[from+hot]>>32) == value {
			if x.values == nil {
				x.values, x.hot = map[uint32]bool{}, make([]uint64, 1<<hotBits/64)
			}
			x.values[value] = true
			at := value >> (ValueBits - hotBits)
			x.hot[at/64] |= 1 << (at % 64)
			from += hot - 1
		}
	}
	return x
}

// plant fills in x.forests. Values that the same units have share one forest: a
// phrase of many short texts gives all of them the same dozen keys.
func (x *valueIndex) plant(units *Units, table int) {
	planted := map[uint64][]*forest{} // by the hash of their units
	for value := range x.values {
		part := x.all(value)
		if len(part) <= MostCompared(table) {
			continue
		}
		members := make([]uint32, len(part))
		for i, e := range part {
			members[i] = uint32(e)
		}
		if x.forests == nil {
			x.forests = map[uint32]*forest{}
		}
		hash := uint64(0)
		for _, u := range members {
			hash = mix(hash + uint64(u) + 1)
		}
		i := slices.IndexFunc(planted[hash], func(f *forest) bool { return slices.Equal(f.members, members) })
		if i < 0 {
			i, planted[hash] = len(planted[hash]), append(planted[hash], newForest(units, members, table))
		}
		x.forests[value] = planted[hash][i]
	}
}

// isHot reports whether the value is hot: more units have it than the index's
// limit.
func (x *valueIndex) isHot(value uint32) bool {
	if x.hot == nil {
		return false
	}
	at := value >> (ValueBits - hotBits)
	return x.hot[at/64]>>(at%64)&1 != 0 && x.values[value]
}

// may reports whether any unit may have the value. False is certain.
func (x *valueIndex) may(value uint32) bool {
	at := value >> (ValueBits - filterBits)
	return x.filter[at/64]>>(at%64)&1 != 0
}

// all returns the postings of the value.
func (x *valueIndex) all(value uint32) []uint64 {
	part := x.postings[x.tops[value>>x.top]:x.tops[value>>x.top+1]]
	from := 0
	if len(part) > 16 {
		from, _ = slices.BinarySearch(part, uint64(value)<<32)
	}
	for from < len(part) && uint32(part[from]>>32) < value {
		from++
	}
	to := from
	for to < len(part) && uint32(part[to]>>32) == value {
		to++
	}
	return part[from:to]
}

// HistoryRows are N documents of earlier nights as columns.
type HistoryRows struct {
	N      int
	Hi, Lo []uint64 // the fingerprints; Hi is nil unless they have 128 bits
	Normal []bool   // whether the text is of normal length
	// Sketch returns the sketch of row i, empty if it has none. Letters returns a
	// short text's letters, empty for another text.
	Sketch, Letters func(i int) []byte
	// View sets v to the view of row i.
	View func(i int, v *data.View)
}

// Part returns the rows first to last − 1 as rows of their own.
func (r *HistoryRows) Part(first, last int) *HistoryRows {
	return &HistoryRows{
		N: last - first, Hi: r.Hi[min(first, len(r.Hi)):min(last, len(r.Hi))], Lo: r.Lo[first:last], Normal: r.Normal[first:last],
		Sketch:  func(i int) []byte { return r.Sketch(first + i) },
		Letters: func(i int) []byte { return r.Letters(first + i) },
		View:    func(i int, v *data.View) { r.View(first+i, v) },
	}
}

// HistoryMatch is a match of a unit of this run and a document of an earlier
// night.
type HistoryMatch struct {
	Unit     uint32
	Row      int           // in the HistoryRows
	Distance int           // of the fingerprints
	Evidence data.Evidence // of the verdict; zero if the distance alone decided
}

// Prober finds the documents of earlier nights that match this run's. It reuses
// its buffers, so only one goroutine may use it at a time.
type Prober struct {
	t      *Index
	judge  func(a, b *data.View) data.Evidence // the verdict; nil: the distance alone decides
	narrow []*hamming.Prober[uint64]           // by tier; nil if fingerprints are wide
	wide   []*hamming.Prober[columns.Uint128]

	at         []int // rows of a tier
	prints     []uint64
	wides      []columns.Uint128
	near       []nearPair
	counts     []uint32  // of units that a row is near to
	hot        []bool    // by row: whether it shares a hot value or is near to too many units
	unit, view data.View // of the pair being judged
	loaded     int       // the row that view is of

	values []rowValues // by table
	hits   []uint32    // places in a table's values that pass its filter
	pairs  []valuePair

	partners []uint32  // found in a forest
	walked   []*forest // the forests that the current row was looked up in
	outline  []byte    // of the current row, if it is a short text

	mine *KeyEmitter // makes the values of the current row
}

// rowValues are the values of all rows in one table, in order of the rows.
type rowValues struct {
	values []uint32
	rows   []uint32
}

type valuePair struct{ row, unit uint32 }

// nearPair says that a distinct fingerprint of a tier's index is within the tier's
// distance of a row's.
type nearPair struct {
	tier     int
	distinct uint32
	row      int
	distance int
}

// NewProber returns a Prober. Judge gives the verdict on a candidate pair, a being
// the view of the unit and b that of the row. If judge is nil, two documents match
// if both are of normal length and their fingerprints within the distance.
func (t *Index) NewProber(judge func(a, b *data.View) data.Evidence) *Prober {
	m := &Prober{t: t, judge: judge, mine: NewKeyEmitter(nil, t.rule), values: make([]rowValues, len(t.tables))}
	for i := range t.tiers {
		if x := &t.tiers[i]; x.wide != nil {
			m.wide = append(m.wide, x.wide.NewProber())
		} else {
			m.narrow = append(m.narrow, x.narrow.NewProber())
		}
	}
	return m
}

// Probe calls visit with every match of the rows, each once, in no particular
// order. The rows should be at most some hundred thousand.
//
// If hot is not nil, Probe does not compare hot rows: those that share a value
// with, or are near to, more than mostHot units. It calls hot once for each, and
// the caller has to compare them. That is worth while because crawls bring the
// same thousands of template pages every night, and the caller can compare rows of
// equal views as one.
func (m *Prober) Probe(rows *HistoryRows, visit func(HistoryMatch), hot func(row int)) {
	m.loaded = -1
	near := func(p nearPair) {
		for _, u := range m.t.of(p) {
			if m.mayBeSame(rows, u, p.row) {
				m.confirm(rows, u, p.row, p.distance, visit)
			}
		}
	}
	if m.judge == nil {
		m.probe(rows, near)
		return
	}
	m.readValues(rows)
	m.hot = slices.Grow(m.hot[:0], rows.N)[:rows.N]
	clear(m.hot)
	if hot == nil {
		m.probe(rows, near)
	} else {
		m.findHot(rows)
		for i, is := range m.hot {
			if is {
				hot(i)
			}
		}
		for _, p := range m.near {
			if !m.hot[p.row] {
				near(p)
			}
		}
	}
	for table := range m.t.tables {
		m.table(rows, table, visit)
	}
}

// of returns the units of a distinct fingerprint.
func (t *Index) of(p nearPair) []uint32 {
	x := &t.tiers[p.tier]
	return x.sharing[x.starts[p.distinct]:x.starts[p.distinct+1]]
}

// probe calls found with every distinct fingerprint of the index that is near to a
// row's, tier after tier.
func (m *Prober) probe(rows *HistoryRows, found func(nearPair)) {
	for t := range m.t.tiers {
		tier := &m.t.tiers[t].Tier
		m.at, m.prints, m.wides = m.at[:0], m.prints[:0], m.wides[:0]
		for i := range rows.N {
			switch {
			case !m.isIn(tier, rows, i):
				continue
			case m.wide != nil:
				m.wides = append(m.wides, columns.Uint128{Hi: rows.Hi[i], Lo: rows.Lo[i]})
			default:
				m.prints = append(m.prints, rows.Lo[i])
			}
			m.at = append(m.at, i)
		}
		each := func(i int, distinct uint32, distance int) {
			if tier.reports(distance) {
				found(nearPair{t, distinct, m.at[i], distance})
			}
		}
		if m.wide != nil {
			m.wide[t].Probe(m.wides, each)
		} else {
			m.narrow[t].Probe(m.prints, each)
		}
	}
}

// isIn reports whether a row is in a tier.
func (m *Prober) isIn(tier *Tier, rows *HistoryRows, row int) bool {
	if tier.Reads() == 0 || !rows.Normal[row] {
		return rows.Normal[row]
	}
	m.load(rows, row)
	return tier.Has(&m.view)
}

// findHot marks the hot rows in m.hot, and collects in m.near what the others are
// near to. M.near may also hold pairs of hot rows, which Probe skips.
func (m *Prober) findHot(rows *HistoryRows) {
	t := m.t
	m.near = m.near[:0]
	m.counts = slices.Grow(m.counts[:0], rows.N)[:rows.N]
	clear(m.counts)
	m.probe(rows, func(p nearPair) {
		n := int(m.counts[p.row]) + len(t.of(p))
		if n > t.hot {
			m.hot[p.row] = true
			return
		}
		m.counts[p.row] = uint32(n)
		m.near = append(m.near, p)
	})
	for table := range t.tables {
		x, of := &t.tables[table], &m.values[table]
		if x.hot == nil {
			continue
		}
		for i, v := range of.values {
			if x.isHot(v) {
				m.hot[of.rows[i]] = true
			}
		}
	}
}

// mayBeSame reports whether a unit may be the same as a row. False is certain: the
// sketches differ too much.
func (m *Prober) mayBeSame(rows *HistoryRows, u uint32, row int) bool {
	if !m.t.rule.Bands || !m.t.rule.ShortTexts || len(rows.Letters(row)) > 0 {
		return true // the letters of short texts decide, not the sketches
	}
	s := rows.Sketch(row)
	return len(s) != data.SketchSize || sketch.Differ((*sketch.Sketch)(&m.t.units.sketches[u]), (*sketch.Sketch)(s)) <= m.t.differ
}

func (m *Prober) load(rows *HistoryRows, i int) {
	if m.loaded != i {
		rows.View(i, &m.view)
		m.loaded = i
	}
}

func (m *Prober) confirm(rows *HistoryRows, u uint32, row, distance int, visit func(HistoryMatch)) {
	met := HistoryMatch{Unit: u, Row: row, Distance: distance}
	if m.judge != nil {
		m.load(rows, row)
		m.t.units.View(u, &m.unit)
		if met.Evidence = m.judge(&m.unit, &m.view); met.Evidence.Reason == data.NotTheSame {
			return
		}
	}
	visit(met)
}

// isNear reports whether a unit and a row are candidates by their fingerprints.
func (m *Prober) isNear(rows *HistoryRows, u uint32, row int) bool {
	units := m.t.units
	if !rows.Normal[row] || !units.isNormal(u) {
		return false
	}
	high := units.high(u)
	if len(rows.Hi) > 0 {
		high ^= rows.Hi[row]
	}
	return bits.OnesCount64(units.lo[u]^rows.Lo[row])+bits.OnesCount64(high) <= m.t.rule.K
}

// readValues collects the values of all rows, by table.
func (m *Prober) readValues(rows *HistoryRows) {
	for table := range m.values {
		of := &m.values[table]
		of.values, of.rows = of.values[:0], of.rows[:0]
	}
	var v data.View
	for i := range rows.N {
		rows.View(i, &v)
		for table := range m.values {
			if m.t.tables[table].filter == nil {
				continue
			}
			of := &m.values[table]
			for _, value := range m.mine.Values(table, &v) {
				of.values, of.rows = append(of.values, uint32(value)), append(of.rows, uint32(i))
			}
		}
	}
}

// maxPairs is about how many pairs of a table are collected before they are
// compared.
const maxPairs = 256 << 10

// table finds the matches that one table brings together. It goes through all rows
// before the next table, so that the table's filter is loaded into the cache once.
// About every other document of a large library shares a band with some document
// of this run by chance. Looking at such a pair means waiting for memory, so pairs
// are collected and looked at many at once.
func (m *Prober) table(rows *HistoryRows, table int, visit func(HistoryMatch)) {
	x, of := &m.t.tables[table], &m.values[table]
	m.hits = slices.Grow(m.hits[:0], len(of.values)+1)[:len(of.values)+1]
	n := 0
	for i, v := range of.values {
		m.hits[n] = uint32(i)
		if x.may(v) {
			n++
		}
	}
	m.pairs = m.pairs[:0]
	last := ^uint32(0)
	for _, i := range m.hits[:n] {
		row := of.rows[i]
		if m.hot[row] {
			continue
		}
		if row != last && len(m.pairs) >= maxPairs {
			m.comparePairs(rows, table, visit)
		}
		if row != last {
			last, m.walked = row, m.walked[:0]
		}
		if f := x.forests[of.values[i]]; f != nil {
			if slices.Contains(m.walked, f) {
				continue
			}
			m.walked = append(m.walked, f)
			var s [data.SketchSize]byte
			copy(s[:], rows.Sketch(int(row)))
			m.partners = f.partners(m.partners[:0], &s)
			for _, u := range m.partners {
				m.pairs = append(m.pairs, valuePair{row, u})
			}
			continue
		}
		for _, e := range x.all(of.values[i]) {
			m.pairs = append(m.pairs, valuePair{row, uint32(e)})
		}
	}
	m.comparePairs(rows, table, visit)
}

// comparePairs judges the pairs collected for a table, each once, and empties the
// collection. Pairs of one row must be adjacent.
func (m *Prober) comparePairs(rows *HistoryRows, table int, visit func(HistoryMatch)) {
	left := m.pairs[:0]
	for from, to := 0, 0; from < len(m.pairs); from = to {
		row := m.pairs[from].row
		for to < len(m.pairs) && m.pairs[to].row == row {
			to++
		}
		of := m.pairs[from:to]
		slices.SortFunc(of, func(a, b valuePair) int { return cmp.Compare(a.unit, b.unit) }) // a row may share several values with a unit
		var s sketch.Sketch
		copy(s[:], rows.Sketch(int(row)))
		m.outline = m.outline[:0]
		if letters := rows.Letters(int(row)); len(letters) > 0 {
			m.outline = sketch.AppendOutline(m.outline, letters)
		}
		for _, p := range slices.Compact(of) {
			if !unlike(m.t.differ, table, m.outline, m.t.units.shortText(p.unit), &s, (*sketch.Sketch)(&m.t.units.sketches[p.unit])) && !m.isNear(rows, p.unit, int(row)) {
				left = append(left, p)
			}
		}
	}
	m.pairs = m.pairs[:0]
	for _, p := range left {
		m.load(rows, int(p.row))
		m.t.units.View(p.unit, &m.unit)
		if Tables[table].FirstShared(&m.t.rule, table, &m.unit, &m.view) {
			m.confirm(rows, p.unit, int(p.row), Distance(&m.unit, &m.view), visit)
		}
	}
}
