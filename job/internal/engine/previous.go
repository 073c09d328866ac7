package engine

import (
	"github.com/neardup/neardup/job/internal/earlier"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
)

// EarlierDocument is what the library says of one of this run's documents.
type EarlierDocument struct {
	Doc       uint64
	FirstSeen string         // night in which the library first had the id; "" it had not
	Match     *earlier.Match // best match in an earlier night; nil without one
	Kept      *earlier.Match // the nearest that stayed in its night, which may have the document's own id; nil without one
	Clusters  []string       // of the earlier documents that it matches, as they are today

	First, Last string // nights that have the same under whatever id: the first, the last, and how many
	Nights      int
}

// EarlierByDoc are those of a split, by number; the library knows nothing of
// the others.
type EarlierByDoc map[uint64]*EarlierDocument

const (
	kindEarlier = "neardup earlier 4"
)

// WriteEarlier writes what the library says of the documents of a split.
func WriteEarlier(job *Job, task int, docs []EarlierDocument) (name string, err error) {
	name = rundir.StatePart(EarlierFolder, task)
	return name, state.WriteGob(job.Dir.Path(name), kindEarlier, docs)
}

// ReadEarlier reads what WriteEarlier wrote.
func ReadEarlier(dir *rundir.Dir, task int) (EarlierByDoc, error) {
	docs, err := state.ReadGob[[]EarlierDocument](dir.Path(rundir.StatePart(EarlierFolder, task)), kindEarlier)
	byDoc := make(EarlierByDoc, len(docs))
	for i := range docs {
		byDoc[docs[i].Doc] = &docs[i]
	}
	return byDoc, err
}
