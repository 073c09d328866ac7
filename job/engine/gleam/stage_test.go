package gleam

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/rundir"
)

// Each stage of a flow is a worker's in one way, and no name comes twice.
func TestStages(t *testing.T) {
	for i, s := range stages {
		if at := stageOrder(s.name); at != i {
			t.Errorf("%s stands at %d and at %d", s.name, at, i)
		}
		works := s.name != attempt.Driver && s.name != stageCheck
		if one := (s.first != nil) != (s.later != nil); one != works || s.first != nil && s.later != nil {
			t.Errorf("%s: first %t, later %t", s.name, s.first != nil, s.later != nil)
		}
	}
	if at := stageOrder("nonsense"); at >= 0 {
		t.Errorf("nonsense is stage %d", at)
	}
}

// The driver has a result only when each task was reported, once.
func TestCollectRecords(t *testing.T) {
	spec := &attempt.Spec{Assigned: [][]int{{4, 1}, {2}}}
	report := func(c collector, task int) error {
		text, err := json.Marshal(rundir.TaskRecord{Task: task})
		if err != nil {
			t.Fatal(err)
		}
		return c.take(wire.Frame{Payload: text, Records: 1})
	}
	c, err := collectRecords("", spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(report(c, 2), report(c, 4)); err != nil {
		t.Error(err)
	}
	for _, task := range []int{2, 3} {
		if err := report(c, task); !errors.Is(err, wire.ErrFrame) {
			t.Errorf("task %d: %v", task, err)
		}
	}
	if err := c.take(wire.Frame{Payload: []byte("no record")}); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("no record: %v", err)
	}
	if _, err := c.finish(0); !errors.Is(err, wire.ErrIncomplete) {
		t.Errorf("task 1 is missing: %v", err)
	}
	if err := report(c, 1); err != nil {
		t.Error(err)
	}
	if _, err := c.finish(0); err != nil {
		t.Error(err)
	}
}

// The driver has pairs only when all references arrived.
func TestCollectPairs(t *testing.T) {
	const references = 9
	pair := data.Pair{A: 1, B: 2, Distance: 3}
	for _, counted := range []uint64{references, references - 1} {
		dir, spec := attempt.Dir(t.TempDir()), new(attempt.Spec)
		if err := setPayload(spec, matchPayload{Documents: 5, Last: 2, References: references}); err != nil {
			t.Fatal(err)
		}
		c, err := collectPairs(dir, spec)
		if err != nil {
			t.Fatal(err)
		}
		b := appendPair(nil, pair)
		if err := c.take(wire.Frame{Payload: b, Records: 2}); !errors.Is(err, wire.ErrFrame) {
			t.Errorf("one pair for two: %v", err)
		}
		if err := c.take(wire.Frame{Payload: b, Records: 1}); err != nil {
			t.Fatal(err)
		}
		made, err := c.finish(counted)
		if counted < references {
			if !errors.Is(err, wire.ErrIncomplete) || !attempt.Gone(dir.Path(attempt.OutputFile)) {
				t.Errorf("a lost reference: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		err = readPairs(dir.Path(attempt.OutputFile), made.(pairsResult), func(got []data.Pair) error {
			if len(got) != 1 || got[0] != pair {
				t.Errorf("got %v", got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
