package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

// Most is how many documents Top answers with at most.
const Most = 1000

// ErrTop is returned for a number of nearest documents that none is asked for by.
var ErrTop = fmt.Errorf("ask for 1 to %d of the nearest documents", Most)

// Top fingerprints the document and returns the n documents of the library, and
// of what has been added since, whose fingerprints are nearest, whatever the
// distance: of equally near ones those of the earliest night, then the smaller
// ids. Documents of the normal class alone have a fingerprint that says enough:
// nothing is near another.
// The verdict says of each whether it is a match; an id that has several versions
// is named by the nearest, and nights are those in which it is as near as that.
//
// Fingerprints are compared one by one: a store of sorted files takes a scan of 8
// bytes a document, or a few, the others a pass over the library's files.
func (x *Index) Top(ctx context.Context, doc *data.Document, n int) (*Answer, error) {
	if n < 1 || n > Most {
		return nil, ErrTop
	}
	p, err := x.fingerprint(doc)
	if err != nil {
		return nil, err
	}
	return x.top(ctx, &p.view, p.row.LengthClass, n)
}

func (x *Index) top(ctx context.Context, v *data.View, class string, n int) (*Answer, error) {
	if class != simhash.LengthNormal {
		a, err := x.find(ctx, v, class)
		if err == nil {
			a.Matches, a.Known = []Match{}, false
		}
		return a, err
	}
	with := x.takeTools()
	defer x.tools.Put(with)
	for {
		since := x.added.generation()
		t := &nearest{question: x.question(v, class, with), n: n, byID: map[string]int{}}
		m, err := t.library(ctx)
		if err != nil {
			return nil, err
		}
		if x.added.nearest(t, m, since) {
			return t.answered(), nil
		}
	}
}

// nearest gathers the nearest documents.
type nearest struct {
	*question
	n     int
	found []near
	byID  map[string]int // places in found
	bound int            // no document farther than it is wanted, once there are n
}

// near is the nearest version of an id.
type near struct {
	Match
	view data.View
}

func compareNear(a, b near) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), strings.Compare(a.Night, b.Night), strings.Compare(a.ID, b.ID))
}

// wants reports whether a document at that distance may be one of the nearest.
func (t *nearest) wants(distance int) bool { return len(t.found) < t.n || distance <= t.bound }

// take takes in a document; those of earlier nights come first. The view's letters
// may change behind it.
func (t *nearest) take(found Match, v *data.View) {
	if !t.wants(found.Distance) {
		return
	}
	at, ok := t.byID[found.ID]
	if !ok || found.Distance < t.found[at].Distance {
		found.LastSeen, found.Nights = found.Night, 1
		one := near{found, *v}
		one.view.Letters = slices.Clone(v.Letters)
		if ok {
			t.found[at] = one
		} else {
			t.byID[found.ID] = len(t.found)
			t.found = append(t.found, one)
		}
	} else if have := &t.found[at]; found.Distance == have.Distance {
		have.FirstSeen, have.LastSeen = min(have.FirstSeen, found.FirstSeen), max(have.LastSeen, found.Night)
		have.Nights++
	}
	if len(t.found) >= 2*t.n+64 || len(t.found) == t.n {
		t.prune()
	}
}

// prune forgets what is farther than the n nearest.
func (t *nearest) prune() {
	slices.SortFunc(t.found, compareNear)
	for _, f := range t.found[min(t.n, len(t.found)):] {
		delete(t.byID, f.ID)
	}
	t.found = t.found[:min(t.n, len(t.found))]
	for i, f := range t.found {
		t.byID[f.ID] = i
	}
	if len(t.found) == t.n {
		t.bound = t.found[t.n-1].Distance
	}
}

// answered is the answer once all has been taken in.
func (t *nearest) answered() *Answer {
	t.prune()
	a := t.answer
	a.Known = false
	for i := range t.found {
		f := &t.found[i]
		e := t.verifier.Estimated(t.view, &f.view)
		if t.rule.Estimates() {
			similarity := mapper.EstimatedJaccard(e)
			f.Estimate = &similarity
		}
		if !t.rule.Candidate(t.view, &f.view) { // a run would not have compared them
			e.Reason = data.NotTheSame
		}
		f.Verdict = e.Reason.String()
		a.Known = a.Known || e.Reason.Same()
		a.Matches = append(a.Matches, f.Match)
	}
	return a
}

// library takes in what the library has.
func (t *nearest) library(ctx context.Context) (*library.Manifest, error) {
	x := t.index
	for _, share := range []int{8, 4, 3} { // most have enough in the narrow circle
		m, enough, err := t.within(ctx, x.layout.Bits()/share)
		if errors.Is(err, lookup.ErrScan) {
			break
		}
		if enough || err != nil {
			return m, err
		}
	}
	return t.pass(ctx)
}

