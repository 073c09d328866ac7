// Package dedup is neardup for a Go program whose documents are in memory: the
// fingerprint of a text, the pairs of fingerprints within a distance, the groups
// of texts that are nearly the same. It calls the method of a run, with the
// preset balanced and its defaults, and has none of its own. It reads and writes
// no file; what memory does not hold is for the command.
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
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/shuffle"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// analyzer is made once; it keeps its dictionary for good.
var analyzer = sync.OnceValues(func() (*simhash.Analyzer, error) {
	a, _, err := engine.NewAnalyzer(config.Default().Features)
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

// Pair is two fingerprints, by their places A < B, within a Hamming distance.
type Pair struct{ A, B, Distance int }

// Pairs returns all pairs of fingerprints within distance k, in order of A and
// B, and misses none. Of n equal fingerprints there are n · (n − 1) / 2.
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
	err = shuffle.Segments(context.Background(), lists, layout, k, shuffle.Options{Workers: runtime.GOMAXPROCS(0)}, func(_ int, i, j uint32, distance int) {
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

// Group is texts, by their places in ascending order, of which each is a match
// of another of them: a cluster of a run that cuts none (clusters.max_spread).
type Group struct {
	Texts []int
	Keep  int // the longest of them, the first of equally long ones
}

// Dedup returns the groups of two texts or more, in order of their first.
func Dedup(texts []string) ([]Group, error) {
	rule := engine.Rule(config.Default().Match)
	rows, err := rowsOf(texts, true)
	if err != nil {
		return nil, err
	}
	views := make([]data.View, len(rows))
	for i := range rows {
		mapper.View(&rows[i], &views[i])
	}
	components, err := match(rule, views)
	if err != nil {
		return nil, err
	}
	members := map[uint32][]reducer.Candidate{} // by root
	for i := range views {
		root := components.Root(uint32(i))
		members[root] = append(members[root], reducer.Candidate{Doc: uint32(i), Value: float64(views[i].Length)})
	}
	var groups []Group
	for _, of := range members {
		if len(of) < 2 {
			continue
		}
		g := Group{Keep: int(reducer.Keeper(of).Doc)}
		for _, c := range of {
			g.Texts = append(g.Texts, int(c.Doc))
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(a.Texts[0], b.Texts[0]) })
	return groups, nil
}

// match connects the documents that are the same.
func match(rule mapper.Rule, views []data.View) (*reducer.Components, error) {
	bits := config.Default().Features.Bits
	layout, err := simhash.ChooseLayout(bits, rule.K, uint64(len(views)))
	if err != nil {
		return nil, err
	}
	units, normal, postings := mapper.NewUnits(true), []uint32{}, []uint64{}
	for i := range views {
		units.Append(&views[i])
		if views[i].Normal {
			normal, postings = append(normal, uint32(i)), append(postings, mapper.Segments[uint64](&views[i]))
		}
	}
	lists, err := columns.Collapse(postings, bits, 0)
	if err != nil {
		return nil, fmt.Errorf("dedup: %w", err)
	}
	components := reducer.NewComponents(len(views))
	join := &shuffle.Memory[uint64]{Rule: rule, Layout: layout, Lists: lists, Normal: normal, Views: units, Options: shuffle.Options{Workers: runtime.GOMAXPROCS(0)}}
	var mu sync.Mutex
	return components, join.Pairs(context.Background(), func(_ int, p data.Pair) {
		mu.Lock()
		defer mu.Unlock()
		components.Add(uint32(p.A), uint32(p.B))
	})
}

// rowsOf fingerprints the texts on all cores.
func rowsOf(texts []string, sketches bool) ([]data.FingerprintRow, error) {
	a, err := analyzer()
	if err != nil {
		return nil, fmt.Errorf("dedup: %w", err)
	}
	rows := make([]data.FingerprintRow, len(texts))
	workers := min(runtime.GOMAXPROCS(0), len(texts))
	return rows, engine.Parallel(context.Background(), workers, workers, func(_ context.Context, w int) error {
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
