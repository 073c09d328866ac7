package mapper

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/hamming"
	"github.com/neardup/neardup/simhash/sketch"
)

// mostHot is how many units an earlier document may be near to, or share a band
// or a short text's key with, before it is hot, see Probe.
const mostHot = 64

// Index is an index of a night's documents, past which those of earlier
// nights stream. It never changes, and is safe for concurrent use.
type Index struct {
	rule   Rule
	hot    int // is mostHot, but in tests
	units  *Units
	narrow *hamming.Index[uint64] // of the distinct fingerprints of the normal lane
	wide   *hamming.Index[hamming.Uint128]
	starts []uint32 // distinct fingerprint i is that of sharing[starts[i]:starts[i+1]]
	// sharing lists the units of the normal lane by fingerprint.
	sharing []uint32
	tables  [ShortTexts + 1]valueIndex // of the bands and the keys of short texts
	differ  int                        // bits in which two sketches may differ
}

// NewIndex returns the index of the units, which are not to be added to any
// more, by which a Prober finds the rule's candidates but those by their
// samples. Fingerprints have so many bits. It is built on workers goroutines; 0:
// GOMAXPROCS.
func NewIndex(units *Units, rule Rule, bits, workers int) (*Index, error) {
	return newIndex(units, rule, hamming.Options{Workers: workers, Bits: bits}, mostHot)
}

func newIndex(units *Units, rule Rule, options hamming.Options, hot int) (*Index, error) {
	t := &Index{rule: rule, hot: hot, units: units}
	for u := range uint32(units.Len()) {
		if units.isNormal(u) {
			t.sharing = append(t.sharing, u)
		}
	}
	slices.SortFunc(t.sharing, func(a, b uint32) int {
		if c := cmp.Compare(units.lo[a], units.lo[b]); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(units.high(a), units.high(b)), cmp.Compare(a, b))
	})
	var narrow []uint64
	var wide []hamming.Uint128
	for i, u := range t.sharing {
		if i > 0 && units.lo[t.sharing[i-1]] == units.lo[u] && units.high(t.sharing[i-1]) == units.high(u) {
			continue
		}
		t.starts = append(t.starts, uint32(i))
		if options.Bits == 128 {
			wide = append(wide, hamming.Uint128{Hi: units.high(u), Lo: units.lo[u]})
		} else {
			narrow = append(narrow, units.lo[u])
		}
	}
	t.starts = append(t.starts, uint32(len(t.sharing)))
	var err error
	if options.Bits == 128 {
		t.wide, err = hamming.NewIndex(wide, rule.K, options)
	} else {
		t.narrow, err = hamming.NewIndex(narrow, rule.K, options)
	}
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	t.indexValues()
	return t, nil
}

// indexValues fills in the tables that the rule asks for.
func (t *Index) indexValues() {
	// Two documents whose estimate is less are not the same, if not both are
	// short: those that share a band alone are then not judged.
	t.differ = sketch.MostDiffer(min(t.rule.EstimateLimit(0), t.rule.EstimateLimit(t.rule.LongFrom)))
	values := NewMap(nil, t.rule)
	var entries []uint64
	var v data.View
	for table := range t.tables {
		if table < ShortTexts && !t.rule.Bands || table == ShortTexts && !t.rule.ShortTexts {
			continue
		}
		entries = entries[:0]
		for u := range uint32(t.units.Len()) {
			t.units.View(u, &v)
			for _, value := range values.Values(table, &v) {
				entries = append(entries, value<<32|uint64(u))
			}
		}
		t.tables[table] = newValueIndex(entries, t.hot)
	}
}

// A valueIndex finds the units that have a value.
type valueIndex struct {
	filter  []uint64        // a bit for each leading filterBits bits of a value that occurs
	top     uint            // shift of a value to its place in tops
	tops    []uint32        // where the entries of a value's leading bits start
	entries []uint64        // value << 32 | unit, ascending, each once
	values  map[uint32]bool // values of more units than that
	hot     []uint64        // a bit for each leading hotBits bits of theirs; nil without any
}

const (
	filterBits = 24 // 2 MiB: the filter stays in a core's cache

	// hotBits is how many bits of a value say that it may be a hot one:
	// there are few, and 8 KiB stay in a core's first cache.
	hotBits = 16
)

