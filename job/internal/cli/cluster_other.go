//go:build !linux

package cli

import (
	"errors"
	"io"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
)

// clusterMain does nothing: no cluster starts this program.
func clusterMain([]string, io.Reader, io.Writer) (code int, ours bool) { return 0, false }

// newCluster returns an error: a gleam cluster is of Linux machines.
func newCluster(config.Execution) (engine.Engine, error) {
	return nil, usageError{errors.New("--engine gleam: this program was built for another system, and a gleam cluster needs Linux; run it on the cluster's machines, or here with --engine local")}
}

// readFlow finds no flow.
func readFlow(string) ([]flowStatus, error) { return nil, nil }
