package ids_test

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/ids"
	"github.com/neardup/neardup/job/internal/summary"
)

// The summary names the largest clusters by the documents that stay.
func Example() {
	r := &stage.Run{Sum: &summary.Summary{}, Counts: stage.Counts{Largest: []stage.LargestCluster{{ID: "2026-11-22/a", Example: "a", Size: 4}}}}
	err := ids.Done(context.Background(), r, nil)
	fmt.Println(r.Sum.Largest, err)
	// Output: [{2026-11-22/a a 4}] <nil>
}
