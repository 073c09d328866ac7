package columns_test

import (
	"fmt"

	"github.com/neardup/neardup/simhash/columns"
)

// Equal postings are one posting list.
func ExampleCollapse() {
	lists, err := columns.Collapse([]uint64{0xcafe, 7, 0xcafe}, 64, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, value := range lists.Values() {
		fmt.Printf("%x %v\n", value, lists.Members(i))
	}
	// Output:
	// 7 [1]
	// cafe [0 2]
}