// within takes in the documents that the store has within a distance, and reports
// whether the nearest are among them.
func (t *nearest) within(ctx context.Context, distance int) (m *library.Manifest, enough bool, err error) {
	x := t.index
	q := lookup.Query{Hi: t.view.Hi, Lo: t.view.Lo, Distance: distance, All: true}
	m, files, hits, err := x.near(ctx, &q)
	if err != nil {
		return nil, false, err
	}
	if t.now, err = x.look(); t.now == nil {
		return nil, false, err
	}
	t.found, t.byID = t.found[:0], map[string]int{}
	var v data.View
	slices.SortStableFunc(hits, func(a, b lookup.Hit) int { // part names are in the order of changes, not of nights
		night := func(h lookup.Hit) string { n, _ := m.NightOf(files[h.Part]); return n.Name }
		return strings.Compare(night(a), night(b))
	})
	last := 0
	for i := range hits {
		h := &hits[i]
		last = max(last, h.Distance)
		file, ok := files[h.Part]
		if !ok {
			continue
		}
		night, ok := m.NightOf(file)
		if !ok || !t.now.counts(m, night.Name, file, h) {
			continue
		}
		v = data.View{Hi: h.Hi, Lo: h.Lo, Length: h.Length, Normal: h.Normal, Letters: h.Letters}
		copy(v.Sketch[:], h.Sketch)
		t.take(t.matchOf(&v, h.ID, night.Name, string(h.FirstSeen), h.Cluster), &v)
	}
	t.prune()
	t.count()
	// Of more hits than the store gives, those at the largest distance may lack.
	return m, len(t.found) == t.n && (len(hits) < lookup.Limit || t.bound < last), nil
}

func (t *nearest) count() {
	t.answer.Nights, t.answer.Documents = len(t.now.Manifest().Nights), t.now.Manifest().Rows()
}

func (t *nearest) matchOf(v *data.View, id []byte, night, first string, cluster []byte) Match {
	distance := (&lookup.Query{Hi: t.view.Hi, Lo: t.view.Lo}).Apart(v.Hi, v.Lo)
	return Match{ID: string(id), Night: night, FirstSeen: first, Distance: distance, Similarity: 1 - float64(distance)/float64(t.index.layout.Bits()), Cluster: string(cluster)}
}

// topColumns are those of the library's documents that an answer is made of.
var topColumns = append([]string{"first_seen", "cluster_id"}, idColumns...)

// pass takes in all documents of the library, in the order of their nights.
func (t *nearest) pass(ctx context.Context) (*library.Manifest, error) {
	x := t.index
	now, err := x.look()
	if now == nil {
		return nil, err
	}
	t.now, t.found, t.byID = now, t.found[:0], map[string]int{}
	t.count()
	var v data.View
	for _, n := range now.Manifest().Nights {
		err := now.Stream(ctx, library.StreamOptions{Nights: []string{n.Name}, Columns: topColumns, Workers: 1}, func(_ int, b *library.Batch) error {
			for i := range b.Rows {
				row := &b.Rows[i]
				if row.LengthClass != simhash.LengthNormal || !t.wants((&lookup.Query{Hi: t.view.Hi, Lo: t.view.Lo}).Apart(row.Hi, row.Lo)) {
					continue
				}
				viewOf(row, &v)
				t.take(t.matchOf(&v, row.DocID, n.Name, row.FirstSeen, row.Cluster), &v)
			}
			return nil
		})
		if err != nil {
			return nil, x.unread(now, err)
		}
	}
	t.prune()
	return now.Manifest(), nil
}

// nearest takes in pages that are on the disk; see among.
func (a *Added) nearest(t *nearest, m *library.Manifest, since uint64) bool {
	if a == nil {
		return true
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.changes != since {
		return false
	}
	var v data.View
	for _, r := range a.files {
		t.answer.Documents += r.beside(t.now)
		if r.isNight(m) {
			continue
		}
		for unit, print := range r.prints {
			if !t.wants(t.query.Apart(print.Hi, print.Lo)) {
				continue
			}
			r.units.View(uint32(unit), &v) //nolint:gosec // units are counted in 32 bits
			if !v.Normal {
				continue
			}
			r.each(uint32(unit), false, func(row int, e *recentEntry) bool { //nolint:gosec // the same
				if id := r.ids.At(row); !t.now.Hides(id, e.change) {
					t.take(t.matchOf(&v, id, AddedNight, AddedNight, nil), &v)
				}
				return true
			})
		}
	}
	return true
}
