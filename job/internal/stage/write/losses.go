package write

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/losses"
	"github.com/neardup/neardup/job/internal/summary"
)

// Of a site of less than leastSite documents half is soon lost.
const (
	leastSite  = 20
	mostLosses = 10
)

// lose says what the clean dump takes from sites.
func lose(ctx context.Context, r *stage.Run) error {
	if !r.Job.Cleans() {
		return nil
	}
	all := losses.New()
	for task := range r.Job.Splits {
		of, err := losses.Read(r.Dir.Path(rundir.StatePart(losses.Folder, task)))
		if err != nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		all.Take(of)
	}
	m := &r.Config.Monitor
	l := &summary.Losses{SiteShare: m.MaxSiteLoss, ClusterSites: m.MaxClusterSites}
	for site, n := range all.Sites {
		if n.Documents >= leastSite && float64(n.Lost) > m.MaxSiteLoss*float64(n.Documents) {
			l.Sites = append(l.Sites, summary.SiteLoss{Site: site, Documents: n.Documents, Lost: n.Lost})
		}
	}
	for id, of := range all.Clusters {
		if sites := int64(len(of.Sites)); m.MaxClusterSites > 0 && sites > m.MaxClusterSites {
			l.Clusters = append(l.Clusters, summary.WideCluster{ID: id, Sites: sites, Documents: of.Documents})
		}
	}
	slices.SortFunc(l.Sites, func(a, b summary.SiteLoss) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), strings.Compare(a.Site, b.Site))
	})
	slices.SortFunc(l.Clusters, func(a, b summary.WideCluster) int {
		return cmp.Or(cmp.Compare(b.Sites, a.Sites), cmp.Compare(b.Documents, a.Documents), strings.Compare(a.ID, b.ID))
	})
	l.SitesAll, l.ClustersAll = int64(len(l.Sites)), int64(len(l.Clusters))
	l.Sites, l.Clusters = l.Sites[:min(len(l.Sites), mostLosses)], l.Clusters[:min(len(l.Clusters), mostLosses)]
	if l.SitesAll+l.ClustersAll > 0 {
		r.Sum.Losses = l
	}
	return nil
}
