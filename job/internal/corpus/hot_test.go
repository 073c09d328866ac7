package corpus

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

// crowdView is a page of a template: it has one fingerprint in two, or one near
// it, and a sketch that differs in a few bits.
func crowdView(r *rand.Rand) data.View {
	v := data.View{Lo: 0x0123456789abcdef, Normal: true, Length: 1000 + uint32(r.IntN(3))}
	for range r.IntN(4) {
		v.Lo ^= 1 << r.IntN(64)
	}
	for i := range v.Sketch {
		v.Sketch[i] = byte(i * 37)
	}
	for range r.IntN(8) {
		v.Sketch[r.IntN(64)] ^= 1 << r.IntN(8)
	}
	if r.IntN(20) == 0 { // another text of the same fingerprint
		for i := range v.Sketch {
			v.Sketch[i] = byte(r.Uint32())
		}
	}
	return v
}

// crowdLibrary is a library of nights of such pages, of which so many in ten
// look like one that was there.
func crowdLibrary(t testing.TB, nights, pages, again int) *library.Library {
	t.Helper()
	ctx := context.Background()
	l, err := library.Lock(ctx, filepath.Join(t.TempDir(), "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.Settle(64, map[string]string{"a": "b"}, nil); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 1))
	var views []data.View
	for night := range nights {
		name := fmt.Sprintf("2026-11-%02d", night+1)
		_, _, err := l.Add(ctx, name, "", func(yield func(*data.LibraryRow) error) error {
			for page := range pages {
				if len(views) == 0 || r.IntN(10) >= again {
					views = append(views, crowdView(r))
				}
				v := &views[len(views)-1]
				if r.IntN(10) < again {
					v = &views[r.IntN(len(views))]
				}
				row := data.LibraryRow{
					DocID: fmt.Appendf(nil, "http://a.example/%06d", page), Lo: v.Lo, LengthClass: simhash.LengthNormal, Length: int32(v.Length),
					Sketch: v.Sketch[:], FirstSeen: "2026-11-01", Cluster: fmt.Appendf(nil, "2026-11-01/%d", r.IntN(3)),
				}
				if err := yield(&row); err != nil {
					return err
				}
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// hotKeyNight is a night of so many different pages of the template.
func hotKeyNight(pages int) *Night {
	match := config.Default().Match
	n := &Night{Views: mapper.NewUnits(match.Verified()), match: match, rule: method.Rule(match), bits: 64, night: "2026-11-20", hot: maxHot}
	r := rand.New(rand.NewPCG(7, 2))
	for n.Views.Len() < pages {
		v := crowdView(r)
		n.Views.Add(&v)
	}
	n.indexOn(2)
	return n
}

func gathered(e *history.Matches) (all []history.Gathered) {
	for u := range uint32(e.Units()) {
		if g, ok := e.Gathered(u); ok {
			g.Clusters = slices.Sorted(slices.Values(g.Clusters))
			all = append(all, g)
		}
	}
	return all
}

// Where many of tonight's documents share what earlier ones meet them by, the
// join says what comparing each with each says.
func TestJoinOfCrowds(t *testing.T) {
	l, n := crowdLibrary(t, 4, 300, 5), hotKeyNight(200)
	n.hot = 100 // more come
	splits, err := l.Splits(n.Before(), 100)
	if err != nil {
		t.Fatal(err)
	}
	got := n.NewMatches(l.Manifest())
	var compared, times atomic.Int64
	err = n.Join(context.Background(), l, splits, 2, got, func(documents int64) {
		compared.Add(documents)
		times.Add(min(documents, 1))
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := got.Documents(); compared.Load() != all || times.Load() < all/int64(n.hot) {
		t.Errorf("of %d documents %d were told to be compared, in %d parts", all, compared.Load(), times.Load())
	}
	want := n.NewMatches(l.Manifest())
	rule, verdict := n.rule, estimator(n.rule)
	pairs := 0
	err = l.Rows(context.Background(), n.Before(), func(row *data.LibraryRow) error {
		v, _ := n.view(row)
		var unit data.View
		for u := range uint32(n.Views.Len()) {
			n.Views.View(u, &unit)
			if !rule.Candidate(&unit, &v) {
				continue
			}
			if e := verdict(&unit, &v); e.Reason != data.NotTheSame {
				similarity, reason := told(e)
				pairs++
				want.Add(u, &history.Row{
					Night: row.Night, ID: row.DocID, FirstSeen: row.FirstSeen, Cluster: row.Cluster,
					Distance: mapper.Distance(&unit, &v), Similarity: similarity, Reason: reason,
				})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprintf("%+v", gathered(got)), fmt.Sprintf("%+v", gathered(want)); a != b {
		t.Errorf("got %.300s\nwant %.300s", a, b)
	}
	if pairs < 100_000 || got.Documents() != l.Manifest().Rows() {
		t.Errorf("%d pairs, %d documents: the test shows nothing", pairs, got.Documents())
	}
}

// BenchmarkJoinOfCrowds is the join of ten nights of 3,000 pages of a template
// with 2,000 different ones of tonight: of the earlier ones half, and nine of
// ten, look like another.
func BenchmarkJoinOfCrowds(b *testing.B) {
	for _, again := range []int{5, 9} {
		b.Run(fmt.Sprintf("again=%d0%%", again), func(b *testing.B) {
			l, n := crowdLibrary(b, 10, 3000, again), hotKeyNight(2000)
			splits, err := l.Splits(n.Before(), 1<<20)
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for range b.N {
				if err := n.Join(context.Background(), l, splits, 2, n.NewMatches(l.Manifest()), func(int64) {}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(l.Manifest().Rows()), "ns/document")
		})
	}
}
