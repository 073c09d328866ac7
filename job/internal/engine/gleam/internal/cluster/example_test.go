//go:build linux

package cluster_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
)

// A cluster that is not there is an error that says so.
func ExampleAgents() {
	_, err := cluster.Agents(context.Background(), "127.0.0.1:1")
	fmt.Println(errors.Is(err, cluster.ErrNotReady))
	// Output: true
}
