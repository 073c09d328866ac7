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

// MeetOptions say which documents of two nights meet: those of the normal lane
// whose fingerprints are within the distance, and, if asked for, those whose
// sketches share a band, and texts of few letters that share a key.
type MeetOptions struct {
	Bits, Distance    int
	Bands, ShortTexts bool
	Workers           int // goroutines that build the index; 0: GOMAXPROCS
}

// Tonight is an index of a night's documents, past which those of earlier
// nights stream. Documents with equal views are one unit: what is found for it
// is found for each of them. It never changes, and is safe for concurrent use.
type Tonight struct {
	o      MeetOptions
	units  []data.View
	narrow *hamming.Index[uint64] // of the distinct fingerprints of the normal lane
	wide   *hamming.Index[hamming.Uint128]
	starts []uint32 // distinct fingerprint i is that of sharing[starts[i]:starts[i+1]]
	// sharing lists the units of the normal lane by fingerprint.
	sharing []uint32
	bands   [sketch.Bands]valueIndex
	short   valueIndex
}

// NewTonight returns the index of units with those views, which have to differ
// from each other and are kept.
func NewTonight(units []data.View, o MeetOptions) (*Tonight, error) {
	t := &Tonight{o: o, units: units}
	for i := range units {
		if units[i].Normal {
			t.sharing = append(t.sharing, uint32(i))
		}
	}
	byPrint := func(a, b uint32) int {
		return cmp.Or(cmp.Compare(units[a].Hi, units[b].Hi), cmp.Compare(units[a].Lo, units[b].Lo))
	}
	slices.SortFunc(t.sharing, func(a, b uint32) int { return cmp.Or(byPrint(a, b), cmp.Compare(a, b)) })
	var narrow []uint64
	var wide []hamming.Uint128
	for i, u := range t.sharing {
		if i > 0 && byPrint(t.sharing[i-1], u) == 0 {
			continue
		}
		t.starts = append(t.starts, uint32(i))
		if o.Bits == 128 {
			wide = append(wide, hamming.Uint128{Hi: units[u].Hi, Lo: units[u].Lo})
		} else {
			narrow = append(narrow, units[u].Lo)
		}
	}
	t.starts = append(t.starts, uint32(len(t.sharing)))
	var err error
	options := hamming.Options{Workers: o.Workers, Bits: o.Bits}
	if o.Bits == 128 {
		t.wide, err = hamming.NewIndex(wide, o.Distance, options)
	} else {
		t.narrow, err = hamming.NewIndex(narrow, o.Distance, options)
	}
	if err != nil {
		return nil, fmt.Errorf("tonight: %w", err)
	}
	if o.Bands {
		for b := range t.bands {
			var entries []valueEntry
			for i := range units {
				if s := (*sketch.Sketch)(&units[i].Sketch); *s != (sketch.Sketch{}) {
					entries = append(entries, valueEntry{uint64(s.Band(b)), uint32(i)})
				}
			}
			t.bands[b] = newValueIndex(entries, sketch.BandBits)
		}
	}
	if o.ShortTexts {
		var short sketch.Short
		var letters []rune
		var keys []uint64
		var entries []valueEntry
		for i := range units {
			if len(units[i].Letters) == 0 {
				continue
			}
			letters = runes(letters[:0], units[i].Letters)
			keys = short.Keys(keys[:0], letters)
			for _, key := range keys {
				entries = append(entries, valueEntry{key, uint32(i)})
			}
		}
		t.short = newValueIndex(entries, 64)
	}
	return t, nil
}

// Units is the number of units.
func (t *Tonight) Units() int { return len(t.units) }

// Unit is the view of unit u; it is not to be changed.
func (t *Tonight) Unit(u uint32) *data.View { return &t.units[u] }

// valueIndex finds the units that have a value.
type valueIndex struct {
	shift   uint     // of a value to its place in filter
	filter  []uint64 // a bit for each leading bits of a value that occurs
	tops    []uint32 // where the entries of a value's leading bits start
	top     uint     // shift of a value to its place in tops
	entries []valueEntry
}

type valueEntry struct {
	value uint64
	unit  uint32
}

func newValueIndex(entries []valueEntry, width int) valueIndex {
	slices.SortFunc(entries, func(a, b valueEntry) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.unit, b.unit))
	})
	x := valueIndex{entries: entries}
	filter := min(width, 24)
	x.shift = uint(width - filter)
	x.filter = make([]uint64, (1<<filter+63)/64)
	top := min(width, bits.Len(uint(len(entries))))
	x.top = uint(width - top)
	x.tops = make([]uint32, 1<<top+1)
	for _, e := range entries {
		at := e.value >> x.shift
		x.filter[at/64] |= 1 << (at % 64)
		x.tops[e.value>>x.top+1]++
	}
	for i := range x.tops[1:] {
		x.tops[i+1] += x.tops[i]
	}
	return x
}