// newValueIndex returns the index of entries, each of which comes once. It keeps
// nothing of them.
func newValueIndex(entries []uint64, hot int) valueIndex {
	top := min(valueBits, max(1, bits.Len(uint(len(entries)))-1))
	x := valueIndex{filter: make([]uint64, 1<<filterBits/64), top: uint(valueBits - top), tops: make([]uint32, 1<<top+1)}
	for _, e := range entries {
		at := uint32(e>>32) >> (valueBits - filterBits)
		x.filter[at/64] |= 1 << (at % 64)
		x.tops[uint32(e>>32)>>x.top]++
	}
	end := uint32(0)
	for i, n := range x.tops {
		end += n
		x.tops[i] = end
	}
	x.entries = make([]uint64, len(entries))
	for _, e := range slices.Backward(entries) {
		at := &x.tops[uint32(e>>32)>>x.top]
		*at--
		x.entries[*at] = e
	}
	for i := range x.tops[1:] {
		slices.Sort(x.entries[x.tops[i]:x.tops[i+1]])
	}
	for from := 0; from+hot < len(x.entries); from++ {
		if value := uint32(x.entries[from] >> 32); uint32(x.entries[from+hot]>>32) == value {
			if x.values == nil {
				x.values, x.hot = map[uint32]bool{}, make([]uint64, 1<<hotBits/64)
			}
			x.values[value] = true
			at := value >> (valueBits - hotBits)
			x.hot[at/64] |= 1 << (at % 64)
			from += hot - 1
		}
	}
	return x
}

// isHot reports whether so many units have the value that it is hot.
func (x *valueIndex) isHot(value uint32) bool {
	if x.hot == nil {
		return false
	}
	at := value >> (valueBits - hotBits)
	return x.hot[at/64]>>(at%64)&1 != 0 && x.values[value]
}

// may reports whether there may be units of the value; mostly it knows.
func (x *valueIndex) may(value uint32) bool {
	at := value >> (valueBits - filterBits)
	return x.filter[at/64]>>(at%64)&1 != 0
}

// find returns the entries of the value, at most maxMeeting.
func (x *valueIndex) find(value uint32) []uint64 {
	part := x.entries[x.tops[value>>x.top]:x.tops[value>>x.top+1]]
	from := 0
	if len(part) > 16 {
		from, _ = slices.BinarySearch(part, uint64(value)<<32)
	}
	for from < len(part) && uint32(part[from]>>32) < value {
		from++
	}
	to := from
	for to < len(part) && to-from < maxMeeting && uint32(part[to]>>32) == value {
		to++
	}
	return part[from:to]
}

// EarlierRows are documents of earlier nights, column by column.
type EarlierRows struct {
	N      int
	Hi, Lo []uint64 // Hi is nil unless fingerprints have 128 bits
	Normal []bool
	// Sketch is the sketch of row i, empty when it has none; nil when bands are
	// not looked at. Letters are those of a short text; nil when short texts
	// are not.
	Sketch, Letters func(i int) []byte
	// View sets v to the view of row i. It is called for rows that are judged
	// or are short texts.
	View func(i int, v *data.View)
}

// EarlierMatch is a unit of this run and a document of an earlier night that are
// the same.
type EarlierMatch struct {
	Unit     uint32
	Row      int
	Distance int
	Evidence data.Evidence // of the verdict, if there is one beside the distance
}

// Prober finds the earlier documents that match this run's. It holds
// buffers that are used again, so one goroutine uses it at a time.
type Prober struct {
	t      *Index
	judge  func(a, b *data.View) data.Evidence // nil: the distance alone decides
	narrow *hamming.Prober[uint64]
	wide   *hamming.Prober[hamming.Uint128]

	at         []int // rows of the normal lane
	prints     []uint64
	wides      []hamming.Uint128
	near       []nearPair
	counts     []uint32  // of units that a row is near to
	hot        []bool    // by row: it shares a hot key
	unit, view data.View // of the pair at hand
	loaded     int       // row of view

	sketched []uint32               // rows with a sketch
	values   [sketch.Bands][]uint32 // of their bands
	hits     []uint32               // of sketched: those whose value a unit may have
	pairs    []bandPair

	mine, others *Map // of the row and of the unit at hand
}

type bandPair struct{ unit, row uint32 }

// nearPair says that a distinct fingerprint is within the distance of a row.
type nearPair struct {
	distinct uint32
	row      int
	distance int
}

// NewProber returns a Prober. With a nil judge documents of the normal lane
// within the distance are the same, and others are no candidates.
func (t *Index) NewProber(judge func(a, b *data.View) data.Evidence) *Prober {
	m := &Prober{t: t, judge: judge, mine: NewMap(nil, t.rule), others: NewMap(nil, t.rule)}
	if t.wide != nil {
		m.wide = t.wide.NewProber()
	} else {
		m.narrow = t.narrow.NewProber()
	}
	return m
}

