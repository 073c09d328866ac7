//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/chrislusf/gleam/distributed"
	"github.com/chrislusf/gleam/distributed/plan"
	"github.com/chrislusf/gleam/flow"
	"github.com/chrislusf/gleam/gio"
	"github.com/chrislusf/gleam/pb"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
)

// Deal is the stage before the first step: gleam scatters the driver's rows
// only behind a worker that stands on an agent.
const Deal = "deal"

// MinTasks is the least number of tasks of a step: gleam's partitioning into
// one shard does not gather it.
const MinTasks = 2

// build makes the flow of an attempt: source writes the driver's rows, which
// Deal passes on to the tasks of the first step, and output reads those of each
// task of the last.
func build(s *attempt.Spec, source func(io.Writer) error, output func(io.Reader) error) *flow.Flow {
	fc := flow.New("neardup")
	fc.HashCode = s.Hash
	name := func(stage string) (string, gio.MapperId) { return stage, gio.MapperId(stage) }
	d := fc.Source("tasks", func(out io.Writer, _ *pb.InstructionStat) error { return source(out) }).Map(name(Deal))
	for _, step := range s.Steps {
		d = d.PartitionByKey("for "+step.Stage, step.Tasks).Map(name(step.Stage))
	}
	d.Output(output)
	for _, step := range fc.Steps {
		if step.IsGoCode {
			step.Command.Path = attempt.Shipped
		}
	}
	if s.OnDisk {
		for _, ds := range fc.Datasets {
			if !ds.Step.IsOnDriverSide { // gleam waits for ever for its own end
				ds.Meta.OnDisk = flow.ModeOnDisk
			}
		}
	}
	return fc
}

// Run executes the flow from the driver's process, on the spec's agents, and
// returns when all executors have ended, which says nothing of how it went. What
// gleam does then, with waits of 50 ms between, is left undone where the rows are
// in memory: guards remove the flow's files, and agents forget its channels within a day.
func Run(dir attempt.Dir, s *attempt.Spec, source func(io.Writer) error, output func(io.Reader) error) error {
	os.Args[0] = dir.Path(attempt.Launcher) // gleam ships this file
	gio.HasInitalized = true
	broker, ended, stop, err := startBroker(s.Agents)
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	defer stop()
	if s.OnDisk {
		ended = nil
	}
	tidied := make(chan struct{})
	go func() {
		defer close(tidied)
		build(s, source, output).RunContext(context.Background(), distributed.Option().SetMaster(broker))
	}()
	select {
	case <-ended:
	case <-tidied:
	}
	return nil
}

// Slots is how many executors the attempt's flow needs at once.
func Slots(s *attempt.Spec) int {
	if s.OnDisk {
		return 1
	}
	groups, _ := plan.GroupTasks(build(s, nil, nil))
	n := 0
	for _, g := range groups {
		if !g.Steps[0].IsOnDriverSide {
			n += len(g.TaskGroups)
		}
	}
	return n
}

// Drop makes an agent drop all that it holds of the attempt's flow: what waits
// there for rows comes to its end.
func Drop(ctx context.Context, s *attempt.Spec, address string) error {
	return withAgent(address, func(client pb.GleamAgentClient) (err error) {
		for _, d := range build(s, nil, nil).Datasets {
			for _, shard := range d.Shards {
				if cerr := endChannel(ctx, address, shard.Name(), d.GetIsOnDiskIO()); cerr != nil {
					err = errors.Join(err, fmt.Errorf("channel %s: %w", shard.Name(), cerr))
				}
				if d.GetIsOnDiskIO() { // ending the channel made its file anew
					if _, derr := client.Delete(ctx, &pb.DeleteDatasetShardRequest{Name: shard.Name()}); derr != nil {
						return errors.Join(err, derr)
					}
				}
			}
		}
		_, cerr := client.Cleanup(ctx, &pb.CleanupRequest{FlowHashCode: s.Hash})
		return errors.Join(err, cerr)
	})
}
