package local

import (
	"context"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

// In memory and by way of the disk the same is counted of each table, and of the
// segments what the definition says: a posting for each document, the largest group
// before and after equal fingerprints are one.
func TestTablesAreCounted(t *testing.T) {
	for _, bits := range []int{64, 128} {
		cfg := config.Default()
		cfg.Features.Bits, cfg.Match.Containment = bits, 0.8
		documents := plantedtest.Views(1500, bits)
		for i := range 300 { // a hot fingerprint of documents that differ, and a hot key
			hot := documents[i]
			hot.Hi, hot.Lo, hot.Length, hot.Normal = 0, 0xabcd<<48, uint32(1000+i), true
			if i%4 == 0 {
				hot.Lo |= uint64(i + 1)
			}
			documents = append(documents, hot)
		}
		dir := openRun(t)
		d := written(t, dir, cfg, 3, documents)
		var want []rundir.TableCount
		for _, w := range []struct {
			workers int
			memory  string
		}{{1, "1GiB"}, {3, "1GiB"}, {2, "100KiB"}} {
			cfg.Execution.Memory = w.memory
			job := newJob(cfg, dir)
			if err := New(w.workers).Match(context.Background(), job, d, func([]data.Pair) error { return nil }); err != nil {
				t.Fatal(err)
			}
			got := slices.Clone(job.Tables)
			for i := range got {
				switch {
				case i < 4: // the disk's buckets are others, and its candidates are those that it reads
					got[i].Compared, got[i].Candidates = 0, 0
				case got[i].Table == mapper.Tables[mapper.Samples].Name: // in memory a pair is looked at once, on disk for every value that the two share
					got[i].Candidates, got[i].Pairs = 0, 0
				}
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d bits, %+v: %+v, want %+v", bits, w, got, want)
			}
		}
		checkSegments(t, d, cfg, want)
	}
}

// checkSegments counts the segment tables anew, a document at a time.
func checkSegments(t *testing.T, documents *corpus.Documents, cfg config.Config, counts []rundir.TableCount) {
	t.Helper()
	layout, err := simhash.ChooseLayout(cfg.Features.Bits, cfg.Match.Distance, documents.Len())
	if err != nil {
		t.Fatal(err)
	}
	reduced := 0
	for table := range layout.Tables() {
		want := rundir.TableCount{Table: layout.Prefix(table)}
		mapped, left, entries := map[simhash.Key]int64{}, map[simhash.Key]int64{}, map[simhash.Fingerprint]bool{}
		err := documents.Each(t.Context(), 0, documents.Len(), 0, func(_ uint64, r *views.Row) error {
			f := simhash.Fingerprint{Hi: r.View.Hi, Lo: r.View.Lo}
			key, _ := layout.Key(table, f)
			if !r.View.Normal {
				return nil
			}
			if !entries[f] {
				left[key]++
			}
			entries[f] = true
			mapped[key]++
			want.Postings++
			want.LargestMapped, want.Largest = max(want.LargestMapped, mapped[key]), max(want.Largest, left[key])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want.Keys, want.PostingLists = int64(len(mapped)), int64(len(entries))
		got := counts[table]
		if wide := layout.KeyBits(table) > 16; wide && got.Keys <= want.Keys && got.LargestMapped >= want.LargestMapped && got.Largest >= want.Largest {
			want.Keys, want.LargestMapped, want.Largest = got.Keys, got.LargestMapped, got.Largest // a hash counts some keys together
		}
		got.Compared = 0
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if want.LargestMapped > 2*want.Largest {
			reduced++
		}
	}
	if reduced < 2 {
		t.Errorf("in %d tables the reduces make the largest group smaller: the test shows nothing", reduced)
	}
}
