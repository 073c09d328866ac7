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

// Group is a text that stays and those that go for it, by their places in ascending
// order: a cluster of a run. Each is a pair of the one that stays.
type Group struct {
	Texts []int
	Keep  int // the one that stays: of about as many pairs the longest, the first of equally long ones
}

// Dedup returns the groups of two texts or more, in order of their first.
func Dedup(texts []string) ([]Group, error) {
	rows, err := rowsOf(texts, true)
	if err != nil {
		return nil, err
	}
	units := mapper.NewUnits(true) // of texts that nothing tells apart
	var views []data.View          // by unit
	var members [][]int
	for i := range rows {
		var v data.View
		mapper.View(&rows[i], &v)
		if !v.Normal && v.Sketch == ([data.SketchSize]byte{}) {
			continue // it takes no part
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
	texted := make([][]int, len(views)) // by unit that stays
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

// match finds the pairs that one of them may go for.
func match(m *config.Match, views []data.View) (found []data.Pair, err error) {
	rule, bits := engine.Rule(*m), config.Default().Features.Bits
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
	join := &shuffle.Memory[uint64]{Rule: rule, Layout: layout, Lists: lists, Normal: normal, Views: units, Options: shuffle.Options{Workers: runtime.GOMAXPROCS(0)}}
	var mu sync.Mutex
	err = join.Pairs(context.Background(), func(_ int, p data.Pair) {
		mu.Lock()
		defer mu.Unlock()
		if engine.Proves(m, p.Evidence) {
			found = append(found, p)
		}
	})
	return found, err
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
