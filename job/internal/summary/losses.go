package summary

// Losses are removals to look at before you delete anything: sites that lose many of
// their pages to other documents, and clusters that reach over many sites.
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
