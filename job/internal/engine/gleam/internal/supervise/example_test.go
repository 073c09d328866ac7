//go:build linux

package supervise_test

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/supervise"
)

// What no further attempt mends is marked; it stays the error that it is.
func ExampleFinal() {
	err := supervise.Final(fmt.Errorf("input: %w", fs.ErrNotExist))
	fmt.Println(err, errors.Is(err, fs.ErrNotExist))
	// Output: input: file does not exist true
}
