// Package stage holds what the stages of a run share: [Run], the run as they see
// it. Each stage has a package below this one; package job lists the stages in
// order.
//
// A stage is either one task of this process or a task for each split. The single
// task is a function of the stage's package. A task for each split is an [engine.Stage]
// of that package, which an engine executes, on any host. Every stage may also have
// a function for the records of its finished tasks: it checks that no row was lost,
// and adds to the summary.
//
// Stages do not call each other. They communicate through files in the run
// directory, and through the fields of Run that name a stage.
package stage

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/spill"
	"github.com/neardup/neardup/job/internal/summary"
)

// Names of the stages in task records, progress and the summary.
const (
	Against     = "against"
	Learn       = "learn"
	Templates   = "templates"
	Fingerprint = "fingerprint"
	Read        = "read"
	Exact       = "exact"
	History     = corpus.StageHistory
	Match       = "match"
	Texts       = "texts"
	Verify      = "verify"
	Cluster     = "cluster"
	IDs         = "ids"
	Write       = "write"
	Publish     = "publish"
)

// Files in the state folder by which a stage hands results to later stages.
const (
	MatchedFile  = "matched"     // from match: the pairs that the join found
	ResolvedFile = "resolved"    // from verify: the undecided pairs of these, each once, with what the texts say, also if that is no
	CountsFile   = "counts.json" // from cluster: Counts
)

// Run is a run in progress. It is not safe for concurrent use.
type Run struct {
	Command string
	Config  config.Config // in effect
	Dir     *rundir.Dir
	Job     *engine.Job
	Engine  engine.Engine
	Workers int
	Log     *slog.Logger
	Sum     *summary.Summary

	Library *library.Library // locked; nil for a run without one
	Change  int64            // sequence number of the library when this run began to read it

	Samples []rundir.TaskRecord // set by the stage learn
	Counts  Counts              // set by the stage cluster

	opened *corpus.Documents
}

// Counts counts what the stage cluster found.
type Counts struct {
	Matched int64 `json:"matched"` // documents with a match
	summary.Found
	Largest []LargestCluster `json:"largest"`

	InHistory int64           `json:"in_history,omitempty"` // documents whose best match is in an earlier night
	Continued int64           `json:"continued,omitempty"`  // components that continue an earlier one
	Merges    []history.Merge `json:"merges,omitempty"`     // of earlier components
}

// LargestCluster becomes a summary.Cluster once the id of its representative is
// read. ID and Example are set already if the representative is in an earlier
// night.
type LargestCluster struct {
	Representative uint64 `json:"representative"`
	ID             string `json:"id"`
	Example        string `json:"example"`
	Size           int64  `json:"size"`
}

// EachMerge calls yield with the merges of earlier components by this run, until
// yield returns an error.
func (c *Counts) EachMerge(yield func(from, into []byte) error) error {
	for _, m := range c.Merges {
		if err := yield([]byte(m.From), []byte(m.Into)); err != nil {
			return err
		}
	}
	return nil
}

// Documents returns the run's documents. It opens them at the first call.
func (r *Run) Documents() (d *corpus.Documents, err error) {
	if r.opened == nil {
		r.opened, err = corpus.Open(r.Dir, len(r.Job.Splits))
	}
	return r.opened, err
}

// EachSplit calls f for every split, concurrently on the run's workers, as
// parallel.Each does, and reports progress.
func (r *Run) EachSplit(ctx context.Context, f func(task int) error) error {
	advance := r.Job.Pass.Begin(int64(len(r.Job.Splits)), "splits")
	return parallel.Each(ctx, len(r.Job.Splits), r.Workers, func(_ context.Context, task int) error {
		defer advance(1)
		return f(task)
	})
}

// StateParts returns the names, within the run directory, of the files of all
// splits in a folder of the state.
func (r *Run) StateParts(folder string) (names []string) {
	for task := range r.Job.Splits {
		names = append(names, rundir.StatePart(folder, task))
	}
	return names
}

// StatePath returns the function that names the file of a split in a folder of the
// state.
func (r *Run) StatePath(folder string) func(task int) string {
	return func(task int) string { return r.Dir.Path(rundir.StatePart(folder, task)) }
}

// WriteSorted writes each bucket of records, sorted, as the file of the split with
// that number in a folder of the state. It returns the names of the files.
func (r *Run) WriteSorted(ctx context.Context, records *spill.Buckets, folder, kind string) (names []string, err error) {
	names = r.StateParts(folder)
	return names, r.EachSplit(ctx, func(task int) error {
		body, err := records.SortedHeads(task)
		if err != nil {
			return err
		}
		return state.Write(r.Dir.Path(names[task]), kind, body)
	})
}

// FillIDs sets the values of ids, whose keys are document numbers, to the ids of
// these documents.
func (r *Run) FillIDs(ctx context.Context, ids map[uint64]string) error {
	if len(ids) == 0 {
		return nil
	}
	documents, err := r.Documents()
	if err != nil {
		return err
	}
	docs := slices.Sorted(maps.Keys(ids))
	for len(docs) > 0 {
		task := documents.Part(docs[0])
		first, end := documents.First(task), documents.First(task+1)
		next := func() int64 {
			if len(docs) == 0 || docs[0] >= end {
				return -1
			}
			doc := docs[0]
			docs = docs[1:]
			return int64(doc - first)
		}
		err := r.Job.EachID(ctx, task, next, func(row int64, id []byte) error {
			ids[first+uint64(row)] = string(id)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// SampledFile, in the state folder, holds a sample of the removals as RemovedPairs.
// The stage cluster chooses it. The stage write reads these documents again, and
// compares their texts.
const (
	SampledFile = "sampled.pairs"
	KindSampled = "neardup sampled 1"
)

// RemovedPair is a document that is removed and the document of this run that
// stays for it.
type RemovedPair struct{ Doc, Kept uint64 }

// Token identifies the night that this run adds to the library, among others of
// the same name: by the settings and the state of the library it was compared
// with.
func (r *Run) Token() string { return fmt.Sprintf("%s-%d", r.Job.Hash, r.Change) }

// AddCounts adds to each count in to the count of that name in from.
func AddCounts(to, from map[string]int64) {
	for k, v := range from {
		to[k] += v
	}
}
