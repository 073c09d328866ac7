//go:build linux

// Command netns carries connections into, out of and between the network namespaces
// of a cluster. scripts/cluster.sh starts it; package netns says how it works.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/netns"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	err := errors.New("usage: netns inside FOLDER PROXY PORTS [HOST:PORT] | netns outside FOLDER [HOST:PORT] | netns check FOLDER")
	switch args := append(os.Args[1:], ""); { // without HOST:PORT of a server no other host has a way to it
	case len(args) > 4 && args[0] == "inside":
		err = netns.Inside(ctx, log, args[1], args[2], args[3], args[4])
	case len(args) > 2 && args[0] == "outside":
		err = netns.Outside(ctx, log, args[1], args[2])
	case len(args) == 3 && args[0] == "check": // prints when the proxy's certificate expires, if it has one
		var until time.Time
		if until, err = netns.Check(args[1]); err == nil && !until.IsZero() {
			fmt.Println(until.Format(time.RFC3339))
		}
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "netns:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}
