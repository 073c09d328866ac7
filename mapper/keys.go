package mapper

import (
	"encoding/binary"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/sketch"
)

// ValueBits is the width of the values of all tables but those of segments:
// bands, the keys of short texts, of which two that are cut to the same bits
// only make a candidate pair in vain, and the keys of samples.
const ValueBits = sketch.BandBits

var _ [8 * sketch.SampleKeyBytes]struct{} = [ValueBits]struct{}{}

// KeyEmitter is the map of the join: it makes a document's postings in all tables, by
// whose keys candidate pairs come together. The tables of the layout's segments
// come first, then those of [Tables]. A KeyEmitter holds buffers that are used again, so
// one goroutine uses it at a time.
type KeyEmitter struct {
	layout  *simhash.Layout
	rule    Rule
	short   sketch.Short
	letters []rune
	values  []uint64
}

// NewKeyEmitter returns the emitter for the layout's segments and the tables that the rule
// asks for. With a nil layout it has no segments.
func NewKeyEmitter(layout *simhash.Layout, rule Rule) *KeyEmitter {
	return &KeyEmitter{layout: layout, rule: rule}
}

// Tables is the number of tables.
func (m *KeyEmitter) Tables() int {
	if m.rule.Sketched() {
		return m.layout.Tables() + len(Tables)
	}
	return m.layout.Tables()
}

// TableName names a table: 00A, band 1.
func (m *KeyEmitter) TableName(t int) string {
	if segments := m.layout.Tables(); t >= segments {
		return Tables[t-segments].Name
	}
	return m.layout.Prefix(t)
}

// Postings calls emit with the postings of a document in the tables first to
// last − 1, and stops at its first error. The suffix tells most documents of a
// group apart, so that Salt spreads them: of a segment's key it is the
// fingerprint's other bits, else the first bits of the sketch.
func (m *KeyEmitter) Postings(first, last int, v *data.View, doc uint64, emit func(data.Posting) error) error {
	segments := m.layout.Tables()
	for t := first; v.Normal && t < min(last, segments); t++ {
		key, suffix := m.layout.Key(t, simhash.Fingerprint{Hi: v.Hi, Lo: v.Lo})
		if err := emit(data.Posting{Key: uint64(key), Hi: suffix.Hi, Lo: suffix.Lo, Doc: doc}); err != nil {
			return err
		}
	}
	for t := max(first, segments) - segments; t < last-segments; t++ {
		suffix := binary.BigEndian.Uint64(v.Sketch[:]) >> ValueBits
		for _, value := range m.Values(t, v) {
			if err := emit(data.Posting{Key: uint64(simhash.NewKey(segments+t, ValueBits, value)), Lo: suffix, Doc: doc}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Values are a document's values in a table of [Tables]; none if it is not in
// that table, or the rule does not ask for it. They are distinct and ascending,
// and valid until the next call.
func (m *KeyEmitter) Values(t int, v *data.View) []uint64 {
	if !Tables[t].Asked(&m.rule) {
		return nil
	}
	m.values = Tables[t].Values(m.values[:0], m, v)
	return m.values
}

// Column appends the postings of a document in a table of [Tables] as a column
// holds them: value and, below it, place, which names the document.
func (m *KeyEmitter) Column(dst []uint64, t int, v *data.View, place uint32) []uint64 {
	for _, value := range m.Values(t, v) {
		dst = append(dst, value<<ValueBits|uint64(place))
	}
	return dst
}

// Segments is the posting of a document in every segment table, as a column holds
// it: key and suffix together are its fingerprint, whatever the table.
func Segments[F columns.Fingerprint](v *data.View) F { return columns.Of[F](v.Hi, v.Lo) }

// shortKeys appends the distinct keys of a short text, cut to ValueBits,
// ascending.
func shortKeys(s *sketch.Short, dst []uint64, letters []rune) []uint64 {
	dst = s.Keys(dst, letters)
	for i := range dst {
		dst[i] >>= 64 - ValueBits
	}
	return slices.Compact(dst)
}

// Pack puts key and suffix of a posting together, as a column carries them: the
// fingerprint of a segment's, 64 bits of another's. Key takes them apart again.
func (m *KeyEmitter) Pack(key simhash.Key, suffix simhash.Fingerprint) simhash.Fingerprint {
	if key.Table() < m.layout.Tables() {
		return m.layout.Join(key, suffix)
	}
	return simhash.Fingerprint{Lo: key.Value()<<(64-ValueBits) | suffix.Lo}
}

// Key is the key of a posting of the table, packed.
func (m *KeyEmitter) Key(table int, packed simhash.Fingerprint) simhash.Key {
	if table < m.layout.Tables() {
		key, _ := m.layout.Key(table, packed)
		return key
	}
	return simhash.NewKey(table, ValueBits, Value(packed.Lo))
}

// Value is the value of a packed posting of a table of [Tables], and of one of a
// column.
func Value(packed uint64) uint64 { return packed >> (64 - ValueBits) }

// Place is what names the document of a posting of a column.
func Place(posting uint64) uint32 { return uint32(posting) }

// Salt returns which of salts partial reduces takes a posting of that suffix: it
// spreads one key's group over all of them, and brings equal suffixes together. It
// depends on the posting's bits alone, so a task that is tried again repeats
// itself exactly.
func Salt(hi, lo uint64, salts int) int {
	return int(mix(hi^mix(lo)) % uint64(salts))
}

// Shard returns which of shards final reduces takes a key: all postings of one
// key go to the same.
func Shard(key uint64, shards int) int {
	return int(mix(key) % uint64(shards))
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
