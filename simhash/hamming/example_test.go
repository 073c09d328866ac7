package hamming_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/neardup/neardup/simhash/hamming"
)

func ExampleBest() {
	fps := []uint64{0xcafe, 0x1234_0000_0000_0000, 0xcaff, 0xcafe, 0x5555_5555_5555_5555}
	m, err := hamming.Best(context.Background(), fps, 3, hamming.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for d, match := range m.Match {
		if match == hamming.None {
			fmt.Println(d, "has no match")
			continue
		}
		fmt.Println(d, "matches", match, "at distance", m.Distance[d])
	}
	// Output:
	// 0 matches 3 at distance 0
	// 1 has no match
	// 2 matches 0 at distance 1
	// 3 matches 0 at distance 0
	// 4 has no match
}

// One pass gives the best matches and the clusters.
func ExampleReducer() {
	fps := []uint64{0xf0, 0xf1, 0xf3, 0xf7, 0xffff_0000}
	set, err := hamming.Collapse(fps, hamming.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	best := hamming.NewReducer(set, hamming.Options{})
	root := make([]uint32, set.Len())
	for i := range root {
		root[i] = uint32(i)
	}
	find := func(i uint32) uint32 {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	var mu sync.Mutex
	err = set.Pairs(context.Background(), 1, hamming.Options{}, func(worker int, i, j uint32, distance int) {
		best.Visit(worker, i, j, distance)
		mu.Lock()
		defer mu.Unlock()
		a, b := find(i), find(j)
		root[max(a, b)] = min(a, b)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	matches := best.Matches()
	for i := range set.Len() {
		d := set.Smallest(i)
		if matches.Match[d] == hamming.None {
			fmt.Printf("%x: alone in cluster %x\n", set.Value(i), set.Value(int(find(uint32(i)))))
			continue
		}
		fmt.Printf("%x: best %x, cluster %x\n", set.Value(i), fps[matches.Match[d]], set.Value(int(find(uint32(i)))))
	}
	// Output:
	// f0: best f1, cluster f0
	// f1: best f0, cluster f0
	// f3: best f1, cluster f0
	// f7: best f3, cluster f0
	// ffff0000: alone in cluster ffff0000
}

// A bucket at a time, in any order, every pair is found once.
func ExampleJoiner_Bucket() {
	values := []uint64{0, 1, 0xff00, 0xff03, 0xabcd_0000}
	plan, err := hamming.ChoosePlan(64, 3, 1<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	joiner := hamming.NewJoiner[uint64](hamming.Options{})
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

// Tonight's fingerprints are indexed, and the library's stream past them.
func ExampleIndex() {
	tonight := []uint64{0xcafe, 0x1234_0000_0000_0000, 0xcafe}
	ix, err := hamming.NewIndex(tonight, 3, hamming.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	library := []uint64{0xcaff, 0x5555_5555_5555_5555, 0x1234_0000_0000_0007}
	prober := ix.NewProber() // one for each goroutine
	prober.Probe(library, func(i int, doc uint32, distance int) {
		fmt.Println("library", i, "tonight", doc, "distance", distance)
	})
	// Unordered output:
	// library 0 tonight 0 distance 1
	// library 0 tonight 2 distance 1
	// library 2 tonight 1 distance 3
}
