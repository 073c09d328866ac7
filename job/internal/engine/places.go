package engine

import (
	"path/filepath"
	"sort"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
)

// placesFile, within the state folder, has the number of the first document of
// each part of the fingerprints.
const placesFile = "places"

const kindPlaces = "neardup places 2"

// WritePlaces writes where documents stand in the fingerprints, for the tables
// that name their rows, and returns the file's name: a split of a run has a
// part, which a match may read in several splits.
func WritePlaces(job *Job, d *Documents) (name string, err error) {
	var firsts []uint64
	for task, s := range job.Splits {
		if task == 0 || job.Manifest.Command != CommandMatch || s.Path != job.Splits[task-1].Path {
			firsts = append(firsts, d.First(task))
		}
	}
	name = filepath.Join(rundir.State, placesFile)
	return name, state.WriteGob(job.Dir.Path(name), kindPlaces, firsts)
}

// places tell where documents stand in the fingerprints.
type places struct {
	firsts []uint64 // documents of the parts, in order
	part   int      // of the last document that was asked for
}

func readPlaces(dir *rundir.Dir) (*places, error) {
	firsts, err := state.ReadGob[[]uint64](dir.Path(rundir.State, placesFile), kindPlaces)
	return &places{firsts: firsts}, err
}

// row is a document's row in the tables.
func (p *places) row(doc uint64) int64 {
	if doc < p.firsts[p.part] || p.part+1 < len(p.firsts) && doc >= p.firsts[p.part+1] {
		p.part = sort.Search(len(p.firsts), func(i int) bool { return p.firsts[i] > doc }) - 1
	}
	return data.RowNumber(p.part, doc-p.firsts[p.part])
}
