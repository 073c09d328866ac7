package gleam

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/engine/gleam/internal/wire"
)

// Names of the stages, as specs, failures and progress have them.
const (
	stageFingerprint = engine.StageFingerprint
	stageSegment     = "segment"
	stagePartial     = "partial"
	stageFinal       = "final"
	stageEarlier     = engine.StageEarlier
	stageCheck       = "check" // before a flow: it passes no rows
)

// stage is what a worker does under a name. A step of a flow is one stage in
// several tasks; what a task receives, the step before has sent it.
type stage struct {
	name string
	// Either of the two is the work. A first step's stage is told the tasks that
	// the driver assigned to it; a later one receives records by w.receive. Both
	// send by w.send, to the next step or to the driver.
	first func(ctx context.Context, w *worker, tasks []int) error
	later func(w *worker) error
	// collect is how the driver takes what a flow's last stage sends.
	collect func(attempt.Dir, *attempt.Spec) (collector, error)
}

// stages are all stages, in the order of a run.
var stages = []stage{
	{name: attempt.Driver},
	{name: cluster.Deal, later: passOn},
	{name: stageFingerprint, first: fingerprint, collect: collectRecords},
	{name: stageSegment, first: segment},
	{name: stagePartial, later: partial},
	{name: stageFinal, later: final, collect: collectPairs},
	{name: stageEarlier, first: earlier, collect: collectParts},
	{name: stageCheck},
}

// stageOrder is the place of a stage among all, -1 if there is no such stage.
func stageOrder(name string) int {
	return slices.IndexFunc(stages, func(s stage) bool { return s.name == name })
}

// collector takes what the last stage of a flow sends to the driver.
type collector interface {
	// take takes a frame of records, one at a time.
	take(f wire.Frame) error
	// finish is called once the book is closed, with what the senders counted,
	// and returns the payload of the result. An error that wraps
	// wire.ErrIncomplete or wire.ErrFrame says that rows were lost.
	finish(counted uint64) (any, error)
}

// setPayload sets what the stages of a spec are told.
func setPayload(s *attempt.Spec, payload any) (err error) {
	s.Payload, err = json.Marshal(payload)
	return err
}

// payload is what the stages of the spec are told.
func payload[T any](s *attempt.Spec) (p T, err error) {
	if err := json.Unmarshal(s.Payload, &p); err != nil {
		return p, fmt.Errorf("spec: %w", err)
	}
	return p, nil
}
