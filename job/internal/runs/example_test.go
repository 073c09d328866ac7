package runs_test

import (
	"fmt"

	"github.com/neardup/neardup/job/internal/runs"
)

func Example() {
	_, _, err := runs.Settings("no-such-run")
	fmt.Println(err)
	// Output: no-such-run is not a run directory: name the folder that neardup run --out made
}
