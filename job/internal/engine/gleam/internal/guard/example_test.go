//go:build linux

package guard_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/guard"
)

// A flow that left its folder behind is cleared by its name.
func ExampleClear() {
	agent, err := os.MkdirTemp("", "agent")
	if err != nil {
		fmt.Println(err)
		return
	}
	folder := filepath.Join(agent, "3735928559")
	if err := os.WriteFile(filepath.Join(agent, "f3735928559-d1-s0.dat"), []byte("rows"), 0o600); err != nil {
		fmt.Println(err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		fmt.Println(err)
	}
	fmt.Println(guard.Clear("3735928559", folder))
	_, err = os.Stat(folder)
	left, _ := os.ReadDir(agent)
	fmt.Println(errors.Is(err, fs.ErrNotExist), len(left), os.Remove(agent))
	// Output:
	// <nil>
	// true 0 <nil>
}
