package engine

import (
	"fmt"
	"path/filepath"
	"sort"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
)

// placesFile, within the state folder, has the number of the first document of
// each part of the fingerprints.
const placesFile = "places"

const kindPlaces = "neardup places 1"

// WritePlaces writes where documents stand in the fingerprints, for the tables
// that name their rows, and returns the file's name: a split of a run has a
// part, which a match may read in several splits.
func WritePlaces(job *Job, d *Documents) (name string, err error) {
	var b []byte
	for task, s := range job.Splits {
		if task == 0 || job.Manifest.Command != CommandMatch || s.Path != job.Splits[task-1].Path {
			b = state.AppendNumber(b, d.First(task))
		}
	}
	return filepath.Join(rundir.State, placesFile), state.Write(job.Dir.Path(rundir.State, placesFile), kindPlaces, b)
}

// places tell where documents stand in the fingerprints.
type places struct {
	firsts []uint64 // documents of the parts, in order
	part   int      // of the last document that was asked for
}

func readPlaces(dir *rundir.Dir) (*places, error) {
	path := dir.Path(rundir.State, placesFile)
	b, err := state.Read(path, kindPlaces)
	if err == nil && (len(b) == 0 || len(b)%state.NumberBytes != 0) {
		err = fmt.Errorf("%s: %w", path, state.ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	p := new(places)
	for ; len(b) > 0; b = b[state.NumberBytes:] {
		p.firsts = append(p.firsts, state.Number(b))
	}
	return p, nil
}

// row is a document's row in the tables.
func (p *places) row(doc uint64) int64 {
	if doc < p.firsts[p.part] || p.part+1 < len(p.firsts) && doc >= p.firsts[p.part+1] {
		p.part = sort.Search(len(p.firsts), func(i int) bool { return p.firsts[i] > doc }) - 1
	}
	return data.RowNumber(p.part, doc-p.firsts[p.part])
}
