package boilerplate

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
)

// Of any input a bounded part is sampled: all of a small one, at most a share of
// a large one, and of its splits some from end to end.
func TestSampled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := &engine.Job{}
		if night := rapid.IntRange(0, 9).Draw(t, "night"); night > 0 {
			job.Config.Library = config.Library{Path: "lib", Night: fmt.Sprintf("2026-11-%02d", night)}
		}
		size := rapid.Int64Range(1, 1<<30).Draw(t, "size")
		for range rapid.IntRange(1, 200).Draw(t, "splits") {
			n := rapid.Int64Range(size/2, size).Draw(t, "bytes")
			job.Splits = append(job.Splits, data.Split{Format: source.FormatJSONL, Size: n, End: -1})
		}
		var total, wanted int64
		gap, last := 0, -1
		for task, s := range job.Splits {
			n, of := samplingOf(job).of(job.Splits, task)
			if of != s.Size || n < 0 || n > of {
				t.Fatalf("%d of %d bytes of a split of %d", n, of, s.Size)
			}
			if n > 0 {
				gap, last = max(gap, task-last), task
			}
			total, wanted = total+of, wanted+n
		}
		switch {
		case total <= learnLeast && wanted != total:
			t.Fatalf("%d of %d bytes", wanted, total)
		case wanted > max(2*total/learnShare, 2*learnLeast) || wanted < min(total, learnLeast)/4:
			t.Fatalf("%d of %d bytes", wanted, total)
		case gap > 2*len(job.Splits)/max(1, int(wanted/learnSplit/4))+1:
			t.Fatalf("%d splits in a row are passed over, %d bytes are read", gap, wanted)
		}
	})
}

// Nights read other splits each, and a run without a library those of before.
func TestNightsSampleOtherSplits(t *testing.T) {
	sampled := func(l config.Library) (tasks map[int]bool) {
		job := &engine.Job{Splits: make([]data.Split, 64)}
		job.Config.Library, tasks = l, map[int]bool{}
		for task := range job.Splits {
			job.Splits[task] = data.Split{Format: source.FormatJSONL, Size: 1 << 19, End: -1}
		}
		for task := range job.Splits {
			if n, _ := samplingOf(job).of(job.Splits, task); n > 0 {
				tasks[task] = true
			}
		}
		return tasks
	}
	alone := sampled(config.Library{Night: "2026-11-20"})
	if !alone[0] || len(alone) < 8 || len(alone) > 16 {
		t.Fatalf("without a library: %v", alone)
	}
	all := map[int]bool{}
	for night := range 20 {
		tonight := sampled(config.Library{Path: "lib", Night: fmt.Sprintf("2026-11-%02d", night+1)})
		if len(tonight) < len(alone)-1 || len(tonight) > len(alone)+1 {
			t.Errorf("%d splits are sampled in a night, %d without a library", len(tonight), len(alone))
		}
		maps.Copy(all, tonight)
	}
	if len(all) < 48 {
		t.Errorf("twenty nights sample %d of 64 splits", len(all))
	}
}
