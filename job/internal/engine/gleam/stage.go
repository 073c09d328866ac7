//go:build linux

package gleam

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
)

// Names of steps, as specs, failures and progress have them. The flow of a stage
// with a task for each split has one step, of the stage's name.
const (
	stageSegment = "segment"
	stagePartial = "partial"
	stageFinal   = "final"
	stageHistory = corpus.StageHistory
	stageCheck   = "check" // before a flow: it passes no rows
)

// step is what a worker does as one task of a step of a flow: what it receives,
// the step before has sent it.
type step struct {
	// Either of the two is the work. A first step is told the tasks that the
	// driver assigned to it; a later one receives records by w.receive. Both send
	// records by w.send to the next step, or report to the driver.
	first func(ctx context.Context, w *worker, tasks []int) error
	later func(w *worker) error
}

// joinSteps are the steps of the joins.
var joinSteps = map[string]step{
	stageSegment: {first: segment},
	stagePartial: {later: partial},
	stageFinal:   {later: final},
	stageHistory: {first: executing((*worker).historyTasks)},
}

// stepOf returns the work of the step of that name: of a join, or of one of the
// run's stages that have a task for each split.
func stepOf(name string, stages []engine.Stage) (step, error) {
	if name == cluster.Deal {
		return step{later: passOn}, nil
	}
	if s, ok := joinSteps[name]; ok {
		return s, nil
	}
	i := slices.IndexFunc(stages, func(s engine.Stage) bool { return s.Name == name })
	if i < 0 {
		return step{}, fmt.Errorf("no such stage: %q", name)
	}
	return step{first: executing(func(w *worker, ctx context.Context, tasks []int) error {
		return w.executeTasks(ctx, stages[i], tasks)
	})}, nil
}

// setPayload sets what the steps of a spec are told.
func setPayload(s *attempt.Spec, payload any) (err error) {
	s.Payload, err = json.Marshal(payload)
	return err
}

// payload is what the steps of the spec are told.
func payload[T any](s *attempt.Spec) (p T, err error) {
	if err := json.Unmarshal(s.Payload, &p); err != nil {
		return p, fmt.Errorf("spec: %w", err)
	}
	return p, nil
}
