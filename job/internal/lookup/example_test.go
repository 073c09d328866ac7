package lookup_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/neardup/neardup/job/internal/lookup"
)

func Example() {
	_, err := lookup.Listen(context.Background(), "0.0.0.0:8080", false)
	fmt.Println(errors.Is(err, lookup.ErrPublic))
	// Output: true
}