// maxMeeting is the most units that a document of an earlier night is compared
// with for one band's value or one short text's key: what so many share says
// little. Of more, the first in the order of their places are taken.
const maxMeeting = 4096

// Probe calls visit with every match of the rows, some hundred thousand at
// most, each once, in no particular order. Unless hot is nil, it is called,
// once, with each row that shares a hot key, and such a row is not
// compared: crawls come with thousands of pages of one template night after
// night, and rows of equal views can be compared as one.
func (m *Prober) Probe(rows *EarlierRows, visit func(EarlierMatch), hot func(row int)) {
	m.loaded = -1
	near := func(distinct uint32, row, distance int) {
		for _, u := range m.t.of(distinct) {
			if m.mayBeSame(rows, u, row) {
				m.confirm(rows, u, row, distance, visit)
			}
		}
	}
	if m.judge == nil {
		m.probe(rows, near)
		return
	}
	if m.t.rule.Bands {
		m.readBands(rows)
	}
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
				near(p.distinct, p.row, p.distance)
			}
		}
	}
	if m.t.rule.Bands {
		m.bands(rows, visit)
	}
	if m.t.rule.ShortTexts {
		for i := range rows.N {
			if !m.hot[i] && len(rows.Letters(i)) > 0 {
				m.shorts(rows, i, visit)
			}
		}
	}
}

// of lists the units of a distinct fingerprint.
func (t *Index) of(distinct uint32) []uint32 {
	return t.sharing[t.starts[distinct]:t.starts[distinct+1]]
}

// probe calls found with the distinct fingerprints within the distance of the
// rows'.
func (m *Prober) probe(rows *EarlierRows, found func(distinct uint32, row, distance int)) {
	m.at, m.prints, m.wides = m.at[:0], m.prints[:0], m.wides[:0]
	for i := range rows.N {
		switch {
		case !rows.Normal[i]:
			continue
		case m.wide != nil:
			m.wides = append(m.wides, hamming.Uint128{Hi: rows.Hi[i], Lo: rows.Lo[i]})
		default:
			m.prints = append(m.prints, rows.Lo[i])
		}
		m.at = append(m.at, i)
	}
	each := func(i int, distinct uint32, distance int) { found(distinct, m.at[i], distance) }
	if m.wide != nil {
		m.wide.Probe(m.wides, each)
	} else {
		m.narrow.Probe(m.prints, each)
	}
}

// findHot marks the rows that share a hot key, and keeps what the others are
// near to.
func (m *Prober) findHot(rows *EarlierRows) {
	t := m.t
	m.near = m.near[:0]
	m.counts = slices.Grow(m.counts[:0], rows.N)[:rows.N]
	clear(m.counts)
	m.probe(rows, func(distinct uint32, row, distance int) {
		n := int(m.counts[row]) + len(t.of(distinct))
		if n > t.hot {
			m.hot[row] = true
			return
		}
		m.counts[row] = uint32(n)
		m.near = append(m.near, nearPair{distinct, row, distance})
	})
	for b := range m.values {
		x := &t.tables[b]
		if x.hot == nil {
			continue
		}
		for i, v := range m.values[b] {
			if x.isHot(v) {
				m.hot[m.sketched[i]] = true
			}
		}
	}
	short := &t.tables[ShortTexts]
	if short.hot == nil {
		return
	}
	for i := range rows.N {
		if len(rows.Letters(i)) == 0 || m.hot[i] {
			continue
		}
		m.hot[i] = slices.ContainsFunc(m.shortKeys(rows, i), func(key uint64) bool { return short.isHot(uint32(key)) })
	}
}

// mayBeSame is false for a unit that is certainly not the same as a row, by
// their sketches.
func (m *Prober) mayBeSame(rows *EarlierRows, u uint32, row int) bool {
	if !m.t.rule.Bands || !m.t.rule.ShortTexts || len(rows.Letters(row)) > 0 {
		return true // short texts are the same by their letters
	}
	s := rows.Sketch(row)
	return len(s) != data.SketchSize || sketch.Differ((*sketch.Sketch)(&m.t.units.sketches[u]), (*sketch.Sketch)(s)) <= m.t.differ
}

func (m *Prober) load(rows *EarlierRows, i int) {
	if m.loaded != i {
		rows.View(i, &m.view)
		m.loaded = i
	}
}

