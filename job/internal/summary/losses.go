package summary

import "github.com/neardup/neardup/job/internal/show"

// Losses are what somebody should look at before anything is deleted: sites that
// lose most of their pages to others, and clusters of many sites.
type Losses struct {
	Sites        []SiteLoss    `json:"sites,omitempty"`    // at most mostLosses, the most documents lost first
	SitesAll     int64         `json:"sites_all"`          // how many there are
	Clusters     []WideCluster `json:"clusters,omitempty"` // at most mostLosses, the most sites first
	ClustersAll  int64         `json:"clusters_all"`
	SiteShare    float64       `json:"site_share"`    // bounds that these are beyond
	ClusterSites int64         `json:"cluster_sites"` // 0: none
}

// SiteLoss is a site that loses more than a share of its documents.
type SiteLoss struct {
	Site      string `json:"site"`
	Documents int64  `json:"documents"`
	Lost      int64  `json:"lost"` // that go for documents of other ids
}

// WideCluster is a cluster of more than some sites.
type WideCluster struct {
	ID        string `json:"cluster_id"`
	Sites     int64  `json:"sites"` // 1,000 at most
	Documents int64  `json:"documents"`
}

// Warnings says in words which sites lose much, and which clusters are wide.
func (l *Losses) Warnings() (all []string) {
	if l == nil {
		return nil
	}
	more := func(rest int, thing string) {
		if rest > 0 {
			all = append(all, "and "+show.Count(rest, "more "+thing))
		}
	}
	for _, s := range l.Sites {
		all = append(all, s.Site+" loses "+show.Share(s.Lost, s.Documents)+" of "+show.Count(s.Documents, "document")+" to others")
	}
	more(int(l.SitesAll)-len(l.Sites), "site")
	for _, c := range l.Clusters {
		all = append(all, "the cluster of "+c.ID+" has "+show.Count(c.Documents, "document")+" of "+show.Count(c.Sites, "site"))
	}
	more(int(l.ClustersAll)-len(l.Clusters), "cluster")
	return all
}

func (l *Losses) print(row func(name, format string, args ...any)) {
	for i, text := range l.Warnings() {
		row(show.Headed(i, "look at"), "%s", text)
	}
}
