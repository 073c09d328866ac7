// Package stage is what the stages of a run have in common: the run as they see
// it. Each stage has a package below this one, named for what it does; package
// job lists them in their order.
//
// A stage is one task of this process, or a task for each split, which an engine
// executes (package engine). Its package has that single task, and what is done
// with the records of tasks: it checks that no row was lost, and adds to the
// summary. Stages know each other by what they leave in the run directory, and by
// the fields of Run that say so.
package stage

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/spill"
	"github.com/neardup/neardup/job/internal/summary"
)

// Names of stages of one task, as records, progress and the summary have them;
// those of the others are package engine's.
const (
	Templates = "templates"
	Exact     = "exact"
	History   = engine.StageHistory
	Match     = "match"
	Verify    = "verify"
	Cluster   = "cluster"
	IDs       = "ids"
	Publish   = "publish"
)

// Files within the state folder, by which stages hand on what they found.
const (
	MatchedFile  = "matched"     // of match: the pairs that the join found
	ResolvedFile = "resolved"    // of verify: those of them that the texts decided, each once, whatever they said
	CountsFile   = "counts.json" // of cluster: Counts
)

// Run is a run under way. One goroutine uses it, but for what the methods say.
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
	Change  int64            // of the library, when this run began to read it

	Samples []rundir.TaskRecord // of the stage learn
	Counts  Counts              // of the stage cluster

	opened *engine.Documents
}

// Counts is what the stage cluster found.
type Counts struct {
	Matched int64 `json:"matched"` // documents with a match
	summary.Found
	Largest []LargestCluster `json:"largest"`

	InHistory int64           `json:"in_history,omitempty"` // documents whose best match is in an earlier night
	Continued int64           `json:"continued,omitempty"`  // components that continue an earlier one
	Merges    []history.Merge `json:"merges,omitempty"`     // of earlier components
}

// LargestCluster is a summary.Cluster whose ids are yet to be read, unless the
// document that stays is in an earlier night.
type LargestCluster struct {
	Representative uint64 `json:"representative"`
	ID             string `json:"id"`
	Example        string `json:"example"`
	Size           int64  `json:"size"`
}

// EachMerge yields the merges of earlier components that the run brought.
func (c *Counts) EachMerge(yield func(from, into []byte) error) error {
	for _, m := range c.Merges {
		if err := yield([]byte(m.From), []byte(m.Into)); err != nil {
			return err
		}
	}
	return nil
}

// Documents opens the run's documents, once.
func (r *Run) Documents() (d *engine.Documents, err error) {
	if r.opened == nil {
		r.opened, err = engine.OpenDocuments(r.Dir, len(r.Job.Splits))
	}
	return r.opened, err
}

// EachSplit calls f for every split on the run's workers.
func (r *Run) EachSplit(ctx context.Context, f func(task int) error) error {
	advance := r.Job.Pass.Begin(int64(len(r.Job.Splits)), "splits")
	return engine.Parallel(ctx, len(r.Job.Splits), r.Workers, func(_ context.Context, task int) error {
		defer advance(1)
		return f(task)
	})
}

// StateParts are the files of all splits in a folder of the state, within the
// run directory.
func (r *Run) StateParts(folder string) (names []string) {
	for task := range r.Job.Splits {
		names = append(names, rundir.StatePart(folder, task))
	}
	return names
}

// WriteSorted writes the records of each split, in order, to its file in a folder
// of the state.
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

// FillIDs fills in the ids of some documents, by number.
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

// SampledFile within the state folder has the pairs of the sample that the stage
// decide took of the documents that go, for the stage write to read again.
const (
	SampledFile = "sampled.pairs"
	KindSampled = "neardup sampled 1"
)

// RemovedPair is a document that goes and the one of the run that stays for it.
type RemovedPair struct{ Doc, Kept uint64 }

// Token tells the night that this run adds from others of its name.
func (r *Run) Token() string { return fmt.Sprintf("%s-%d", r.Job.Hash, r.Change) }

// AddCounts adds counts by name.
func AddCounts(to, from map[string]int64) {
	for k, v := range from {
		to[k] += v
	}
}
