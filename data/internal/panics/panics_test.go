package panics_test

import (
	"fmt"

	"github.com/neardup/neardup/data/internal/panics"
)

func ExampleAsError() {
	fmt.Println(panics.AsError(func() error { panic("no such column") }))
	// Output: arrow: no such column
}
