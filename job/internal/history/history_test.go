package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/job/internal/history"
)

// Whatever the order and wherever gathered, a document has the best of the
// matches that have another id than its own, and its unit all their clusters.
func TestKnownEqualsSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.Custom(func(t *rapid.T) history.Row {
			night := rapid.SampledFrom([]string{"2026-11-01", "2026-11-02", "2026-11-03"}).Draw(t, "night")
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
			cluster := ""
			if rapid.Bool().Draw(t, "clustered") {
				cluster = fmt.Sprint("2026-11-01/", rapid.IntRange(0, 30).Draw(t, "cluster"))
			}
			return history.Row{Night: night, ID: []byte(id), FirstSeen: night, Cluster: []byte(cluster), Distance: rapid.IntRange(0, 3).Draw(t, "distance")}
		})
		rows := rapid.SliceOfNDistinct(row, 0, 40, func(r history.Row) string { return r.Night + string(r.ID) }).Draw(t, "rows")
		e := history.New(1, 2, "2026-11-03")
		parts := make([]*history.Matches, rapid.IntRange(0, 3).Draw(t, "parts"))
		for i := range parts {
			parts[i] = history.New(1, 2, "2026-11-03")
		}
		var exact, last int64
		for _, r := range rows {
			to := e
			if at := rapid.IntRange(0, len(parts)).Draw(t, "part"); at < len(parts) {
				to = parts[at]
			}
			to.Add(1, &r)
			to.Seen(0, r.Night, "")
			if r.Distance == 0 {
				exact++
				if r.Night == "2026-11-03" {
					last++
				}
			}
		}
		for _, p := range parts {
			if g, ok := p.Gathered(1); ok {
				e.Take(&g)
			}
			if night := p.FirstSeen(0); night != "" {
				e.Seen(0, night, "")
			}
			p.Reset()
			if _, ok := p.Gathered(1); ok || p.FirstSeen(0) != "" {
				t.Fatal("something is left")
			}
		}
		if x, l := e.Exact(1); x != exact || l != last {
			t.Fatalf("%d of the same fingerprint, %d of them of the night before, want %d and %d", x, l, exact, last)
		}
		first := ""
		for _, r := range rows {
			if first == "" || r.Night < first {
				first = r.Night
			}
		}
		if e.FirstSeen(0) != first {
			t.Fatalf("first seen %q, want %q", e.FirstSeen(0), first)
		}
		order := slices.Clone(rows)
		slices.SortFunc(order, func(a, b history.Row) int {
			return strings.Compare(fmt.Sprint(a.Distance, a.Night, string(a.ID)), fmt.Sprint(b.Distance, b.Night, string(b.ID)))
		})
		for _, id := range []string{"a", "b", "c", "d"} {
			got, ok := e.Match(1, []byte(id))
			at := slices.IndexFunc(order, func(r history.Row) bool { return string(r.ID) != id })
			if ok != (at >= 0) || ok && (got.ID != string(order[at].ID) || got.Night != order[at].Night || got.Distance != order[at].Distance) {
				t.Fatalf("document %s: %+v %t, want number %d of %+v", id, got, ok, at, order)
			}
		}
		clusters := map[string]bool{}
		for _, r := range rows {
			if len(r.Cluster) == 0 {
				clusters[history.FoundedCluster(r.Night, r.ID)] = true
			} else {
				clusters[string(r.Cluster)] = true
			}
		}
		got := e.Clusters(1)
		if len(got) != len(clusters) || !slices.IsSorted(got) {
			t.Fatalf("clusters %v, want %v", got, clusters)
		}
		if _, ok := e.Match(0, []byte("d")); ok || len(e.Clusters(0)) > 0 {
			t.Fatal("a unit without a match has one")
		}
	})
}

// Two of tonight's clusters have the same id exactly when earlier clusters
// connect them, and every earlier cluster ends in the smallest of its kind.
func TestDescendEqualsFlooding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clusters := make([]history.Descent, rapid.IntRange(0, 8).Draw(t, "clusters"))
		label := map[string]string{} // earlier cluster: smallest one connected
		for i := range clusters {
			clusters[i].Founded = fmt.Sprint("2026-11-09/", i)
			for _, id := range rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 3, rapid.ID).Draw(t, "earlier") {
				clusters[i].Continues = append(clusters[i].Continues, fmt.Sprint("2026-11-01/", id))
			}
			for _, id := range clusters[i].Continues {
				label[id] = id
			}
		}
		for changed := true; changed; {
			changed = false
			for _, c := range clusters {
				if len(c.Continues) == 0 {
					continue
				}
				least := label[c.Continues[0]]
				for _, id := range c.Continues {
					least = min(least, label[id])
				}
				for _, id := range c.Continues {
					if label[id] != least {
						label[id], changed = least, true
					}
				}
			}
		}
		ids, merges := history.Descend(clusters)
		for i, c := range clusters {
			want := c.Founded
			if len(c.Continues) > 0 {
				want = label[c.Continues[0]]
			}
			if ids[i] != want {
				t.Fatalf("cluster %d of %+v has id %s, want %s", i, clusters, ids[i], want)
			}
		}
		into := map[string]string{}
		for _, m := range merges {
			into[m.From] = m.Into
		}
		for id, least := range label {
			if want := least; id != least && into[id] != want || id == least && into[id] != "" {
				t.Fatalf("%s becomes %q, want %q", id, into[id], want)
			}
		}
		back := slices.Clone(clusters)
		slices.Reverse(back)
		reversed, same := history.Descend(back)
		slices.Reverse(reversed)
		if !slices.Equal(ids, reversed) || !slices.Equal(merges, same) {
			t.Fatal("the order of the clusters matters")
		}
	})
}

func ExampleDescend() {
	ids, merges := history.Descend([]history.Descent{
		{Founded: "2026-11-20/aa"},
		{Founded: "2026-11-20/bb", Continues: []string{"2026-03-02/17"}},
		{Founded: "2026-11-20/cc", Continues: []string{"2026-05-11/04", "2026-03-01/99"}},
	})
	fmt.Println(ids)
	fmt.Println(merges)
	// Output:
	// [2026-11-20/aa 2026-03-02/17 2026-03-01/99]
	// [{2026-05-11/04 2026-03-01/99}]
}
