package eval

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/language"
)

// Options of a Lab.
type Options struct {
	// Truth is what makes a pair right; 0: labelled, or alike.
	Truth Definition
	// Beside are definitions by each of which a result states its figures too.
	Beside Definition
	// Alike is the Jaccard similarity of shingles from which on two documents
	// are alike; 0: 0.5.
	Alike float64
	// Half counts only the pairs whose first document's id is of that half
	// (see Half), 0 or 1; AllPairs counts all.
	Half int
	// Workers is the number of goroutines; 0: GOMAXPROCS.
	Workers int
	// Examples is how many false pairs and misses a result lists; 0: 10.
	Examples int

	Pass parallel.Pass // each of them
}

// PassTexts is the unit of a pass that goes over the text of every document.
const PassTexts = "texts"

// Check returns the first mistake, with what to write instead.
func (o Options) Check() error {
	switch {
	case !(o.Alike >= 0 && o.Alike <= 1):
		return fmt.Errorf("eval: alike %v: write a similarity above 0 and at most 1", o.Alike)
	case o.Half < AllPairs || o.Half > 1:
		return fmt.Errorf("eval: half %d: write 0, 1 or %d for all pairs", o.Half, AllPairs)
	}
	return nil
}

// AllPairs is the Half of Options that counts every pair.
const AllPairs = -1

// Lab holds documents and the truth about their pairs. Its methods may not be
// called concurrently; Close ends it.
type Lab struct {
	corpus    *Corpus
	options   Options
	truth     map[Pair]truePair
	lengths   []int32  // in characters of the normal form
	languages []string // see package language
	dir       string   // of runs, temporary; "": none yet
}

// Found is a pair that a method reports, with the method's own measure of how
// alike it is: the more, the higher.
type Found struct {
	Pair
	Score     float64
	Contained bool // reported as one document within the other, not as the same
}

// Method finds near-duplicates.
type Method interface {
	// Name is unique in a report.
	Name() string
	// Find returns the pairs that the method takes for near-duplicates, each
	// once, in any order.
	Find(ctx context.Context, l *Lab) ([]Found, error)
}

// New prepares a corpus: it finds every pair that is alike, exactly.
func New(ctx context.Context, c *Corpus, o Options) (*Lab, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Truth == 0 {
		o.Truth = TruthLabel | TruthJaccard
	}
	if o.Alike == 0 {
		o.Alike = 0.5
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Examples <= 0 {
		o.Examples = 10
	}
	l := &Lab{corpus: c, options: o, truth: map[Pair]truePair{}, lengths: make([]int32, len(c.Documents)), languages: make([]string, len(c.Documents))}
	sets := make([][]uint64, len(c.Documents))
	err := l.normalized(ctx, func(i int, text []byte) {
		sets[i] = shingles(text)
		l.lengths[i], l.languages[i] = int32(utf8.RuneCount(text)), language.Of(nil, text)
	})
	if err != nil {
		return nil, err
	}
	return l, l.findTruth(ctx, o.Truth|o.Beside, sets)
}

// counts reports whether a pair is of the half that is measured.
func (l *Lab) counts(p Pair) bool {
	return l.options.Half == AllPairs || halfOf(l.corpus.Documents[p.A].ID) == l.options.Half
}

// shingles returns the shingles of a document.
func (l *Lab) shingles(w *simhash.Workspace, i int32) []uint64 {
	return shingles(w.Normalize(nil, l.corpus.Documents[i].Text))
}

// normalized calls f with every document's text in normal form, concurrently.
func (l *Lab) normalized(ctx context.Context, f func(i int, text []byte)) error {
	a, err := normalizer()
	if err != nil {
		return err
	}
	return l.each(ctx, a, func(w *simhash.Workspace, i int) { f(i, w.Normalize(nil, l.corpus.Documents[i].Text)) })
}

// sets returns what set makes of every document's normal form.
func (l *Lab) sets(ctx context.Context, set func(text []byte) []uint64) ([][]uint64, error) {
	sets := make([][]uint64, len(l.corpus.Documents))
	err := l.normalized(ctx, func(i int, text []byte) { sets[i] = set(text) })
	return sets, err
}

// featured calls f with the features of every document's text, concurrently.
func (l *Lab) featured(ctx context.Context, o simhash.Options, f func(i int, all []simhash.Feature)) error {
	a, err := simhash.New(o)
	if err != nil {
		return err
	}
	return l.each(ctx, a, func(w *simhash.Workspace, i int) { f(i, w.Features(nil, nil, l.corpus.Documents[i].Text)) })
}

// normalizer returns an analyzer that serves for its normal form.
var normalizer = sync.OnceValues(func() (*simhash.Analyzer, error) {
	o := simhash.DefaultOptions()
	o.Kind = simhash.KindNGrams // needs no dictionary
	return simhash.New(o)
})

// each calls f for every document, concurrently, with a workspace of the
// analyzer.
func (l *Lab) each(ctx context.Context, a *simhash.Analyzer, f func(w *simhash.Workspace, i int)) error {
	documents, workers := len(l.corpus.Documents), l.options.Workers
	advance := l.options.Pass.Begin(int64(documents), PassTexts)
	return parallel.Each(ctx, workers, workers, func(ctx context.Context, from int) error {
		w := a.NewWorkspace()
		for i := from; i < documents && ctx.Err() == nil; i += workers {
			f(w, i)
			advance(1)
		}
		return ctx.Err()
	})
}

// Measure runs the method and compares what it finds with the truth.
func (l *Lab) Measure(ctx context.Context, m Method) (*Result, error) {
	began := time.Now()
	found, err := m.Find(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("eval: %s: %w", m.Name(), err)
	}
	seconds := time.Since(began).Seconds()
	slices.SortFunc(found, func(a, b Found) int { return a.compare(b.Pair) })
	found = slices.CompactFunc(found, func(a, b Found) bool { return a.Pair == b.Pair })
	b, ok := m.(baseline)
	r, err := l.compare(found, ok && b.tuned)
	if err != nil {
		return nil, err
	}
	r.Method, r.Source, r.Seconds = m.Name(), sourceOf(m.Name()), seconds
	return r, nil
}
