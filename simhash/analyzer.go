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

// Analyzer holds the options and tables by which texts become fingerprints. It is
// immutable and safe for concurrent use; each goroutine works with a [Workspace] of
// its own.
type Analyzer struct {
	options    Options
	forms      *formTable
	classes    *classTable
	dictionary *jieba.Dictionary // nil for n-grams
	highs      []uint64          // by word id: upper half of a 128-bit hash, else nil
	infos      []wordInfo        // by word id
	ranks      bool              // the options ask for the rank by tf × idf
	meanIDF    uint32            // of a word without idf
	otherIDF   map[uint64]uint32 // of words without id, by their hash
	stop       stopSet
	weight     weight

	cells         *[0x10002]uint16 // by character, two more that codeWide may read
	separator     int32            // its id
	separatorCode uint16

	cut func(dst []jieba.Word, text []byte) []jieba.Word // Extra.Cut
}

// wordInfo is a word's idf times idfScale, and in bit 0 whether it is skipped:
// a stop word, or of another part of speech than asked for.
type wordInfo uint32

func (i wordInfo) idf() uint32 { return uint32(i >> 1) }
func (i wordInfo) skip() bool  { return i&1 != 0 }

// Extra holds what an analyzer may be given besides its Options. The zero value adds
// nothing.
type Extra struct {
	Dictionary *jieba.Dictionary // words of ideographs; nil: jieba's own
	StopWords  []string          // stop words in addition to those of Options.Stop; normalised as the texts are

	// Cut, unless nil, replaces jieba's segmenter. It appends the words of text to
	// dst, with the ids that the Dictionary has for them; the words must cover the
	// text without gap or overlap. Text is valid UTF-8: runs of ideographs, each
	// followed by a newline. A newline must be a word of its own, and what is on one
	// side of it must not influence the other. Workspaces call Cut concurrently.
	Cut func(dst []jieba.Word, text []byte) []jieba.Word
}

// New returns the analyzer for o. The error names the first mistake in o and what to
// write instead. With kind words New takes a few tens of milliseconds.
func New(o Options) (*Analyzer, error) { return NewWith(o, Extra{}) }

// NewWith is New with extra dictionary, stop words or segmenter.
func NewWith(o Options, e Extra) (_ *Analyzer, err error) {
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("simhash: %w", err)
	}
	a := &Analyzer{options: o, classes: classesWithout(o.Exclude), forms: traditionalForms(), weight: weight(slices.Index(weightNames, o.Weight))}
	if o.Simplify {
		a.forms = simplifiedForms()
	}
	if o.Kind == KindNGrams {
		if len(e.StopWords) > 0 {
			return nil, errors.New("simhash: stop words choose words: write kind words, or leave them out with kind ngrams")
		}
		return a, nil
	}
	if a.dictionary = e.Dictionary; a.dictionary == nil {
		if a.dictionary, err = jieba.Default(); err != nil {
			return nil, fmt.Errorf("simhash: %w", err)
		}
	}
	if err := checkTags(o.Tags, a.dictionary.Tags()); err != nil {
		return nil, fmt.Errorf("simhash: %w", err)
	}
	a.takeWords()
	a.takeStop(e.StopWords)
	if a.cut = e.Cut; a.cut == nil {
		a.takeCodes()
	}
	return a, nil
}

// takeStop fills the set of stop words' hashes, and notes which words they are.
func (a *Analyzer) takeStop(words []string) {
	var s scratch
	take := func(word string) {
		normal := a.forms.append(nil, []byte(word), &s)
		a.stop.add(a.hash(normal).Lo)
		if id, ok := a.dictionary.Lookup(normal); ok {
			a.infos[id] |= 1
		}
	}
	for _, word := range words {
		take(word)
	}
	if a.options.Stop != StopBuiltin {
		return
	}
	for word := range strings.FieldsSeq(builtinStop) {
		take(word)
	}
	for id := range int32(a.dictionary.Len()) {
		if a.dictionary.IsStop(id) {
			take(a.dictionary.Word(id))
		}
	}
}

// wordHash is the hash of a word with an id. The words are hashed when they are met:
// there are hundreds of thousands, and most texts have few.
func (a *Analyzer) wordHash(id int32) Fingerprint {
	var room [64]byte
	return a.hash(a.dictionary.AppendWord(room[:0], id))
}

// takeWords fills the tables by word id.
func (a *Analyzer) takeWords() {
	d, o := a.dictionary, &a.options
	n := d.Len()
	a.infos = make([]wordInfo, n)
	if o.Bits == 128 {
		a.highs = make([]uint64, n)
	}
	a.meanIDF = scaledIDF(d.MeanIDF())
	a.ranks = o.Top > 0 || a.weight == weightLevels
	weighs := a.ranks || a.weight == weightTFIDF || a.weight == weightSqrtTFIDF
	a.otherIDF = map[uint64]uint32{}
	var s scratch
	var word, normal []byte
	for i := range n {
		id := int32(i)
		if a.highs != nil {
			a.highs[i] = a.wordHash(id).Hi
		}
		idf := a.meanIDF
		if v, ok := d.IDF(id); ok {
			idf = scaledIDF(v)
			if weighs {
				if word = d.AppendWord(word[:0], id); !isHan(word) { // no dictionary cuts it out of a text
					normal = a.forms.append(normal[:0], word, &s)
					h := a.hash(normal).Lo
					if _, ok := a.otherIDF[h]; !ok {
						a.otherIDF[h] = idf
					}
				}
			}
		}
		if len(o.Tags) > 0 && !hasAnyPrefix(d.Tag(id), o.Tags) {
			a.infos[i] = 1
		}
		a.infos[i] |= wordInfo(idf << 1)
	}
}

// isHan reports whether a word is of ideographs, so that the segmenter finds it.
func isHan(word []byte) bool {
	for _, r := range string(word) {
		if classOf(r) != classHan {
			return false
		}
	}
	return true
}

// separator is put between runs of ideographs: jieba cuts there, and it is a
// word with an id, so that the counting needs no exception for it.
const separator = "。"

// A cell of Analyzer.cells is the code of an ideograph, the separator's code for
// whatever separates ideographs, or cellOther where a run of another class
// starts.
const cellOther = jieba.MaxCode

// takeCodes fills the table of characters.
func (a *Analyzer) takeCodes() {
	a.separator, _ = a.dictionary.Lookup([]byte(separator)) // every dictionary has it
	a.separatorCode = a.dictionary.Code([]rune(separator)[0])
	a.cells = new([0x10002]uint16)
	for r := range rune(0x10000) {
		a.cells[r] = a.cellOf(a.classes.low[r], r)
	}
}

func (a *Analyzer) cellOf(c class, r rune) uint16 {
	switch c {
	case classHan:
		return a.dictionary.Code(r)
	case classNone, classMark:
		return a.separatorCode
	}
	return cellOther
}

// cell returns the cell of the character at the start of text, and its size.
func (a *Analyzer) cell(text []byte) (uint16, int) {
	r, size := decode(text)
	if r < 0x10000 {
		return a.cells[r], size
	}
	return a.cellOf(a.classes.of(r), r), size
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