// find returns the entries of the value, at most maxMeeting.
func (x *valueIndex) find(value uint64) []valueEntry {
	at := value >> x.shift
	if x.filter[at/64]>>(at%64)&1 == 0 {
		return nil
	}
	part := x.entries[x.tops[value>>x.top]:x.tops[value>>x.top+1]]
	from, _ := slices.BinarySearchFunc(part, value, func(e valueEntry, v uint64) int { return cmp.Compare(e.value, v) })
	to := from
	for to < len(part) && to-from < maxMeeting && part[to].value == value {
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
	// not looked at.
	Sketch func(i int) []byte
	// View sets v to the view of row i. It is called for rows that are judged
	// or are short texts.
	View func(i int, v *data.View)
}

// Meeting is a unit of tonight's and a document of an earlier night that are
// the same.
type Meeting struct {
	Unit     uint32
	Row      int
	Distance int
	Evidence
}

// Evidence is what the verdict on a pair rests on, beside the distance.
type Evidence struct {
	Similarity float64 // estimated from the sketches, or of short texts by their edits
	Reason     string
}

// Judge gives the verdict on two documents that met.
type Judge func(a, b *data.View) (same bool, e Evidence)

// Meeter finds the meetings of earlier documents with tonight's. It holds
// buffers that are used again, so one goroutine uses it at a time.
type Meeter struct {
	t      *Tonight
	judge  Judge // nil: the distance alone decides
	narrow *hamming.Prober[uint64]
	wide   *hamming.Prober[hamming.Uint128]

	at      []int // rows of the normal lane
	prints  []uint64
	wides   []hamming.Uint128
	view    data.View
	loaded  int // row of view
	short   sketch.Short
	letters []rune
	keys    []uint64
	other   []rune
	others  []uint64
}

// NewMeeter returns a Meeter. With a nil judge documents of the normal lane
// within the distance are the same, and others never meet.
func (t *Tonight) NewMeeter(judge Judge) *Meeter {
	m := &Meeter{t: t, judge: judge}
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

// Meet calls visit with every meeting of the rows, each once, in no particular
// order.
func (m *Meeter) Meet(rows *EarlierRows, visit func(Meeting)) {
	m.loaded = -1
	m.at = m.at[:0]
	near := func(i int, distinct uint32, distance int) {
		row := m.at[i]
		for _, u := range m.t.sharing[m.t.starts[distinct]:m.t.starts[distinct+1]] {
			m.confirm(rows, u, row, distance, visit)
		}
	}
	if m.wide != nil {
		m.wides = m.wides[:0]
		for i := range rows.N {
			if rows.Normal[i] {
				m.at = append(m.at, i)
				m.wides = append(m.wides, hamming.Uint128{Hi: rows.Hi[i], Lo: rows.Lo[i]})
			}
		}
		m.wide.Probe(m.wides, near)
	} else {
		m.prints = m.prints[:0]
		for i := range rows.N {
			if rows.Normal[i] {
				m.at = append(m.at, i)
				m.prints = append(m.prints, rows.Lo[i])
			}
		}
		m.narrow.Probe(m.prints, near)
	}
	if m.judge == nil || !m.t.o.Bands && !m.t.o.ShortTexts {
		return
	}
	if m.t.o.Bands {
		// Band by band: what most rows need of a band's index stays in the cache.
		for b := range m.t.bands {
			for i := range rows.N {
				m.band(rows, i, b, visit)
			}
		}
	}
	if m.t.o.ShortTexts {
		for i := range rows.N {
			if m.load(rows, i); len(m.view.Letters) > 0 {
				m.shorts(rows, i, visit)
			}
		}
	}
}

func (m *Meeter) load(rows *EarlierRows, i int) {
	if m.loaded != i {
		rows.View(i, &m.view)
		m.loaded = i
	}
}

func (m *Meeter) confirm(rows *EarlierRows, u uint32, row, distance int, visit func(Meeting)) {
	met := Meeting{Unit: u, Row: row, Distance: distance}
	if m.judge != nil {
		m.load(rows, row)
		var same bool
		if same, met.Evidence = m.judge(&m.t.units[u], &m.view); !same {
			return
		}
	}
	visit(met)
}

func (m *Meeter) bothShort(u *data.View) bool {
	return m.t.o.ShortTexts && len(m.view.Letters) > 0 && len(u.Letters) > 0
}

// metNear reports whether unit u has met the row by their fingerprints.
func (m *Meeter) metNear(u *data.View) bool {
	return u.Normal && m.view.Normal && distance(u, &m.view) <= m.t.o.Distance
}

func (m *Meeter) band(rows *EarlierRows, i, b int, visit func(Meeting)) {
	bytes := rows.Sketch(i)
	if len(bytes) != sketch.Size {
		return
	}
	s := (*sketch.Sketch)(bytes)
	found := m.t.bands[b].find(uint64(s.Band(b)))
	if len(found) == 0 || s.IsZero() {
		return
	}
	m.load(rows, i)
	for _, e := range found {
		u := &m.t.units[e.unit]
		if m.metNear(u) || m.bothShort(u) || FirstBand(u, &m.view) != b {
			continue
		}
		m.confirm(rows, e.unit, i, distance(u, &m.view), visit)
	}
}

func (m *Meeter) shorts(rows *EarlierRows, i int, visit func(Meeting)) {
	m.letters = runes(m.letters[:0], m.view.Letters)
	m.keys = m.short.Keys(m.keys[:0], m.letters)
	for _, key := range m.keys {
		for _, e := range m.t.short.find(key) {
			u := &m.t.units[e.unit]
			if m.metNear(u) {
				continue
			}
			m.other = runes(m.other[:0], u.Letters)
			m.others = m.short.Keys(m.others[:0], m.other)
			if firstCommon(m.keys, m.others) == key {
				m.confirm(rows, e.unit, i, distance(u, &m.view), visit)
			}
		}
	}
}

// firstCommon is the smallest number of both, which ascend and share one.
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
