package stage_test

import (
	"fmt"

	"github.com/neardup/neardup/job/internal/stage"
)

func Example() {
	counts := map[string]int64{"normal": 2}
	stage.AddCounts(counts, map[string]int64{"normal": 1, "short": 4})
	fmt.Println(counts)
	// Output: map[normal:3 short:4]
}
