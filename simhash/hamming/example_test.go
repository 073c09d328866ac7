package hamming_test

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/hamming"
)

// The key of a table brings fingerprints together, and each group is compared.
func ExampleJoiner_Groups() {
	plan, err := hamming.NewPlan(64, 3, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	values := []uint64{0xcafe_0000_0000_0000, 0x1234_0000_0000_0000, 0xcafe_0000_0000_0003}
	var group columns.Grouper[uint64]
	joiner := hamming.NewJoiner[uint64]()
	key := plan.Keys(0)[0]
	grouped, ends := group.Group(values, key, columns.Everything, 1)
	err = joiner.Groups(context.Background(), grouped, ends, 3, func(a, b *uint64, distance int) {
		fmt.Printf("%x and %x share %x, distance %d\n", *a, *b, columns.Masked(*a, key), distance)
	})
	fmt.Println(err)
	// Output:
	// cafe000000000000 and cafe000000000003 share cafe000000000000, distance 2
	// <nil>
}

// This run's fingerprints are indexed, and the library's stream past them.
func ExampleIndex() {
	run, err := columns.Collapse([]uint64{0xcafe, 0x1234_0000_0000_0000, 0xcafe}, 64, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	ix, err := hamming.NewIndex(run, 3, hamming.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	library := []uint64{0xcaff, 0x5555_5555_5555_5555, 0x1234_0000_0000_0007}
	prober := ix.NewProber() // one for each goroutine
	prober.Probe(library, func(i int, at uint32, distance int) {
		fmt.Println("library", i, "documents", run.Members(int(at)), "distance", distance)
	})
	// Unordered output:
	// library 0 documents [0 2] distance 1
	// library 2 documents [1] distance 3
}

// What it takes, by the model, to bring a fingerprint to its groups and to compare
// it there: with the keys of one of four segments, of two of five, of three of
// six, and of the plan that is chosen.
func ExamplePlan_Cost() {
	for _, log := range []int{20, 24, 27, 30, 34} {
		fmt.Printf("2^%d:", log)
		for agree := 1; agree <= 3; agree++ {
			plan, err := hamming.NewPlan(64, 3, agree)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf(" %.0f ns,", plan.Cost(1<<log))
		}
		plan, err := hamming.ChoosePlan(64, 3, 1<<log)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf(" %.0f ns by %v\n", plan.Cost(1<<log), plan)
	}
	// Output:
	// 2^20: 43 ns, 70 ns, 117 ns, 43 ns by 64 bits, k=3: 64/3/1, 4 tables, 4 keys
	// 2^24: 81 ns, 70 ns, 117 ns, 52 ns by 64 bits, k=3: 32/1/2+32/1/2, 4 tables, 6 keys
	// 2^27: 368 ns, 70 ns, 117 ns, 60 ns by 64 bits, k=3: 32/1/2+32/1/2, 4 tables, 6 keys
	// 2^30: 2661 ns, 78 ns, 257 ns, 78 ns by 64 bits, k=3: 64/3/2, 4 tables, 10 keys
	// 2^34: 41995 ns, 319 ns, 357 ns, 153 ns by 64 bits, k=3: 64/3/3/2, 10 tables, 20 keys
}
