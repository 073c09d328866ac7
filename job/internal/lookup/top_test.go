package lookup_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	stores "github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/sorted"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/lookup"
	"github.com/neardup/neardup/simhash"
)

// keysOnly is a store that finds documents by their keys only.
type keysOnly struct{ stores.Store }

func (s keysOnly) Near(ctx context.Context, q *stores.Query) ([]stores.Hit, error) {
	if q.All && q.Reach == nil {
		return nil, stores.ErrScan
	}
	return s.Store.Near(ctx, q)
}

// Top is what a comparison with every document finds, from either kind of store,
// with pages that have been added, beyond what a store gives at once.
func TestTop(t *testing.T) {
	if testing.Short() {
		t.Skip("adds nights of many pages")
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 9))
	base := words(1, 150)
	pages := func(n int, of string) map[string][]string {
		all := map[string][]string{}
		for i := range n {
			text := slices.Clone(base)
			for range rng.IntN(60) {
				text[rng.IntN(len(text))] = fmt.Sprint("v", rng.IntN(500))
			}
			all[fmt.Sprint(of, i)] = text
		}
		return all
	}
	first := pages(600, "a")
	addNight(t, dir, "2026-11-01", config.PresetBalanced, first)
	second := pages(600, "b")
	for i := range 200 { // that come again
		second[fmt.Sprint("a", i)] = first[fmt.Sprint("a", i)]
	}
	for i := range 300 { // as near as can be
		second[fmt.Sprint("same", i)] = base
	}
	addNight(t, dir, "2026-11-02", config.PresetBalanced, second)

	type row struct {
		id, night string
		print     uint64
	}
	var rows []row
	l, err := library.Attach(filepath.Join(dir, "lib"), -1)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Rows(context.Background(), library.StreamOptions{}, func(r *data.LibraryRow) error {
		if r.LengthClass == simhash.LengthNormal {
			rows = append(rows, row{string(r.DocID), r.Night, r.Lo})
		}
		return nil
	})
	if err != nil || len(rows) != 1700 {
		t.Fatal(len(rows), err)
	}
	brute := func(print uint64, n int) (want []string) {
		best := map[string]string{}
		for _, r := range rows {
			key := fmt.Sprintf("%03d %s %s", bits.OnesCount64(print^r.print), r.night, r.id)
			best[r.id] = min(cmp.Or(best[r.id], key), key)
		}
		for _, key := range best {
			want = append(want, key)
		}
		slices.Sort(want)
		return want[:min(n, len(want))]
	}
	got := func(a *lookup.Answer) (keys []string) {
		for _, m := range a.Matches {
			keys = append(keys, fmt.Sprintf("%03d %s %s", m.Distance, m.Night, m.ID))
		}
		return keys
	}
	top := func(x *lookup.Index, text []string, n int) *lookup.Answer {
		t.Helper()
		a, err := x.Top(context.Background(), &data.Document{Text: []byte(strings.Join(text, " "))}, n)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	check := func(x *lookup.Index) {
		t.Helper()
		for _, text := range [][]string{base, first["a7"], words(99, 200)} {
			for _, n := range []int{1, 10, 299, 301, 1000} {
				a := top(x, text, n)
				print, err := strconv.ParseUint(a.Fingerprint, 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				if want := brute(print, n); !slices.Equal(got(a), want) {
					i := 0
					for i < min(len(want), len(a.Matches)) && got(a)[i] == want[i] {
						i++
					}
					t.Fatalf("top %d: %d, want %d; from %d on %v, want %v", n, len(a.Matches), len(want), i, got(a)[i:min(i+3, len(a.Matches))], want[i:min(i+3, len(want))])
				}
				for _, m := range a.Matches {
					if is := m.Verdict != data.NotTheSame.String(); m.Estimate == nil || m.Verdict == "" || m.Distance == 0 && !is || *m.Estimate < .3 && is {
						t.Fatalf("%+v", m)
					}
				}
			}
		}
		if a := top(x, first["a7"], 1); a.Matches[0].Nights != 2 || a.Matches[0].LastSeen != "2026-11-02" || !a.Known {
			t.Errorf("%+v", a.Matches[0])
		}
		if a := top(x, words(99, 200), 3); a.Known || len(a.Matches) != 3 {
			t.Errorf("%+v", a)
		}
		if a := top(x, []string{"one"}, 3); a.Known || len(a.Matches) != 0 || a.LengthClass == simhash.LengthNormal {
			t.Errorf("%+v", a)
		}
	}
	check(open(t, dir, lookup.Options{Distance: -1}))
	check(open(t, dir, lookup.Options{Distance: -1, Store: func(dir string, schema stores.Schema) (stores.Store, error) {
		s, err := sorted.Open(filepath.Join(dir, library.Index), schema, sorted.Options{})
		return keysOnly{s}, err
	}}))

	s, _ := startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{})
	for id, text := range map[string][]string{"c1": base, "c2": changed(base, 3), "c3": words(77, 200)} {
		code, all := addTo(t, s.URL, page(id, text))
		if code != http.StatusOK {
			t.Fatal(code)
		}
		print, err := strconv.ParseUint(all[0].Fingerprint, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row{id, lookup.AddedNight, print})
	}
	for _, text := range [][]string{base, words(77, 200)} {
		a := top(s.index, text, 400)
		print, _ := strconv.ParseUint(a.Fingerprint, 16, 64)
		if want := brute(print, 400); !slices.Equal(got(a), want) {
			t.Fatalf("with what has been added: %v, want %v", got(a)[:5], want[:5])
		}
	}
	for query, want := range map[string]int{"?top=3&id=a7": 3, "?id=c3&top=1": 1, "?id=a7&top=0": -1, "?id=a7&top=x": -1, "?id=a7&top=1001": -1} {
		resp, err := http.Get(s.URL + "/lookup" + query)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		var a lookup.Answer
		err = errors.Join(err, json.Unmarshal(body, &a), resp.Body.Close())
		if err != nil || (resp.StatusCode == http.StatusOK) != (want > 0) || want > 0 && len(a.Matches) != want {
			t.Errorf("%s: %d %s %v", query, resp.StatusCode, body, err)
		}
	}
	resp, err := http.Post(s.URL+"/lookup?top=2", "text/plain", strings.NewReader(strings.Join(words(77, 200), " ")))
	if err != nil {
		t.Fatal(err)
	}
	var a lookup.Answer
	if err := errors.Join(json.NewDecoder(resp.Body).Decode(&a), resp.Body.Close()); err != nil || len(a.Matches) != 2 || a.Matches[0].ID != "c3" {
		t.Errorf("%+v, %v", a, err)
	}
}
