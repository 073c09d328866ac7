package engine

import (
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
)

// HistoryDocument is what the library knows of one of this run's documents.
type HistoryDocument struct {
	Doc       uint64
	FirstSeen string         // first night that had the document's id; "" if none had
	Match     *history.Match // best match in an earlier night, under another id; nil without one
	Kept      *history.Match // best match among documents that were kept in their nights; may have the document's own id; nil without one
	Clusters  []string       // current clusters of the earlier documents that it matches

	First, Last string // first and last night with a matching document, under any id
	Nights      int    // number of such nights
}

// HistoryByDocument maps document numbers of one split to what the library knows
// of them. Documents unknown to the library are missing.
type HistoryByDocument map[uint64]*HistoryDocument

const (
	kindHistory = "neardup history 5"
)

// WriteHistory writes docs as the state file of split task, and returns the name
// of the file within the run directory.
func WriteHistory(job *Job, task int, docs []HistoryDocument) (name string, err error) {
	name = rundir.StatePart(historyFolder, task)
	return name, state.WriteGob(job.Dir.Path(name), kindHistory, docs)
}

// ReadHistory reads the file that WriteHistory wrote for split task.
func ReadHistory(dir *rundir.Dir, task int) (HistoryByDocument, error) {
	docs, err := state.ReadGob[[]HistoryDocument](dir.Path(rundir.StatePart(historyFolder, task)), kindHistory)
	byDoc := make(HistoryByDocument, len(docs))
	for i := range docs {
		byDoc[docs[i].Doc] = &docs[i]
	}
	return byDoc, err
}
