package mapper

import (
	"encoding/binary"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// Tables beside those of the layout's segments, by which Candidate.Table names
// them: the bands of the sketches are 0 to sketch.Bands − 1.
const (
	Fingerprints = -1               // all segments
	ShortTexts   = sketch.Bands     // the keys of short texts
	Samples      = sketch.Bands + 1 // the sampled shingles
	SketchTables = sketch.Bands + 2 // how many there are
)

// valueBits is the width of the values of all tables but those of segments:
// bands, the keys of short texts, of which two that are cut to the same bits
// only make a candidate pair in vain, and the keys of samples.
const valueBits = sketch.BandBits

var _ [8 * sketch.SampleKeyBytes]struct{} = [valueBits]struct{}{}

// Map is the second map: it makes a document's keys in all tables, by which
// candidate pairs come together. The tables of the layout's segments come
// first, then a table for each band, then those of the short texts and of the
// samples. A Map holds buffers that are used again, so one goroutine uses it at a time.
type Map struct {
	layout  *simhash.Layout
	rule    Rule
	short   sketch.Short
	letters []rune
	keys    []uint64
}

// NewMap returns the map of the layout's segments and the tables that the rule
// asks for.
func NewMap(layout *simhash.Layout, rule Rule) *Map { return &Map{layout: layout, rule: rule} }

// Tables is the number of tables.
func (m *Map) Tables() int {
	if m.rule.Sketched() {
		return m.layout.Tables() + SketchTables
	}
	return m.layout.Tables()
}

// Keys calls emit with the records of a document in the tables first to
// last − 1, and stops at its first error. The rest tells most documents of a
// group apart, so that Salt spreads them: of a segment's key it is the
// fingerprint's other bits, else the first bits of the sketch.
func (m *Map) Keys(first, last int, v *data.View, doc uint64, emit func(data.Keyed) error) error {
	segments := m.layout.Tables()
	for t := first; v.Normal && t < min(last, segments); t++ {
		key, rest := m.layout.Key(t, simhash.Fingerprint{Hi: v.Hi, Lo: v.Lo})
		if err := emit(data.Keyed{Key: uint64(key), Hi: rest.Hi, Lo: rest.Lo, Doc: doc}); err != nil {
			return err
		}
	}
	for t := max(first, segments) - segments; t < last-segments; t++ {
		rest := binary.BigEndian.Uint64(v.Sketch[:]) >> valueBits
		for _, value := range m.Values(t, v) {
			if err := emit(data.Keyed{Key: uint64(simhash.NewKey(segments+t, valueBits, value)), Lo: rest, Doc: doc}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Values are a document's values in a table that is not of segments: a band,
// the keys of a short text, or a sample's; none if it is not in that table. They are
// distinct and ascending, and valid until the next call.
func (m *Map) Values(t int, v *data.View) []uint64 {
	switch {
	case t < ShortTexts && m.rule.banded(v):
		return append(m.keys[:0], uint64((*sketch.Sketch)(&v.Sketch).Band(t)))
	case t == ShortTexts && m.rule.isShort(v):
		m.letters = runes(m.letters[:0], v.Letters)
		m.keys = shortKeys(&m.short, m.keys[:0], m.letters)
		return m.keys
	case t == Samples && m.rule.isSampled(v):
		m.keys = m.keys[:0]
		for i := range len(v.Sample) / sketch.SampleKeyBytes {
			m.keys = append(m.keys, uint64(sketch.SampleKey(v.Sample, i)))
		}
		return m.keys
	}
	return nil
}

// shortKeys appends the distinct keys of a short text, cut to valueBits,
// ascending.
func shortKeys(s *sketch.Short, dst []uint64, letters []rune) []uint64 {
	dst = s.Keys(dst, letters)
	for i := range dst {
		dst[i] >>= 64 - valueBits
	}
	return slices.Compact(dst)
}

// Pack puts the fingerprint of a segment's record back together, and value and
// rest of another's into 64 bits, as a record of fixed size carries them;
// Unpack takes them apart again.
func (m *Map) Pack(key simhash.Key, rest simhash.Fingerprint) simhash.Fingerprint {
	if key.Table() < m.layout.Tables() {
		return m.layout.Join(key, rest)
	}
	return simhash.Fingerprint{Lo: key.Value()<<(64-valueBits) | rest.Lo}
}

// Unpack is the inverse of Pack for a record of the table; it has no document.
func (m *Map) Unpack(table int, packed simhash.Fingerprint) data.Keyed {
	if table < m.layout.Tables() {
		key, rest := m.layout.Key(table, packed)
		return data.Keyed{Key: uint64(key), Hi: rest.Hi, Lo: rest.Lo}
	}
	return data.Keyed{Key: uint64(simhash.NewKey(table, valueBits, packed.Lo>>(64-valueBits))), Lo: packed.Lo << valueBits >> valueBits}
}

// Salt returns which of salts partial reduces takes the record: it spreads one
// key's group over all of them, and brings equal rests together. It depends on
// the record's bits alone, so a task that is tried again repeats itself
// exactly.
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
