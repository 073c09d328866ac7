//go:build linux

package gleam

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
)

// Names of the stages, as specs, failures and progress have them.
const (
	stageSegment = "segment"
	stagePartial = "partial"
	stageFinal   = "final"
	stageEarlier = engine.StageEarlier
	stageCheck   = "check" // before a flow: it passes no rows
)

// stage is what a worker does under a name. A step of a flow is one stage in
// several tasks; what a task receives, the step before has sent it.
type stage struct {
	name string
	// Either of the two is the work. A first step's stage is told the tasks that
	// the driver assigned to it; a later one receives records by w.receive. Both
	// send records by w.send to the next step, or report to the driver.
	first func(ctx context.Context, w *worker, tasks []int) error
	later func(w *worker) error
}

// stages are all stages, in the order of a run.
var stages = []stage{
	{name: attempt.Driver},
	{name: cluster.Deal, later: passOn},
	{name: engine.StageLearn, first: executing((*worker).executeTasks)},
	{name: engine.StageFingerprint, first: executing((*worker).executeTasks)},
	{name: engine.StageRead, first: executing((*worker).executeTasks)},
	{name: stageSegment, first: segment},
	{name: stagePartial, later: partial},
	{name: stageFinal, later: final},
	{name: stageEarlier, first: executing((*worker).earlierTasks)},
	{name: engine.StageTexts, first: executing((*worker).executeTasks)},
	{name: engine.StageWrite, first: executing((*worker).executeTasks)},
	{name: stageCheck},
}

// stageOrder is the place of a stage among all, -1 if there is no such stage.
func stageOrder(name string) int {
	return slices.IndexFunc(stages, func(s stage) bool { return s.name == name })
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
