// Package losses counts how many documents each site loses to the clean dump, and over
// how many sites clusters reach. Each split writes its own counts to a file; then
// they are summed. The package neither judges nor reports them.
package losses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state"
)

// Folder is the folder in the state of the run directory. It has a file for each
// split of a run with a clean dump.
const Folder = "losses"

const kind = "neardup losses 1"

// Losses holds the counts of one split, or the sum of several.
type Losses struct {
	Sites    map[string]Site  // by name; ids that are no URLs have no site
	Clusters map[string]Reach // by id; only clusters of at least leastReach documents
}

// Site counts the documents of a site.
type Site struct {
	Documents int64
	Lost      int64 // documents removed for one with another id; a page that merely comes again under its own id is not lost
}

// Reach counts the documents and sites of a cluster.
type Reach struct {
	Documents int64
	Sites     []uint64 // hashes of the names of its sites, ascending, at most mostReach
}

// Clusters of fewer than leastReach documents, and so sites, are not counted. Of one
// cluster at most mostReach sites are told apart.
const (
	leastReach = 10
	mostReach  = 1000
)

// New returns zero counts.
func New() *Losses {
	return &Losses{Sites: map[string]Site{}, Clusters: map[string]Reach{}}
}

// Document counts a document of a site, which is empty for an id that is no URL.
func (l *Losses) Document(site []byte) { l.add(site, Site{Documents: 1}) }

// Removed counts a removed document, if it was removed for one with another id.
func (l *Losses) Removed(r *data.RemovedRow) {
	if string(r.KeptID) != string(r.DocID) && len(r.KeptID) > 0 {
		l.add(r.Site, Site{Lost: 1})
	}
}

func (l *Losses) add(site []byte, n Site) {
	if len(site) > 0 {
		have := l.Sites[string(site)]
		l.Sites[string(site)] = Site{have.Documents + n.Documents, have.Lost + n.Lost}
	}
}

// Member takes in a document of a cluster.
func (l *Losses) Member(r *data.ClusterRow) {
	if r.Size < leastReach {
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

// Write writes those of a split.
func (l *Losses) Write(path string) error {
	text, err := json.Marshal(l) // the same bytes whichever process writes it, which gob does not promise
	if err != nil {
		return err
	}
	return state.Write(path, kind, text)
}

// Read reads what Write wrote.
func Read(path string) (*Losses, error) {
	l := New()
	text, err := state.Read(path, kind)
	if err == nil && json.Unmarshal(text, l) != nil {
		err = fmt.Errorf("%s: %w", path, state.ErrDamaged)
	}
	return l, err
}
