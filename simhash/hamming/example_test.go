package hamming_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/neardup/neardup/simhash/hamming"
)

// Identical documents are collapsed, and the pairs of the distinct
// fingerprints are found once.
func ExampleSet_Pairs() {
	fps := []uint64{0xcafe, 0x1234_0000_0000_0000, 0xcaff, 0xcafe, 0x5555_5555_5555_5555}
	set, err := hamming.Collapse(fps, hamming.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var mu sync.Mutex // workers call at the same time
	err = set.Pairs(context.Background(), 3, hamming.Options{}, func(_ int, i, j uint32, distance int) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println("documents", set.Members(int(i)), "and", set.Members(int(j)), "at distance", distance)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// documents [0 3] and [2] at distance 1
}

// A bucket at a time, in any order, every pair is found once.
func ExampleJoiner_Bucket() {
	values := []uint64{0, 1, 0xff00, 0xff03, 0xabcd_0000}
	plan, err := hamming.ChoosePlan(64, 3, 1<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	joiner := hamming.NewJoiner[uint64]()
	pairs := 0
	for table := range plan.Tables() {
		buckets := map[uint64][]uint64{} // in a job: files, by some of the bits
		for _, v := range values {
			b := hamming.Block(plan, table, v)
			buckets[b] = append(buckets[b], v)
		}
		for _, bucket := range buckets {
			if err := joiner.Bucket(plan, table, bucket, func(_, _ uint64, _ int) { pairs++ }); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	fmt.Println(pairs, "pairs")
	// Output:
	// 2 pairs
}

// This run's fingerprints are indexed, and the library's stream past them.
func ExampleIndex() {
	run := []uint64{0xcafe, 0x1234_0000_0000_0000, 0xcafe}
	ix, err := hamming.NewIndex(run, 3, hamming.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	library := []uint64{0xcaff, 0x5555_5555_5555_5555, 0x1234_0000_0000_0007}
	prober := ix.NewProber() // one for each goroutine
	prober.Probe(library, func(i int, doc uint32, distance int) {
		fmt.Println("library", i, "document", doc, "distance", distance)
	})
	// Unordered output:
	// library 0 document 0 distance 1
	// library 0 document 2 distance 1
	// library 2 document 1 distance 3
}
