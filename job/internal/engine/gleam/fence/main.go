//go:build linux

// Command fence serves the ways into and out of the network namespace of a
// cluster, for scripts/cluster.sh: see the package of that name.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/fence"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("usage: fence inside FOLDER PROXY PORTS | fence outside FOLDER")
	switch {
	case len(os.Args) == 5 && os.Args[1] == "inside":
		err = fence.Inside(ctx, os.Args[2], os.Args[3], os.Args[4])
	case len(os.Args) == 3 && os.Args[1] == "outside":
		err = fence.Outside(ctx, os.Args[2])
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "fence:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}
