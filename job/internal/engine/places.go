package engine

import (
	"path/filepath"
	"sort"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
)

// placesFile, in the state folder, holds the number of the first document of
// each part of the fingerprints table.
const placesFile = "places"

const kindPlaces = "neardup places 2"

// WritePlaces writes the number of the first document of each part of the
// fingerprints, and returns the name of the file within the run directory. The
// stage write needs them to name rows of the fingerprints table. In a run each
// split has one part; in a match several splits may read one part.
func WritePlaces(job *Job, d *Documents) (name string, err error) {
	var firsts []uint64
	for task, s := range job.Splits {
		if task == 0 || job.Manifest.Command != rundir.CommandMatch || s.Path != job.Splits[task-1].Path {
			firsts = append(firsts, d.First(task))
		}
	}
	name = filepath.Join(rundir.State, placesFile)
	return name, state.WriteGob(job.Dir.Path(name), kindPlaces, firsts)
}

// places translates document numbers into rows of the fingerprints table. Not
// safe for concurrent use.
type places struct {
	firsts []uint64 // first document of each part, ascending
	part   int      // part of the last document asked for, where the next search starts
}

func readPlaces(dir *rundir.Dir) (*places, error) {
	firsts, err := state.ReadGob[[]uint64](dir.Path(rundir.State, placesFile), kindPlaces)
	return &places{firsts: firsts}, err
}

// row returns the row number by which tables refer to a document.
func (p *places) row(doc uint64) int64 {
	if doc < p.firsts[p.part] || p.part+1 < len(p.firsts) && doc >= p.firsts[p.part+1] {
		p.part = sort.Search(len(p.firsts), func(i int) bool { return p.firsts[i] > doc }) - 1
	}
	return data.RowNumber(p.part, doc-p.firsts[p.part])
}
