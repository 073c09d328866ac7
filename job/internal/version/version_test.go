package version_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/neardup/neardup/job/internal/version"
)

func TestVersionHasThreeNumbers(t *testing.T) {
	var a, b, c int
	if n, err := fmt.Sscanf(version.Version, "%d.%d.%d", &a, &b, &c); n != 3 || err != nil {
		t.Fatalf("%q: %v", version.Version, err)
	}
}

func Example() {
	fmt.Println(strings.Count(version.Version, "."))
	// Output: 2
}
