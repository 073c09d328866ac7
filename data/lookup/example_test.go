package lookup_test

import (
	"fmt"

	"github.com/neardup/neardup/data/lookup"
)

func ExampleQuery_Apart() {
	q := lookup.Query{Lo: 0b1111}
	fmt.Println(q.Apart(0, 0b1101))
	// Output: 1
}
