//go:build linux

package check_test

import (
	"fmt"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
)

// Of very many files a check looks at some.
func ExampleSpread() {
	paths := make([]string, 10_000)
	for i := range paths {
		paths[i] = fmt.Sprintf("crawl/part-%04d", i)
	}
	some := check.Spread(paths)
	fmt.Println(len(some), some[0], some[1], some[len(some)-1])
	// Output: 1000 crawl/part-0000 crawl/part-0010 crawl/part-9990
}
