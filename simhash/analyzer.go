package simhash

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/simhash/jieba"
)

// idfScale is what an idf is multiplied by before it is rounded to the
// integer that weighs.
const idfScale = 16

// maxWeight bounds the weight of one feature.
const maxWeight = 1 << 30

// ErrSegmenter says that a Segmenter is not complete.
var ErrSegmenter = errors.New("segmenter needs a Lexicon and NewCutter")

// Analyzer holds the options and tables by which texts become fingerprints. It
// is immutable and safe for concurrent use.
type Analyzer struct {
	options   Options
	forms     *formTable
	classes   *[0x10000]class
	segmenter Segmenter
	words     []wordInfo          // by id
	high      []uint64            // by id: upper half of a 128-bit hash
	meanIDF   uint32              // of a word without idf
	stop      map[uint64]struct{} // hashes of stop words
	weight    weight
	id        string
}

// wordInfo is what the lexicon says of a word, ready to weigh.
type wordInfo struct {
	hash uint64
	idf  uint32 // times idfScale
	skip bool   // a stop word, or of another part of speech than asked for
}

// An Extra is something that an analyzer needs besides its Options.
type Extra func(*extras)

type extras struct {
	segmenter Segmenter
	stop      []string
}

// WithSegmenter has ideographs cut by s instead of the embedded jieba.
func WithSegmenter(s Segmenter) Extra { return func(e *extras) { e.segmenter = s } }

// WithStopWords leaves out these words, in addition to Options.Stop. They are
// normalised as the texts are.
func WithStopWords(words []string) Extra {
	return func(e *extras) { e.stop = append(e.stop, words...) }
}

// New returns the analyzer for o, or the first mistake in it, with what to
// write instead. With kind words it needs a few tens of milliseconds.
func New(o Options, more ...Extra) (*Analyzer, error) {
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("simhash: %w", err)
	}
	var e extras
	for _, set := range more {
		set(&e)
	}
	a := &Analyzer{options: o, classes: classes(), forms: traditionalForms(), id: o.String(), weight: weight(slices.Index(weightNames, o.Weight))}
	if o.Simplify {
		a.forms = simplifiedForms()
	}
	if o.Kind == KindNGrams {
		if len(e.stop) > 0 {
			return nil, errors.New("simhash: stop words choose words: write kind words, or leave them out with kind ngrams")
		}
		return a, nil
	}
	if e.segmenter.Lexicon == nil && e.segmenter.NewCutter == nil {
		d, err := jieba.Default()
		if err != nil {
			return nil, fmt.Errorf("simhash: %w", err)
		}
		e.segmenter = Jieba(d, o.HMM)
	}
	if e.segmenter.Lexicon == nil || e.segmenter.NewCutter == nil {
		return nil, fmt.Errorf("simhash: %w", ErrSegmenter)
	}
	a.segmenter = e.segmenter
	a.takeStop(e.stop)
	a.takeLexicon(e.segmenter.Lexicon)
	return a, nil
}

// takeStop fills the set of stop words' hashes.
func (a *Analyzer) takeStop(words []string) {
	var s scratch
	a.stop = map[uint64]struct{}{}
	digest := uint64(0)
	take := func(word string) {
		normal := a.forms.append(nil, []byte(word), &s)
		h := a.hash(normal).Lo
		if _, had := a.stop[h]; !had {
			a.stop[h] = struct{}{}
			digest += h // whatever the order
		}
	}
	for _, word := range words {
		take(word)
	}
	if len(words) > 0 {
		a.id += fmt.Sprintf(" stop_words=%d:%016x", len(a.stop), digest)
	}
	if a.options.Stop == StopBuiltin {
		for _, word := range strings.Fields(builtinStop) {
			take(word)
		}
	}
}

// takeLexicon fills the tables by word id.
func (a *Analyzer) takeLexicon(l Lexicon) {
	n := l.Len()
	a.words = make([]wordInfo, n)
	if a.options.Bits == 128 {
		a.high = make([]uint64, n)
	}
	a.meanIDF = scaledIDF(l.MeanIDF())
	digest := uint64(0)
	for i := range a.words {
		id := int32(i)
		word := l.Word(id)
		h := a.hash([]byte(word))
		info := wordInfo{hash: h.Lo, idf: a.meanIDF}
		if idf, ok := l.IDF(id); ok {
			info.idf = scaledIDF(idf)
		}
		_, info.skip = a.stop[h.Lo]
		if a.options.Stop == StopBuiltin && l.IsStop(id) {
			info.skip = true
		}
		if len(a.options.Tags) > 0 && !hasAnyPrefix(l.Tag(id), a.options.Tags) {
			info.skip = true
		}
		a.words[i] = info
		if a.high != nil {
			a.high[i] = h.Hi
		}
		digest += h.Lo
	}
	a.id += fmt.Sprintf(" lexicon=%d:%016x", n, digest)
}

func scaledIDF(idf float64) uint32 {
	return uint32(min(max(math.Round(idf*idfScale), 0), 1<<16))
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// hash is the hash step: XXH3 of the feature's normal form, of 128 bits if the
// fingerprint has as many.
func (a *Analyzer) hash(feature []byte) Fingerprint {
	if a.options.Bits == 128 {
		h := xxh3.Hash128(feature)
		return Fingerprint{Hi: h.Hi, Lo: h.Lo}
	}
	return Fingerprint{Lo: xxh3.Hash(feature)}
}

// Options returns the options the analyzer was made with.
func (a *Analyzer) Options() Options { return a.options }

// ID describes in one line everything that decides a fingerprint: the options,
// and number and digest of the stop words and of the lexicon. Fingerprints of
// analyzers with different ids are not to be compared.
func (a *Analyzer) ID() string { return a.id }
