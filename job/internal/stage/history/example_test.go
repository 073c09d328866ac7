package history_test

import (
	"fmt"
	"os"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/stage/history"
)

// A library that does not exist yet lacks every night.
func ExampleGone() {
	dir, err := os.MkdirTemp("", "history")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	c := config.Default()
	c.Library.Path, c.Library.Night = dir, "2026-11-22"
	fmt.Println(history.Gone(c))
	// Output: true
}
