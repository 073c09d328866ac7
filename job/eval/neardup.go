package eval

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/hamming"
	"github.com/neardup/neardup/simhash/sketch"
	"github.com/neardup/neardup/simhash/template"
)

// Neardup is our own method at any setting, as the job's stages do it:
// documents of the normal lane meet when their fingerprints are within
// Distance, documents of any lane when their sketches have a band in common,
// short texts when their edits are few.
type Neardup struct {
	Label    string // name in reports; "": made of the settings
	Features simhash.Options
	Distance int
	Bands    bool          // candidates by the sketch's bands too
	Rules    *sketch.Rules // verdict on a candidate; nil: the distance alone
	Short    bool          // the lane of short texts
	// Templates leaves out what half of a site's pages share, as learned from
	// the documents at hand; the host of a document's id is its site.
	Templates bool
}

// Classic is the method of the sources: distance 3 alone.
func Classic() *Neardup {
	return &Neardup{Label: "classic", Features: features(simhash.WeightTF, simhash.StopBuiltin, 0), Distance: 3}
}

// Balanced is the method for mixed crawl text: what meets at classic's distance
// or in a band, confirmed by the sketches.
func Balanced() *Neardup {
	rules := sketch.Balanced()
	return &Neardup{Label: "balanced", Features: features(simhash.WeightTF, simhash.StopBuiltin, 0), Distance: 3, Bands: true, Rules: &rules, Short: true}
}

// Thorough finds more, and has the texts settle what is near the border.
func Thorough() *Neardup {
	rules := sketch.Thorough()
	return &Neardup{Label: "thorough", Features: features(simhash.WeightTF, simhash.StopBuiltin, 0), Distance: 12, Bands: true, Rules: &rules, Short: true}
}

// features are the default options but for weight, stop list and top.
func features(weight, stop string, top int) simhash.Options {
	o := simhash.DefaultOptions()
	o.Weight, o.Stop, o.Top = weight, stop, top
	return o
}

// Name returns the label, or describes the settings.
func (m *Neardup) Name() string {
	if m.Label != "" {
		return m.Label
	}
	name := fmt.Sprintf("neardup k=%d %s stop=%s", m.Distance, m.Features.Weight, m.Features.Stop)
	if m.Bands {
		name += " bands"
	}
	if m.Rules != nil {
		name += fmt.Sprintf(" ≥%.2f/%.2f", m.Rules.Short, m.Rules.Long)
		if m.Rules.Border > 0 {
			name += fmt.Sprintf("±%.2f", m.Rules.Border)
		}
	}
	if m.Templates {
		name += " templates"
	}
	return name
}

// view is what our method knows of a document.
type view struct {
	result simhash.Result
	sketch sketch.Sketch
	short  []rune // letters of a text that is short
}

// met is a pair that met and was taken for the same.
type met struct {
	Found
	distance int  // of the fingerprints
	anyway   bool // it meets whatever the distance: in a band, or as short texts
}

// Find implements Method.
func (m *Neardup) Find(ctx context.Context, l *Lab) ([]Found, error) {
	all, err := m.find(ctx, l)
	if err != nil {
		return nil, err
	}
	found := make([]Found, len(all))
	for i, f := range all {
		found[i] = f.Found
	}
	return found, nil
}

