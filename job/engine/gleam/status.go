package gleam

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/job/rundir"
)

// Status returns what the workers of the flow under way in the run directory
// at path last told, in order of stage and task: from any host that sees the
// directory, and without a lock. It is empty when no flow runs.
func Status(path string) ([]Progress, error) {
	folders, err := filepath.Glob(filepath.Join(path, rundir.Scratch, "gleam-*"))
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	var all []Progress
	for _, f := range folders {
		all = append(all, readProgress(attemptDir(f).workers())...)
	}
	slices.SortFunc(all, func(a, b Progress) int {
		x, _ := stageOf(a.Stage)
		y, _ := stageOf(b.Stage)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.Task, b.Task))
	})
	return all, nil
}
