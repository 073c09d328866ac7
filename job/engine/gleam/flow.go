package gleam

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/chrislusf/gleam/distributed/plan"
	"github.com/chrislusf/gleam/flow"
	"github.com/chrislusf/gleam/gio"
	"github.com/chrislusf/gleam/pb"
)

// Plan is how many tasks each step of the match flow has, and whether steps
// run one after the other with their rows on the agents' disks.
type Plan struct {
	Sources  int // tasks of the segment map
	Partials int // tasks of the partial reduce
	Finals   int // tasks of the final reduce
	OnDisk   bool
}

// minTasks is the least number of tasks of a step: gleam's partitioning into
// one shard does not gather it.
const minTasks = 2

// build makes the flow of an attempt, whose rows end in output.
func (s *spec) build(output func(io.Reader) error) *flow.Flow {
	fc := flow.New("neardup")
	fc.HashCode = s.Hash
	name := func(id stageID) (string, gio.MapperId) { return id.String(), gio.MapperId(id.String()) }
	d := fc.Source("tasks", func(out io.Writer, _ *pb.InstructionStat) error { return s.assign(out) }).Map(name(stageDeal))
	if lanes, stage := s.dealt(); stage != 0 {
		d = d.PartitionByKey("tasks", len(lanes)).Map(name(stage))
	} else {
		d = d.PartitionByKey("tasks", s.Sources).Map(name(stageSegment)).
			PartitionByKey("keys", s.Partials).Map(name(stagePartial)).
			PartitionByKey("entries", s.Finals).Map(name(stageFinal))
	}
	d.Output(output)
	for _, step := range fc.Steps {
		if step.IsGoCode {
			step.Command.Path = shipped
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

// slots is how many executors the flow needs at once.
func (s *spec) slots() int {
	if s.OnDisk {
		return 1
	}
	groups, _ := plan.GroupTasks(s.build(nil))
	n := 0
	for _, g := range groups {
		if !g.Steps[0].IsOnDriverSide {
			n += len(g.TaskGroups)
		}
	}
	return n
}

// assign writes each first worker's tasks and ends it.
func (s *spec) assign(out io.Writer) error {
	w := newRowWriter(out)
	lanes, stage := s.dealt()
	if stage == 0 {
		lanes = make([][]int, s.Sources)
	}
	for to, tasks := range lanes {
		var a account
		f := frame{kind: kindData, stage: stageDriver, attempt: s.Attempt, to: uint32(to), records: uint32(len(tasks))}
		for _, t := range tasks {
			f.payload = binary.LittleEndian.AppendUint32(f.payload, uint32(t))
		}
		b, sum := f.encode()
		a.add(f.records, sum)
		if err := w.write(f.to, b); err != nil {
			return fmt.Errorf("tasks: %w", err)
		}
		f.kind, f.records, f.payload = kindEnd, 0, a.append(nil, 0)
		b, _ = f.encode()
		if err := w.write(f.to, b); err != nil {
			return fmt.Errorf("tasks: %w", err)
		}
	}
	return w.flush()
}
