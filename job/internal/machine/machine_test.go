package machine_test

import (
	"fmt"
	"testing"

	"github.com/neardup/neardup/job/internal/machine"
)

func Example() {
	fmt.Println(machine.Memory() > 1<<20)
	// Output: true
}

func TestProcessorTimeGrows(t *testing.T) {
	before, x := machine.ProcessorTime(), uint64(1)
	for machine.ProcessorTime() == before {
		for range 1 << 20 {
			x = x*6364136223846793005 + 1
		}
	}
	if after := machine.ProcessorTime(); after < before || x == 0 {
		t.Errorf("%v after %v", after, before)
	}
}
