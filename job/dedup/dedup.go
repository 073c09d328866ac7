// Package dedup finds near-duplicates among texts that are in memory.
//
//   - [Fingerprint] returns the SimHash of a text.
//   - [Pairs] returns the pairs of fingerprints within a Hamming distance.
//   - [Dedup] returns the groups of texts that are nearly the same.
//
// All three call the code of a run with its default settings, so they find what
// the command finds with the preset balanced. The package reads and writes no
// files. Use the command for texts that do not fit into memory.
package dedup

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/shuffle"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// analyzer makes the Analyzer at the first call. Its dictionary stays in memory
// until the process ends.
var analyzer = sync.OnceValues(func() (*simhash.Analyzer, error) {
	a, _, err := method.NewAnalyzer(config.Default().Features)
	return a, err
})

// Fingerprint returns the SimHash of a text, 64 bits, as a run computes it. It
// is safe for concurrent use.
func Fingerprint(text string) (simhash.Fingerprint, error) {
	rows, err := rowsOf([]string{text}, false)
	if err != nil {
		return simhash.Fingerprint{}, err
	}
	return simhash.Fingerprint{Hi: rows[0].Hi, Lo: rows[0].Lo}, nil
}

// Pair is a pair of fingerprints, A < B being their indices, and their Hamming
// distance.
type Pair struct{ A, B, Distance int }

// Pairs returns all pairs of fingerprints whose Hamming distance is at most k,
// ordered by A, then B. It misses none. Equal fingerprints are pairs too: n
// equal ones are n · (n − 1) / 2 pairs. Fingerprints have 64 bits, or 128 if Hi
// of any is not zero. It returns an error for a k that is too large for any
// layout of keys.
func Pairs(fingerprints []simhash.Fingerprint, k int) ([]Pair, error) {
	for _, f := range fingerprints {
		if f.Hi != 0 {
			return pairs[columns.Uint128](fingerprints, k)
		}
	}
	return pairs[uint64](fingerprints, k)
}

func pairs[F columns.Fingerprint](fingerprints []simhash.Fingerprint, k int) (found []Pair, err error) {
	postings := make([]F, len(fingerprints))
	for i, f := range fingerprints {
		postings[i] = columns.Of[F](f.Hi, f.Lo)
	}
	lists, err := columns.Collapse(postings, columns.Width[F](), 0)
	if err != nil {
		return nil, fmt.Errorf("dedup: %w", err)
	}
	layout, err := simhash.ChooseLayout(columns.Width[F](), k, uint64(lists.Len()))
	if err != nil {
		return nil, fmt.Errorf("dedup: %w", err)
	}
	for i := range lists.Len() {
		equal := lists.Members(i)
		for n, a := range equal {
			for _, b := range equal[n+1:] {
				found = append(found, Pair{int(a), int(b), 0})
			}
		}
	}
	var mu sync.Mutex
	err = shuffle.Segments(context.Background(), lists, &mapper.Tier{Layout: layout, K: k}, shuffle.Options{Workers: runtime.GOMAXPROCS(0)}, func(_ int, i, j uint32, distance int) {
		mu.Lock()
		defer mu.Unlock()
		for _, a := range lists.Members(int(i)) {
			for _, b := range lists.Members(int(j)) {
				found = append(found, Pair{int(min(a, b)), int(max(a, b)), distance})
			}
		}
	})
	slices.SortFunc(found, func(p, q Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) })
	return found, err
}

// Group is a text to keep and the texts to remove for it: a cluster of a run.
// Each text that is removed is a verified pair with the one that is kept.
type Group struct {
	Texts []int // indices of all texts of the group, ascending
	Keep  int   // index of the text to keep: among those with about as many pairs the longest; among equally long ones the first
}

// Dedup returns the groups of at least two texts, ordered by their first text.
// Texts of no group have no near-duplicate. A text that has neither a normal
// length nor a sketch is of no group.
func Dedup(texts []string) ([]Group, error) {
	rows, err := rowsOf(texts, true)
	if err != nil {
		return nil, err
	}
	units := mapper.NewUnits(true) // a unit is a set of texts with equal views
	var views []data.View          // by unit
	var members [][]int            // by unit: its texts
	for i := range rows {
		var v data.View
		mapper.View(&rows[i], &v)
		if !v.Normal && v.Sketch == ([data.SketchSize]byte{}) {
			continue // it has nothing to compare
		}
		u := units.Add(&v)
		if int(u) == len(views) {
			views, members = append(views, v), append(members, nil)
		}
		members[u] = append(members[u], i)
	}
	cfg := config.Default()
	pairs, err := match(&cfg.Match, views)
	if err != nil {
		return nil, err
	}
	candidates := make([]reducer.Candidate, len(views))
	for u := range candidates {
		candidates[u] = reducer.Candidate{Doc: uint32(members[u][0]), Value: float64(views[u].Length)}
	}
	for _, p := range pairs {
		candidates[p.A].Pairs++
		candidates[p.B].Pairs++
	}
	representatives := reducer.NewRepresentatives(len(views), func(a, b uint32) bool { return candidates[a].Before(candidates[b]) })
	err = representatives.Choose(len(pairs), func(yield func(a, b uint32)) error {
		for _, p := range pairs {
			yield(uint32(p.A), uint32(p.B))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("dedup: %w", err)
	}
	nearest := reducer.NewBest(len(views))
	for _, p := range pairs {
		if representatives.Stays(uint32(p.A)) || representatives.Stays(uint32(p.B)) {
			nearest.Add(uint32(p.A), uint32(p.B), p.Distance, true)
		}
	}
	texted := make([][]int, len(views)) // by unit that is kept: the texts of its group
	for u := range uint32(len(views)) {
		at := u
		if !representatives.Stays(u) {
			m, _ := nearest.Match(u)
			at = m.Doc
		}
		texted[at] = append(texted[at], members[u]...)
	}
	var groups []Group
	for u, of := range texted {
		if len(of) > 1 {
			slices.Sort(of)
			groups = append(groups, Group{Texts: of, Keep: members[u][0]})
		}
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(a.Texts[0], b.Texts[0]) })
	return groups, nil
}

// match returns the pairs of views, by index, for which one of the two may be
// removed.
func match(m *config.Match, views []data.View) (found []data.Pair, err error) {
	var mu sync.Mutex
	err = shuffle.Views(context.Background(), method.Rule(*m), config.Default().Features.Bits, views, shuffle.Options{Workers: runtime.GOMAXPROCS(0)}, func(_ int, p data.Pair) {
		mu.Lock()
		defer mu.Unlock()
		if method.Proves(m, p.Evidence) {
			found = append(found, p)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("dedup: %w", err)
	}
	return found, nil
}

// rowsOf returns the fingerprint rows of the texts, in their order, computed on
// all cores.
func rowsOf(texts []string, sketches bool) ([]data.FingerprintRow, error) {
	a, err := analyzer()
	if err != nil {
		return nil, fmt.Errorf("dedup: %w", err)
	}
	rows := make([]data.FingerprintRow, len(texts))
	workers := min(runtime.GOMAXPROCS(0), len(texts))
	return rows, parallel.Each(context.Background(), workers, workers, func(_ context.Context, w int) error {
		f := mapper.NewFingerprinter(a.NewWorkspace(), sketches, nil)
		var doc data.Document
		for i := len(texts) * w / workers; i < len(texts)*(w+1)/workers; i++ {
			doc.Reset()
			doc.Text = append(doc.Text, texts[i]...)
			f.Fingerprint(&doc, "", &rows[i])
		}
		return nil
	})
}
