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
	Itself    *earlier.Match // the document as an earlier night has it; nil if it has not, or Match is nearer
	Clusters  []string       // of the earlier documents that it matches, as they are today
}

// Same is the document of an earlier night that is the same as d; nil without
// one.
func (d *EarlierDocument) Same() *earlier.Match {
	switch {
	case d == nil:
		return nil
	case d.Itself != nil:
		return d.Itself
	}
	return d.Match
}

// Lineage is what a cluster and copies that begin with the same document are, in
// a run with a library.
type Lineage struct {
	Cluster     string // id of the cluster; "" if none begins with the document
	Copies      string // id of the copies through all nights; "" without any
	Kept, Night string // the earlier document that represents the copies, and its night; "" if this run has the representative
}

// EarlierByDoc are those of a split, by number; the library knows nothing of
// the others.
type EarlierByDoc map[uint64]*EarlierDocument

const (
	kindEarlier = "neardup earlier 2"
	kindLineage = "neardup lineage 3"
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

// WriteLineage writes what clusters and copies are, by their first documents.
func WriteLineage(dir *rundir.Dir, clusters map[uint64]Lineage) error {
	return state.WriteGob(dir.Path(rundir.State, LineageFile), kindLineage, clusters)
}

// ReadLineage reads what WriteLineage wrote.
func ReadLineage(dir *rundir.Dir) (map[uint64]Lineage, error) {
	return state.ReadGob[map[uint64]Lineage](dir.Path(rundir.State, LineageFile), kindLineage)
}
