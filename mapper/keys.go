package mapper

import (
	"encoding/binary"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/sketch"
)

// ValueBits is the width of a value in the tables of [Tables]: bands, the keys of
// short texts, the keys of samples. Short texts' keys are wider and are cut to
// it; two that become equal by that only make a candidate pair that fails
// verification.
const ValueBits = sketch.BandBits

var _ [8 * sketch.SampleKeyBytes]struct{} = [ValueBits]struct{}{}

// KeyEmitter is the map of the join: it makes a document's postings, one or more
// for each table that the document is in. Tables are numbered from 0: first the
// tiers' segment tables, then those of [Tables]. A KeyEmitter reuses its
// buffers, so only one goroutine may use it at a time.
//
// A posting travels in one of two forms:
//
//	                 64 bits (128 with wide fingerprints)
//	segment table    the fingerprint: key and suffix together, see [Segments]
//	other table      value, 32 bits │ 32 bits: start of the sketch (Pack),
//	                                │          or the document's place (Column)
type KeyEmitter struct {
	tiers   Tiers
	rule    Rule
	short   sketch.Short
	letters []rune
	values  []uint64
}

// NewKeyEmitter returns the emitter for the tiers' segment tables and for the tables
// that the rule asks for. Without tiers only Values and Column may be called.
func NewKeyEmitter(tiers Tiers, rule Rule) *KeyEmitter {
	return &KeyEmitter{tiers: tiers, rule: rule}
}

// Tables is the number of tables.
func (m *KeyEmitter) Tables() int {
	if m.rule.Sketched() {
		return m.tiers.Tables() + len(Tables)
	}
	return m.tiers.Tables()
}

// Reads is what postings are made of, besides the fingerprint.
func (m *KeyEmitter) Reads() data.ViewColumns {
	c := m.tiers.Reads()
	for t := range Tables {
		if Tables[t].Asked(&m.rule) {
			c |= Tables[t].Reads | data.ReadSketch // which suffixes are of
		}
	}
	return c
}

// TableName names a table: 00A, band 1.
func (m *KeyEmitter) TableName(t int) string {
	tier, table := m.tiers.Table(t)
	if tier == nil {
		return Tables[table].Name
	}
	return tier.name(table)
}

// Postings calls emit with the document's postings in the tables first to
// last − 1. It stops at emit's first error and returns it.
//
// The suffix of a segment's posting is the fingerprint's other bits, that of
// another table the first bits of the sketch. It differs between most documents
// of a group, so Salt can spread a hot key by it, and is the same for identical
// documents, so these stay together.
func (m *KeyEmitter) Postings(first, last int, v *data.View, doc uint64, emit func(data.Posting) error) error {
	segments := m.tiers.Tables()
	for t := first; v.Normal && t < min(last, segments); t++ {
		if tier, _ := m.tiers.Table(t); !tier.Has(v) {
			continue
		}
		key, suffix := m.segment(t, simhash.Fingerprint{Hi: v.Hi, Lo: v.Lo})
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

// segment returns a fingerprint's key in a segment table, and its suffix.
func (m *KeyEmitter) segment(t int, f simhash.Fingerprint) (simhash.Key, simhash.Fingerprint) {
	tier, table := m.tiers.Table(t)
	key, suffix := tier.Layout.Key(table, f)
	return key.In(t), suffix
}

// Values returns a document's values in a table of [Tables], distinct and
// ascending. There are none if the document is not in the table or the rule does
// not ask for the table. The result is valid until the next call.
func (m *KeyEmitter) Values(t int, v *data.View) []uint64 {
	if !Tables[t].Asked(&m.rule) {
		return nil
	}
	m.values = Tables[t].Values(m.values[:0], m, v)
	return m.values
}

// Column appends a document's postings in a table of [Tables] in the form of a
// column: the value in the upper half, and place, which names the document, in
// the lower. [Value] and [Place] take one apart.
func (m *KeyEmitter) Column(dst []uint64, t int, v *data.View, place uint32) []uint64 {
	for _, value := range m.Values(t, v) {
		dst = append(dst, value<<ValueBits|uint64(place))
	}
	return dst
}

// Segments returns a document's posting for a column of any segment table: its
// fingerprint, since in every table key and suffix together are just that.
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

// Pack joins key and suffix of a posting for a column. For a segment table the
// result is the fingerprint; for another it is 64 bits, value above suffix.
// [KeyEmitter.Key] gets the key back.
func (m *KeyEmitter) Pack(key simhash.Key, suffix simhash.Fingerprint) simhash.Fingerprint {
	if tier, table := m.tiers.Table(key.Table()); tier != nil {
		return tier.Layout.Join(key.In(table), suffix)
	}
	return simhash.Fingerprint{Lo: key.Value()<<(64-ValueBits) | suffix.Lo}
}

// Key returns the key of a packed posting of the table.
func (m *KeyEmitter) Key(table int, packed simhash.Fingerprint) simhash.Key {
	if table < m.tiers.Tables() {
		key, _ := m.segment(table, packed)
		return key
	}
	return simhash.NewKey(table, ValueBits, Value(packed.Lo))
}

// Value returns the value of a posting of a table of [Tables], made by Pack or by
// Column.
func Value(packed uint64) uint64 { return packed >> (64 - ValueBits) }

// Place returns what names the document in a posting made by Column.
func Place(posting uint64) uint32 { return uint32(posting) }

// Salt returns which of the partial reduces, 0 to salts − 1, takes a posting of
// that suffix. It spreads the group of a hot key over all of them, yet sends equal
// suffixes, and so identical documents, to the same one. It depends on the suffix
// alone and not on chance, so a task that is retried sends the same rows again.
func Salt(hi, lo uint64, salts int) int {
	return int(mix(hi^mix(lo)) % uint64(salts))
}

// Shard returns which of the final reduces, 0 to shards − 1, takes a key. All
// postings of a key go to the same one.
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
