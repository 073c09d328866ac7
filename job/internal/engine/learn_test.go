package engine

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
)

// Of any input a bounded part is sampled: all of a small one, at most a share of
// a large one, and of its splits some from end to end.
func TestSampled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := &Job{}
		size := rapid.Int64Range(1, 1<<30).Draw(t, "size")
		for range rapid.IntRange(1, 200).Draw(t, "splits") {
			n := rapid.Int64Range(size/2, size).Draw(t, "bytes")
			job.Splits = append(job.Splits, data.Split{Format: source.FormatJSONL, Size: n, End: -1})
		}
		var total, wanted int64
		gap, last := 0, -1
		for task, s := range job.Splits {
			n, of := job.sampled(task)
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
