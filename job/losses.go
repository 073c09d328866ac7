package job

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/neardup/neardup/job/internal/engine"
)

// losses are what somebody should look at before anything is deleted: sites that
// lose most of their pages to others, and clusters of many sites.
type losses struct {
	Sites        []siteLoss    `json:"sites,omitempty"`    // at most mostLosses, the most documents lost first
	SitesAll     int64         `json:"sites_all"`          // how many there are
	Clusters     []wideCluster `json:"clusters,omitempty"` // at most mostLosses, the most sites first
	ClustersAll  int64         `json:"clusters_all"`
	SiteShare    float64       `json:"site_share"`    // bounds that these are beyond
	ClusterSites int64         `json:"cluster_sites"` // 0: none
}

// siteLoss is a site that loses more than a share of its documents.
type siteLoss struct {
	Site      string `json:"site"`
	Documents int64  `json:"documents"`
	Lost      int64  `json:"lost"` // that go for documents of other ids
}

// wideCluster is a cluster of more than some sites.
type wideCluster struct {
	ID        string `json:"cluster_id"`
	Sites     int64  `json:"sites"` // 1,000 at most
	Documents int64  `json:"documents"`
}

// Of a site of less than leastSite documents half is soon lost.
const (
	leastSite  = 20
	mostLosses = 10
)

// lose says what the clean dump takes from sites.
func (r *run) lose(ctx context.Context) error {
	if !r.job.Cleans() {
		return nil
	}
	all := engine.NewLosses()
	for task := range r.job.Splits {
		of, err := engine.ReadLosses(r.dir, task)
		if err != nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		all.Take(of)
	}
	m := &r.config.Monitor
	l := &losses{SiteShare: m.MaxSiteLoss, ClusterSites: m.MaxClusterSites}
	for site, n := range all.Sites {
		if n.Documents >= leastSite && float64(n.Lost) > m.MaxSiteLoss*float64(n.Documents) {
			l.Sites = append(l.Sites, siteLoss{site, n.Documents, n.Lost})
		}
	}
	for id, of := range all.Clusters {
		if sites := int64(len(of.Sites)); m.MaxClusterSites > 0 && sites > m.MaxClusterSites {
			l.Clusters = append(l.Clusters, wideCluster{id, sites, of.Documents})
		}
	}
	slices.SortFunc(l.Sites, func(a, b siteLoss) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), strings.Compare(a.Site, b.Site))
	})
	slices.SortFunc(l.Clusters, func(a, b wideCluster) int {
		return cmp.Or(cmp.Compare(b.Sites, a.Sites), cmp.Compare(b.Documents, a.Documents), strings.Compare(a.ID, b.ID))
	})
	l.SitesAll, l.ClustersAll = int64(len(l.Sites)), int64(len(l.Clusters))
	l.Sites, l.Clusters = l.Sites[:min(len(l.Sites), mostLosses)], l.Clusters[:min(len(l.Clusters), mostLosses)]
	if l.SitesAll+l.ClustersAll > 0 {
		r.sum.Losses = l
	}
	return nil
}
