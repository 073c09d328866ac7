package spill_test

import (
	"fmt"
	"os"

	"github.com/neardup/neardup/job/internal/state/spill"
)

// Words are dealt by their length, then each bucket is read in order.
func Example() {
	buckets := spill.New(8, spill.Options{Dir: os.TempDir(), Head: 1, Tail: true})
	dealer := buckets.Dealer()
	for _, word := range []string{"pear", "fig", "plum", "date", "kiwi"} {
		if err := dealer.Put(len(word), []byte(word[:1]), []byte(word[1:])); err != nil {
			fmt.Println(err)
		}
	}
	if err := dealer.Flush(); err != nil {
		fmt.Println(err)
	}
	for i := range 8 {
		err := buckets.Sorted(i, func(head, tail []byte) error {
			fmt.Printf("%d %s%s\n", i, head, tail)
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(buckets.Close())
	// Output:
	// 3 fig
	// 4 date
	// 4 kiwi
	// 4 pear
	// 4 plum
	// <nil>
}
