package counting

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
)

// Every key that came more than once is repeated, whatever the memory; of those
// that came once few are, where there is memory; and Candidates counts both.
func TestFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	keys := make([]uint64, 100_000)
	for i := range keys {
		if keys[i] = r.Uint64() << r.IntN(64); i%20 == 19 {
			keys[i] = keys[r.IntN(i)]
		}
	}
	came := map[uint64]int{}
	for _, k := range keys {
		came[k]++
	}
	for _, memory := range []int64{0, 1 << 10, 1 << 16, 1 << 30} {
		seen := New(uint64(len(keys)), memory)
		var all sync.WaitGroup
		for half := range 2 {
			all.Go(func() {
				err := seen.Add(func(yield func(_, key uint64)) error {
					for i := half; i < len(keys); i += 2 {
						yield(0, keys[i])
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		candidates, once, left := 0, 0, maps.Clone(came)
		err := seen.Repeated(func(yield func(doc, key uint64)) error {
			for i, k := range keys {
				yield(uint64(i), k)
			}
			return nil
		}, func(doc, key uint64) {
			if keys[doc] != key {
				t.Fatalf("key %d for document %d", key, doc)
			}
			candidates++
			if left[key]--; came[key] == 1 {
				once++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for k, n := range left {
			if n > 0 && came[k] > 1 {
				t.Fatalf("%d bytes: %d came %d times, and is not repeated", memory, k, came[k])
			}
		}
		if got := seen.Candidates(); got != uint64(candidates) {
			t.Errorf("%d bytes: candidates %d, want %d", memory, got, candidates)
		}
		if memory == 1<<30 && once > len(keys)/10 {
			t.Errorf("%d of %d keys are repeated that came once", once, len(keys))
		}
		if size := int64(len(seen.words) * 8); size > max(memory, 8*stripes) {
			t.Errorf("%d bytes for a limit of %d", size, memory)
		}
	}
}

func Example() {
	scan := func(yield func(doc, key uint64)) error {
		for doc, key := range []uint64{7, 8, 9, 8} {
			yield(uint64(doc), key)
		}
		return nil
	}
	f := New(4, 1<<20)
	err := f.Add(scan)
	if err == nil {
		err = f.Repeated(scan, func(doc, key uint64) { fmt.Println("document", doc, "may share", key) })
	}
	fmt.Println(err)
	// Output:
	// document 1 may share 8
	// document 3 may share 8
	// <nil>
}
