//go:build linux

package gleam

import (
	"errors"
	"os"
	"testing"

	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/state/views"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// Every band that documents share is sent, of the others few are, and
// references counts what is sent: whatever a task's range is.
func TestSharedBands(t *testing.T) {
	dir, cfg := openRun(t), config.Default()
	documents := writeViews(t, dir, cfg, plantedtest.Alike(4000))
	p, err := newPacking(cfg, method.Rule(cfg.Match), []uint64{documents.Len()})
	if err != nil {
		t.Fatal(err)
	}
	counted, kept, err := p.references(t.Context(), &engine.Job{Config: cfg, Dir: dir}, documents)
	if err != nil {
		t.Fatal(err)
	}

	of := map[uint64]int{} // documents, by key
	var all []data.Posting
	err = documents.Each(t.Context(), 0, documents.Len(), p.columns(), func(doc uint64, r *views.Row) error {
		return p.keys.Postings(0, p.tables, &r.View, doc, func(r data.Posting) error {
			of[r.Key]++
			all = append(all, r)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{spec: &attempt.Spec{Run: dir.Path()}}
	n := documents.Len()
	sent, single, alone := make([]uint64, p.tables), 0, 0
	for _, bounds := range [][2]uint64{{0, 1}, {1, n / 7}, {n / 7, n / 2}, {n / 2, n / 2}, {n / 2, n}} {
		first, last := bounds[0], bounds[1]
		shared, err := w.sharedBands(p, documents, first, last)
		if err != nil || uint64(len(shared)) != last-first {
			t.Fatal(len(shared), err)
		}
		for _, r := range all {
			if r.Doc < first || r.Doc >= last {
				continue
			}
			band, ok := p.band(r.Key)
			is := !ok || shared[r.Doc-first]>>band&1 != 0
			if is {
				sent[simhash.Key(r.Key).Table()]++
			}
			switch {
			case of[r.Key] > 1 && !is:
				t.Fatalf("document %d: band %d is shared by %d, and not sent", r.Doc, band, of[r.Key])
			case ok && of[r.Key] == 1:
				alone++
				if is {
					single++
				}
			}
		}
	}
	for table := range sent {
		if sent[table] != counted[table] {
			t.Errorf("table %d: %d references are sent, %d were counted", table, sent[table], counted[table])
		}
	}
	left := uint64(0)
	for _, n := range kept {
		left += n
	}
	if left != uint64(alone-single) {
		t.Errorf("%d references are left out, want %d", left, alone-single)
	}
	if alone < int(n)*sketch.Bands/2 || single > alone/10 {
		t.Errorf("%d of %d bands that one document has are sent", single, alone)
	}

	if err := os.WriteFile(bandsPath(dir, 2), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.sharedBands(p, documents, n/2, n); !errors.Is(err, state.ErrDamaged) {
		t.Errorf("of a damaged file: %v", err)
	}
}
