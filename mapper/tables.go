package mapper

import (
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// Table is one way to bring documents together besides the segments of the
// fingerprint: documents that share a value in it are compared. Whatever finds
// candidate pairs (in memory, on disk, on a cluster, among earlier nights) ranges
// over the one list [Tables].
type Table struct {
	Name  string
	Reads data.ViewColumns // the parts of a view that Values and Brings read, besides the fingerprint

	// Asked reports whether the rule uses the table.
	Asked func(r *Rule) bool

	// Values appends a document's values in the table, of ValueBits bits each,
	// distinct and ascending. It appends none for a document that is not in the
	// table. It may use the emitter's buffers.
	Values func(dst []uint64, m *KeyEmitter, v *data.View) []uint64

	// Brings reports whether the table makes two documents a candidate pair. If so,
	// they share a value.
	Brings func(r *Rule, a, b *data.View) bool

	// FirstShared reports whether this table, whose place is t, is the one that
	// reports a pair: two documents may share values in several tables, but their
	// pair comes out once. It is called only for pairs that the table brings
	// together and whose fingerprints are farther apart than the rule's K. Within
	// the table the smallest value that both documents have reports the pair.
	FirstShared func(r *Rule, t int, a, b *data.View) bool

	// Unlike says that the table is for pairs whose sketches rule out that they are
	// the same: one text may contain the other, for example. All other tables drop
	// such pairs.
	Unlike bool

	// Carries says that nearly all candidates of the table are ruled out by their
	// views, and that there are far more candidates than postings. So where candidates
	// do not fit into memory each posting carries the document's view, and a pair gets
	// its verdict where it is found.
	Carries bool

	// Most is the size up to which a group is compared; a larger one is not, as a
	// value that so many documents share says nothing. 0: no limit.
	Most int
}

// Places in [Tables], as Candidate.Table has them. The bands of the sketches are 0
// to sketch.Bands − 1.
const (
	SegmentTables = -1               // all segment tables together
	ShortTexts    = sketch.Bands     // the keys of short texts
	Samples       = sketch.Bands + 1 // the sampled shingles
	BuiltIn       = sketch.Bands + 2 // the number of these; added tables come behind
)

// Tables is the list of all tables besides those of segments. To add a table, add
// an entry here; a test that needs one of its own appends it before anything runs.
// Nothing may change the list after that.
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
			Name:    "short texts",
			Reads:   data.ReadLetters,
			Carries: true,
			Asked:   func(r *Rule) bool { return r.ShortTexts },
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
