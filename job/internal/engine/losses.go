package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/simhash/template"
)

// LossesFolder is a folder within the run directory's state with a file for each
// split of a run with a clean dump: what its sites lose.
const LossesFolder = "losses"

const kindLosses = "neardup losses 1"

// Losses are what sites lose to the clean dump, and over how many of them clusters
// reach.
type Losses struct {
	Sites    map[string]SiteLoss // by name, without ids that are no URLs
	Clusters map[string]Reach    // of LeastReach documents or more, by id
}

// SiteLoss is what becomes of the documents of a site.
type SiteLoss struct {
	Documents int64
	Lost      int64 // that go for a document of another id: what comes again, or stands twice, is not lost
}

// Reach is how far a cluster reaches.
type Reach struct {
	Documents int64
	Sites     []uint64 // hashes of their names, ascending, at most mostReach
}

// LeastReach is the fewest documents, and so sites, of a cluster that is looked at,
// mostReach how many sites of one are told apart.
const (
	LeastReach = 10
	mostReach  = 1000
)

// NewLosses returns none.
func NewLosses() *Losses {
	return &Losses{Sites: map[string]SiteLoss{}, Clusters: map[string]Reach{}}
}

// document counts a document.
func (l *Losses) document(id []byte) { l.add(template.Site(id), SiteLoss{Documents: 1}) }

// removed counts a document that goes for another.
func (l *Losses) removed(r *data.RemovedRow) {
	if string(r.KeptID) != string(r.DocID) && len(r.KeptID) > 0 {
		l.add(r.Site, SiteLoss{Lost: 1})
	}
}

func (l *Losses) add(site []byte, n SiteLoss) {
	if len(site) > 0 {
		have := l.Sites[string(site)]
		l.Sites[string(site)] = SiteLoss{have.Documents + n.Documents, have.Lost + n.Lost}
	}
}

// member takes in a document of a cluster.
func (l *Losses) member(r *data.ClusterRow) {
	if r.Size < LeastReach {
		return
	}
	of := Reach{Documents: int64(r.Size)}
	if len(r.Site) > 0 {
		of.Sites = []uint64{xxh3.Hash(r.Site)}
	}
	l.reach(string(r.ClusterID), of)
}

func (l *Losses) reach(cluster string, of Reach) {
	have := l.Clusters[cluster]
	have.Documents = of.Documents
	for _, site := range of.Sites {
		if at, ok := slices.BinarySearch(have.Sites, site); !ok && len(have.Sites) < mostReach {
			have.Sites = slices.Insert(have.Sites, at, site)
		}
	}
	l.Clusters[cluster] = have
}

// Take takes in what another split lost.
func (l *Losses) Take(o *Losses) {
	for site, n := range o.Sites {
		l.add([]byte(site), n)
	}
	for cluster, of := range o.Clusters {
		l.reach(cluster, of)
	}
}

// writeLosses writes those of a split.
func writeLosses(job *Job, task int, l *Losses) (name string, err error) {
	name = rundir.StatePart(LossesFolder, task)
	text, err := json.Marshal(l) // the same bytes whichever process writes it, which gob does not promise
	if err != nil {
		return name, err
	}
	return name, state.Write(job.Dir.Path(name), kindLosses, text)
}

// ReadLosses reads those of a split.
func ReadLosses(dir *rundir.Dir, task int) (*Losses, error) {
	path, l := dir.Path(rundir.StatePart(LossesFolder, task)), NewLosses()
	text, err := state.Read(path, kindLosses)
	if err == nil && json.Unmarshal(text, l) != nil {
		err = fmt.Errorf("%s: %w", path, state.ErrDamaged)
	}
	return l, err
}
