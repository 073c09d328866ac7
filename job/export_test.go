package job

import (
	"path/filepath"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/intake"
	"github.com/neardup/neardup/job/internal/state"
)

// What the tests look at.
var ErrTooManyBad = intake.ErrTooManyBad

// MixSample has the first n documents of the sample of a run go for what stays for
// others of it.
func MixSample(out string, n int) error {
	path := filepath.Join(out, rundir.State, stage.SampledFile)
	pairs, err := state.ReadGob[[]stage.RemovedPair](path, stage.KindSampled)
	if err != nil {
		return err
	}
	for i := range n {
		pairs[i].Kept = pairs[len(pairs)-1-i].Kept
	}
	return state.WriteGob(path, stage.KindSampled, pairs)
}