func (m *Prober) confirm(rows *EarlierRows, u uint32, row, distance int, visit func(EarlierMatch)) {
	met := EarlierMatch{Unit: u, Row: row, Distance: distance}
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
func (m *Prober) isNear(rows *EarlierRows, u uint32, row int) bool {
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

// readBands reads the bands of all rows that have a sketch.
func (m *Prober) readBands(rows *EarlierRows) {
	m.sketched = m.sketched[:0]
	for b := range m.values {
		m.values[b] = m.values[b][:0]
	}
	for i := range rows.N {
		bytes := rows.Sketch(i)
		if len(bytes) != data.SketchSize {
			continue
		}
		s := (*sketch.Sketch)(bytes)
		m.sketched = append(m.sketched, uint32(i))
		for b := range m.values {
			m.values[b] = append(m.values[b], s.Band(b))
		}
	}
}

// bands finds the matches by the bands of sketches, for all rows in one band
// before the next: the band's filter comes into the cache once for them. One
// night's documents share bands by chance with those of a large library, so
// every other document of a large library shares one with this run's by chance:
// what is done for such a pair waits for memory, and is done for many at once.
func (m *Prober) bands(rows *EarlierRows, visit func(EarlierMatch)) {
	m.hits = slices.Grow(m.hits[:0], len(m.sketched)+1)[:len(m.sketched)+1]
	for b := range m.values {
		m.band(rows, b, visit)
	}
}

// maxPairs is how many pairs of a band are collected before they are compared.
const maxPairs = 256 << 10

func (m *Prober) band(rows *EarlierRows, b int, visit func(EarlierMatch)) {
	x, values := &m.t.tables[b], m.values[b]
	n := 0
	for i, v := range values {
		m.hits[n] = uint32(i)
		if x.may(v) {
			n++
		}
	}
	m.pairs = m.pairs[:0]
	for _, i := range m.hits[:n] {
		row := m.sketched[i]
		if m.hot[row] {
			continue
		}
		for _, e := range x.find(values[i]) {
			m.pairs = append(m.pairs, bandPair{uint32(e), row})
		}
		if len(m.pairs) >= maxPairs {
			m.comparePairs(rows, b, visit)
		}
	}
	m.comparePairs(rows, b, visit)
}

// comparePairs compares the pairs that share band b, and forgets them.
func (m *Prober) comparePairs(rows *EarlierRows, b int, visit func(EarlierMatch)) {
	left := m.pairs[:0]
	var s *sketch.Sketch // of row
	row := ^uint32(0)
	for _, p := range m.pairs {
		if p.row != row {
			s, row = (*sketch.Sketch)(rows.Sketch(int(p.row))), p.row
		}
		alike := sketch.Differ((*sketch.Sketch)(&m.t.units.sketches[p.unit]), s) <= m.t.differ || m.bothShort(rows, p)
		if alike && !m.isNear(rows, p.unit, int(row)) {
			left = append(left, p)
		}
	}
	m.pairs = m.pairs[:0]
	for _, p := range left {
		m.load(rows, int(p.row))
		m.t.units.View(p.unit, &m.unit)
		if m.t.rule.ShortTexts && few(&m.unit, &m.view) || firstBand(&m.unit, &m.view) != b {
			continue
		}
		m.confirm(rows, p.unit, int(p.row), Distance(&m.unit, &m.view), visit)
	}
}

// bothShort reports whether both documents of a pair are short texts: the
// verdict looks at more than their sketches.
func (m *Prober) bothShort(rows *EarlierRows, p bandPair) bool {
	return len(m.t.units.lettersOf(p.unit)) > 0 && rows.Letters != nil && len(rows.Letters(int(p.row))) > 0
}

// shortKeys are the keys of a short text.
func (m *Prober) shortKeys(rows *EarlierRows, i int) []uint64 {
	m.load(rows, i)
	return m.mine.Values(ShortTexts, &m.view)
}

func (m *Prober) shorts(rows *EarlierRows, i int, visit func(EarlierMatch)) {
	x, keys := &m.t.tables[ShortTexts], m.shortKeys(rows, i)
	for _, key := range keys {
		if !x.may(uint32(key)) {
			continue
		}
		for _, e := range x.find(uint32(key)) {
			u := uint32(e)
			if m.isNear(rows, u, i) {
				continue
			}
			m.t.units.View(u, &m.unit)
			if !few(&m.unit, &m.view) && (differ(&m.unit, &m.view) > slipsDiffer || m.t.rule.Bands && firstBand(&m.unit, &m.view) >= 0) {
				continue
			}
			if firstCommon(keys, m.others.Values(ShortTexts, &m.unit)) == key {
				m.confirm(rows, u, i, Distance(&m.unit, &m.view), visit)
			}
		}
	}
}

// firstCommon is the smallest number of both, which ascend and share one; 0 if
// they do not.
func firstCommon(a, b []uint64) uint64 {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			return a[0]
		}
	}
	return 0
}
