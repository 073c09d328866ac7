package mapper

import (
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// Table is one way to bring documents together, beside the segments of the
// fingerprint: documents that share a value in it are compared. All that find
// candidate pairs, in memory, by way of the disk, on a cluster, among earlier
// nights, range over the one list [Tables].
type Table struct {
	Name  string
	Reads data.ViewColumns // what Values and Brings read of a view, beside the fingerprint

	// Asked reports whether a rule has the table.
	Asked func(r *Rule) bool

	// Values appends a document's values in the table, of 32 bits, distinct and
	// ascending: none if it is not in it. The emitter has buffers for one goroutine.
	Values func(dst []uint64, m *KeyEmitter, v *data.View) []uint64

	// Brings reports whether two documents are candidates by the table: then they
	// share a value.
	Brings func(r *Rule, a, b *data.View) bool

	// FirstShared reports whether the table is the one that reports a pair: two
	// documents may share values in several tables, and their pair is to come out
	// once. It is asked of pairs that the table brings together and that are not
	// within the distance. Within the table, the smallest value that both documents
	// have reports the pair.
	FirstShared func(r *Rule, t int, a, b *data.View) bool

	// Unlike says that the table is for pairs that are certainly not the same by
	// their sketches; of other tables these are no pairs.
	Unlike bool

	// Most, unless 0, is how many documents may share a value: more of them say
	// nothing and are not compared.
	Most int
}

// Places in Tables, by which Candidate.Table names them: the bands of the
// sketches are 0 to sketch.Bands − 1.
const (
	SegmentTables = -1               // all segments
	ShortTexts    = sketch.Bands     // the keys of short texts
	Samples       = sketch.Bands + 1 // the sampled shingles
	BuiltIn       = sketch.Bands + 2 // how many they are: an added table comes behind them
)

// Tables is the list of all tables beside those of segments. What a further one
// needs is an entry here; a test that brings one of its own appends it before
// anything runs.
var Tables = builtIn()

func builtIn() (tables []Table) {
	for band := range sketch.Bands {
		tables = append(tables, Table{
			Name:  fmt.Sprintf("band %d", band+1),
			Reads: data.ReadSketch,
			Asked: func(r *Rule) bool { return r.Bands },
			Values: func(dst []uint64, m *KeyEmitter, v *data.View) []uint64 {
				if !m.rule.banded(v) {
					return dst
				}
				return append(dst, uint64((*sketch.Sketch)(&v.Sketch).Band(band)))
			},
			Brings: func(r *Rule, a, b *data.View) bool { return r.Bands && sharesBand(band, a, b) },
			FirstShared: func(r *Rule, t int, a, b *data.View) bool {
				return (!r.ShortTexts || !few(a, b)) && firstBand(a, b) == t
			},
		})
	}
	return append(tables,
		Table{
			Name:  "short texts",
			Reads: data.ReadLetters,
			Asked: func(r *Rule) bool { return r.ShortTexts },
			Values: func(dst []uint64, m *KeyEmitter, v *data.View) []uint64 {
				if !m.rule.isShort(v) {
					return dst
				}
				m.letters = runes(m.letters[:0], v.Letters)
				return shortKeys(&m.short, dst, m.letters)
			},
			Brings: func(r *Rule, a, b *data.View) bool { return r.byEdits(a, b) },
			FirstShared: func(r *Rule, _ int, a, b *data.View) bool {
				return few(a, b) || r.byEdits(a, b) && !r.banding(a, b)
			},
		},
		Table{
			Name:  "samples",
			Reads: data.ReadSample,
			Asked: func(r *Rule) bool { return r.Containment > 0 },
			Values: func(dst []uint64, m *KeyEmitter, v *data.View) []uint64 {
				if !m.rule.isSampled(v) {
					return dst
				}
				for i := range len(v.Sample) / sketch.SampleKeyBytes {
					dst = append(dst, uint64(sketch.SampleKey(v.Sample, i)))
				}
				return dst
			},
			Brings: func(r *Rule, a, b *data.View) bool { return r.sampled(a, b) },
			Unlike: true,
			Most:   maxSampled,
		})
}

func sharesBand(band int, a, b *data.View) bool {
	return a.Sketch != [data.SketchSize]byte{} && b.Sketch != [data.SketchSize]byte{} &&
		(*sketch.Sketch)(&a.Sketch).Band(band) == (*sketch.Sketch)(&b.Sketch).Band(band)
}