func (m *Neardup) find(ctx context.Context, l *Lab) ([]met, error) {
	analyzer, err := simhash.New(m.Features)
	if err != nil {
		return nil, err
	}
	var templates *template.Model
	if m.Templates {
		if templates, err = l.templates(ctx); err != nil {
			return nil, err
		}
	}
	views := make([]view, len(l.corpus.Documents))
	err = l.each(ctx, analyzer, func(w *simhash.Workspace) func(int) {
		var maker sketch.Maker
		var own, text []byte
		return func(i int) {
			d, v := &l.corpus.Documents[i], &views[i]
			own, _ = templates.Suppress(own[:0], template.Site([]byte(d.ID)), d.Text)
			v.result = w.Fingerprint(d.Title, own)
			if m.Bands || m.Rules != nil || m.Short {
				text = w.Normalize(text[:0], own)
				maker.Sketch(&v.sketch, text)
			}
			if letters, ok := sketch.ShortText(nil, text); m.Short && ok {
				v.short = letters
			}
		}
	})
	if err != nil {
		return nil, err
	}

	var found []met
	judge := m.judge(l, views, analyzer, templates)
	candidate := func(a, b int32) {
		if m.Short && views[a].short != nil && views[b].short != nil {
			return // they meet by their edits
		}
		if score, same := judge(a, b); same {
			x, y := &views[a], &views[b]
			found = append(found, met{
				Found:    Found{pairOf(a, b), score},
				distance: simhash.Distance(x.result.Fingerprint, y.result.Fingerprint),
				anyway:   m.Bands && firstBand(&x.sketch, &y.sketch) >= 0,
			})
		}
	}
	if err := m.near(ctx, l, views, candidate); err != nil {
		return nil, err
	}
	if m.Bands {
		m.banded(views, candidate)
	}
	if m.Short {
		for _, f := range shortPairs(views) {
			found = append(found, met{Found: f, anyway: true})
		}
	}
	return found, ctx.Err()
}

