package engine

import (
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
)

// HistoryDocument is what the library says of one of this run's documents.
type HistoryDocument struct {
	Doc       uint64
	FirstSeen string         // night in which the library first had the id; "" it had not
	Match     *history.Match // best match in an earlier night; nil without one
	Kept      *history.Match // the nearest that stayed in its night, which may have the document's own id; nil without one
	Clusters  []string       // of the earlier documents that it matches, as they are today

	First, Last string // nights that have the same under whatever id: the first, the last, and how many
	Nights      int
}

// HistoryByDocument are those of a split, by number; the library knows nothing of
// the others.
type HistoryByDocument map[uint64]*HistoryDocument

const (
	kindHistory = "neardup history 5"
)

// WriteHistory writes what the library says of the documents of a split.
func WriteHistory(job *Job, task int, docs []HistoryDocument) (name string, err error) {
	name = rundir.StatePart(historyFolder, task)
	return name, state.WriteGob(job.Dir.Path(name), kindHistory, docs)
}

// ReadHistory reads what WriteHistory wrote.
func ReadHistory(dir *rundir.Dir, task int) (HistoryByDocument, error) {
	docs, err := state.ReadGob[[]HistoryDocument](dir.Path(rundir.StatePart(historyFolder, task)), kindHistory)
	byDoc := make(HistoryByDocument, len(docs))
	for i := range docs {
		byDoc[docs[i].Doc] = &docs[i]
	}
	return byDoc, err
}
