//go:build linux

package gleam

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/guard"
)

// Main is what a program that uses the engine calls first, with its arguments
// without the program's name: when the process is one that the engine or
// gleam started (driver, worker, guard), Main does its work and ours is true:
// the caller then exits with code. Else it does nothing. stages are those with a
// task for each split, which a worker knows by their names.
func Main(args []string, stages []engine.Stage, stdin io.Reader, stderr io.Writer) (code int, ours bool) {
	if len(args) == 0 || !strings.HasPrefix(args[0], attempt.Prefix) {
		return 0, false
	}
	collectLater()
	log := slog.New(slog.NewTextHandler(stderr, nil))
	p, err := attempt.ParseProcess(args)
	if err == nil {
		switch {
		case p.Cluster != "":
			err = cluster.Print(context.Background(), p.Cluster, stderr)
		case p.Guard.Folder != "":
			err = guard.Run(p.Dir, p.Guard)
		case p.Check != "":
			err = check.Run(p.Dir, p.Check, func(s *attempt.Spec) error {
				return inject(&worker{Reporter: attempt.Reporter{Stage: stageCheck}, spec: s}, early)
			})
		case p.Stage != "":
			err = work(p, stages, stdin, log)
		default:
			err = runDriver(p.Dir)
		}
	}
	switch {
	case err == nil:
		return 0, true
	case p.Cluster != "":
		_, _ = fmt.Fprintln(stderr, "neardup:", err) // to a user, at a terminal
	default:
		log.Error("gleam", "error", err)
	}
	return 1, true
}

// collectLater restores Go's default garbage collection, which the launcher
// turned off, once the heap has grown: what the program's libraries allocate as
// they start is most of a small flow's heap, and stays in use.
func collectLater() {
	const (
		byDefault = 100
		first     = 160 << 20 / (4 << 20) * byDefault // in percent of the least heap of Go's collector, 4 MiB
	)
	debug.SetGCPercent(first)
	runtime.SetFinalizer(new([64]byte), func(*[64]byte) { debug.SetGCPercent(byDefault) })
}

// work runs a worker. Rows have standard output to themselves: whatever else
// is printed goes to standard error.
func work(p attempt.Process, stages []engine.Stage, stdin io.Reader, log *slog.Logger) error {
	parent := os.Getppid()
	fd, err := syscall.Dup(syscall.Stdout)
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	syscall.CloseOnExec(fd)
	if err := syscall.Dup3(syscall.Stderr, syscall.Stdout, 0); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	rows := os.NewFile(uintptr(fd), "rows")
	w, err := newWorker(p, stages, stdin, rows, log)
	if err != nil {
		return err
	}
	if err := guard.Start(p.Dir); err != nil {
		log.Warn("no guard stands by this worker", "error", err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		w.Beat(parent, stop)
	}()
	w.run(context.Background())
	err = rows.Close()
	close(stop)
	<-stopped
	return err
}