// templates learns what the pages of each site share.
func (l *Lab) templates(ctx context.Context) (*template.Model, error) {
	learner, err := template.NewLearner(template.Options{})
	if err != nil {
		return nil, err
	}
	for i := range l.corpus.Documents {
		d := &l.corpus.Documents[i]
		if learner.Add(template.Site([]byte(d.ID)), []byte(d.ID), d.Text); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return learner.Model(), nil
}

// judge returns the verdict on candidates.
func (m *Neardup) judge(l *Lab, views []view, analyzer *simhash.Analyzer, templates *template.Model) func(a, b int32) (float64, bool) {
	w := analyzer.NewWorkspace()
	sets := map[int32][]uint64{} // shingles of the texts consulted
	shingles := func(i int32) []uint64 {
		set, had := sets[i]
		if !had {
			d := &l.corpus.Documents[i]
			own, _ := templates.Suppress(nil, template.Site([]byte(d.ID)), d.Text)
			set = sketch.Shingles(nil, w.Normalize(nil, own))
			sets[i] = set
		}
		return set
	}
	return func(a, b int32) (float64, bool) {
		x, y := &views[a], &views[b]
		if m.Rules == nil {
			return simhash.Similarity(x.result.Fingerprint, y.result.Fingerprint, m.Features.Bits), true
		}
		length := min(x.result.Length, y.result.Length)
		score := sketch.Estimate(&x.sketch, &y.sketch)
		v := m.Rules.Judge(score, length)
		if v.Open {
			score = sketch.Jaccard(shingles(a), shingles(b))
			v = m.Rules.Settle(score, length)
		}
		return score, v.Same
	}
}

// near visits the pairs of the normal lane within the distance.
func (m *Neardup) near(ctx context.Context, l *Lab, views []view, visit func(a, b int32)) error {
	if m.Features.Bits == 128 {
		return nearPairs(ctx, l, views, m.Distance, m.Features.Bits, func(f simhash.Fingerprint) hamming.Uint128 {
			return hamming.Uint128{Hi: f.Hi, Lo: f.Lo}
		}, visit)
	}
	return nearPairs(ctx, l, views, m.Distance, m.Features.Bits, func(f simhash.Fingerprint) uint64 { return f.Lo }, visit)
}

func nearPairs[F hamming.Fingerprint](ctx context.Context, l *Lab, views []view, k, bits int, of func(simhash.Fingerprint) F, visit func(a, b int32)) error {
	var documents []int32
	var fingerprints []F
	for i := range views {
		if views[i].result.Lane == simhash.LaneNormal {
			documents, fingerprints = append(documents, int32(i)), append(fingerprints, of(views[i].result.Fingerprint))
		}
	}
	options := hamming.Options{Workers: l.options.Workers, Bits: bits}
	set, err := hamming.Collapse(fingerprints, options)
	if err != nil {
		return err
	}
	for i := range set.Len() {
		members := set.Members(i)
		for n, a := range members {
			for _, b := range members[n+1:] {
				visit(documents[a], documents[b])
			}
		}
	}
	if k == 0 {
		return nil
	}
	var lock sync.Mutex
	return set.Pairs(ctx, k, options, func(_ int, i, j uint32, _ int) {
		lock.Lock()
		defer lock.Unlock()
		for _, a := range set.Members(int(i)) {
			for _, b := range set.Members(int(j)) {
				visit(documents[a], documents[b])
			}
		}
	})
}

// banded visits the pairs with a band in common, each in the first such band,
// but for the pairs of the normal lane within the distance, which near visits.
func (m *Neardup) banded(views []view, visit func(a, b int32)) {
	near := func(a, b *view) bool {
		return a.result.Lane == simhash.LaneNormal && b.result.Lane == simhash.LaneNormal &&
			simhash.Distance(a.result.Fingerprint, b.result.Fingerprint) <= m.Distance
	}
	keys := make([]uint64, 0, len(views))
	for band := range sketch.Bands {
		keys = keys[:0]
		for i := range views {
			if !views[i].sketch.IsZero() {
				keys = append(keys, uint64(views[i].sketch.Band(band))<<32|uint64(i))
			}
		}
		eachGroup(keys, func(group []uint64) {
			for n, x := range group {
				for _, y := range group[n+1:] {
					a, b := &views[uint32(x)], &views[uint32(y)]
					if firstBand(&a.sketch, &b.sketch) == band && !near(a, b) {
						visit(int32(uint32(x)), int32(uint32(y)))
					}
				}
			}
		})
	}
}

// firstBand returns the first band that two sketches have in common; −1 for
// none.
func firstBand(a, b *sketch.Sketch) int {
	if a.IsZero() || b.IsZero() {
		return -1
	}
	for i := range sketch.Bands {
		if a.Band(i) == b.Band(i) {
			return i
		}
	}
	return -1
}

// eachGroup sorts keys, of which the upper 32 bits are the key and the lower
// the document, and calls f with each group of at least two that share one.
func eachGroup(keys []uint64, f func(group []uint64)) {
	slices.Sort(keys)
	for from := 0; from < len(keys); {
		to := from + 1
		for to < len(keys) && keys[to]>>32 == keys[from]>>32 {
			to++
		}
		if to-from > 1 {
			f(keys[from:to])
		}
		from = to
	}
}

// shortPairs returns the pairs of short texts that are the same.
func shortPairs(views []view) []Found {
	type entry struct {
		key uint64
		doc int32
	}
	var s sketch.Short
	var entries []entry
	var keys []uint64
	for i := range views {
		if views[i].short != nil {
			keys = s.Keys(keys[:0], views[i].short)
			for _, k := range keys {
				entries = append(entries, entry{k, int32(i)})
			}
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.key != b.key {
			if a.key < b.key {
				return -1
			}
			return 1
		}
		return int(a.doc) - int(b.doc)
	})
	var found []Found
	seen := map[Pair]bool{}
	for from := 0; from < len(entries); {
		to := from + 1
		for to < len(entries) && entries[to].key == entries[from].key {
			to++
		}
		for n, x := range entries[from:to] {
			for _, y := range entries[from+n+1 : to] {
				p := pairOf(x.doc, y.doc)
				a, b := views[p.A].short, views[p.B].short
				if seen[p] || !s.Judge(a, b).Same {
					continue
				}
				seen[p] = true
				found = append(found, Found{p, 1 - float64(sketch.Edits(a, b))/float64(max(len(a), len(b)))})
			}
		}
		from = to
	}
	return found
}
