package eval

import "github.com/neardup/neardup/reducer"

// clusterFigures are how well the clusters do that a method's pairs connect
// documents to, against those that the true pairs do. Pairs of documents are
// counted as Precision and Recall; purity as in Zhao, Karypis (Criterion
// Functions for Document Clustering, 2001) and inverse purity as in Amigó,
// Gonzalo, Artiles, Verdejo (A comparison of extrinsic clustering evaluation
// metrics, 2009), of the documents in clusters of two or more: the others would
// make either nearly 1. The clusters are of all documents, whatever half is
// measured.
type clusterFigures struct {
	Clusters      int     `json:"clusters"`  // of two or more documents
	Largest       int     `json:"largest"`   // documents
	Precision     Share   `json:"precision"` // of the pairs in one cluster, those in one true cluster
	Recall        Share   `json:"recall"`    // of the pairs in one true cluster, those in one cluster
	F1            float64 `json:"f1"`
	Purity        Share   `json:"purity"`         // of the documents of clusters, those of their cluster's largest part of one true cluster
	InversePurity Share   `json:"inverse_purity"` // the same of the true clusters
}

// clusters closes the pairs that are reported as the same, and the right ones,
// and joins those that contain each other as a run does (clusters.contained).
func (l *Lab) clusters(found []Found, main criterion) clusterFigures {
	n := len(l.corpus.Documents)
	ours, truth := reducer.NewComponents(n), reducer.NewComponents(n)
	var contained [][2]uint32
	for _, f := range found {
		if p := [2]uint32{uint32(f.A), uint32(f.B)}; !f.Contained {
			ours.Add(p[0], p[1])
		} else {
			contained = append(contained, p)
		}
	}
	ours.AddContained(contained)
	for p, t := range l.truth {
		if main.rights(t) {
			truth.Add(uint32(p.A), uint32(p.B))
		}
	}
	type both struct{ ours, truth uint32 }
	parts := map[both]int{}
	sizes, trueSizes := make([]int, n), make([]int, n) // by root
	for i := range uint32(n) {
		of := both{ours.Root(i), truth.Root(i)}
		parts[of]++
		sizes[of.ours]++
		trueSizes[of.truth]++
	}
	largest, trueLargest := make([]int, n), make([]int, n) // parts, by root
	right := 0
	for of, size := range parts {
		right += pairsOf(size)
		largest[of.ours] = max(largest[of.ours], size)
		trueLargest[of.truth] = max(trueLargest[of.truth], size)
	}
	var c clusterFigures
	var reported, wanted int
	c.Clusters, c.Largest, reported, c.Purity = clustered(sizes, largest)
	_, _, wanted, c.InversePurity = clustered(trueSizes, trueLargest)
	c.Precision, c.Recall = NewShare(right, reported), NewShare(right, wanted)
	c.F1 = F1(c.Precision.Value, c.Recall.Value)
	return c
}

// clustered looks at the clusters of two or more, by their sizes and the sizes
// of their largest parts.
func clustered(sizes, parts []int) (clusters, largest, pairs int, purity Share) {
	documents, pure := 0, 0
	for i, size := range sizes {
		if size > 1 {
			clusters, largest, pairs = clusters+1, max(largest, size), pairs+pairsOf(size)
			documents, pure = documents+size, pure+parts[i]
		}
	}
	return clusters, largest, pairs, NewShare(pure, documents)
}

// pairsOf is how many pairs so many documents have.
func pairsOf(documents int) int { return documents * (documents - 1) / 2 }

// containedFigures are what becomes of the pairs of which one text has most of
// the other.
type containedFigures struct {
	Same      Share `json:"same"`      // reported as the same
	Contained Share `json:"contained"` // reported as contained
	Unlike    Share `json:"unlike"`    // of those that are not alike, reported as either
	Right     Share `json:"right"`     // of the pairs reported as contained, those that are
}

// containedFigures counts the pairs that are reported, by themselves.
func (l *Lab) containedFigures(reported map[Pair]Found) *containedFigures {
	var same, within, unlike, right tally
	for p, t := range l.truth {
		if !l.counts(p) || t.by&TruthContainment == 0 {
			continue
		}
		f, ok := reported[p]
		same.add(ok && !f.Contained)
		within.add(ok && f.Contained)
		if t.jaccard < l.options.Alike {
			unlike.add(ok)
		}
	}
	for p, f := range reported {
		if f.Contained {
			right.add(l.truth[p].by&TruthContainment != 0)
		}
	}
	return &containedFigures{same.recall(), within.recall(), unlike.recall(), right.recall()}
}
