// Package compare compares two run directories over the same input, document by
// document, and tells the differences that a rule explains from defects. It
// consists of tests: it holds both runs in memory, and never changes them.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Kind is a kind of difference between two runs.
type Kind string

// The kinds. Those that end in Tie are no defects, since a rule explains them: ties go
// to the earlier document of the input.
const (
	RowDiffers            Kind = "fingerprint differs" // or what else the table says of the document
	PairDiffers           Kind = "pair differs"        // only in one, or its distance, estimate, jaccard or verdict
	MatchTie              Kind = "match, tie"          // as near, a pair before, and earlier in the input
	MatchDiffers          Kind = "match differs"
	ClusterTie            Kind = "cluster, tie"        // other documents in it, of a component that is cut around centres
	ClusterDiffers        Kind = "cluster differs"     // other documents in it
	RepresentativeTie     Kind = "representative, tie" // the keep rule does not decide, and earlier in the input
	RepresentativeDiffers Kind = "representative differs"
	LineDiffers           Kind = "clean line differs" // more than representatives changed
	CountDiffers          Kind = "count differs"      // of the summary
)

// Difference is one difference. What says where: an id, a pair of ids, or a name.
type Difference struct {
	Kind                Kind
	What, Before, After string
}

// Report lists differences.
type Report []Difference

// Counts returns the number of differences of each kind.
func (r Report) Counts() map[Kind]int {
	counts := map[Kind]int{}
	for _, d := range r {
		counts[d.Kind]++
	}
	return counts
}

// Defects returns the differences that no rule explains.
func (r Report) Defects() Report {
	ties := []Kind{MatchTie, ClusterTie, RepresentativeTie}
	return slices.DeleteFunc(slices.Clone(r), func(d Difference) bool { return slices.Contains(ties, d.Kind) })
}

func (r *Report) add(kind Kind, what, before, after any) {
	*r = append(*r, Difference{kind, fmt.Sprint(what), fmt.Sprint(before), fmt.Sprint(after)})
}

// Dirs compares two directories of finished runs without a library, whose keep
// rule compares that column of the fingerprints (length, date or rank; empty:
// none). The order of the input is that of the run after. That a match was a
// pair before is checked if both runs wrote their pairs.
func Dirs(before, after, keep string) (r Report, err error) {
	b, err := read(before)
	a, err2 := read(after)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	b.places = a.places
	each(b.rows, a.rows, func(at string, b, a row) {
		if !reflect.DeepEqual(b, a) {
			r.add(RowDiffers, at, b, a)
		}
	})
	each(b.pairs, a.pairs, func(pair string, b, a row) {
		if b.verdict() != a.verdict() {
			r.add(PairDiffers, pair, b.verdict(), a.verdict())
		}
	})
	r.matches(b, a)
	r.clusters(b, a, keep)
	r.summary(b, a)
	return r, nil
}

// each calls visit with every key of the two in order; what one lacks is the
// zero value.
func each[K cmp.Ordered, V any](before, after map[K]V, visit func(key K, b, a V)) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		visit(key, before[key], after[key])
	}
}

func (r *Report) matches(before, after *run) {
	each(before.matches, after.matches, func(doc string, b, a row) {
		from, to := b.text("match_id"), a.text("match_id")
		known := len(before.pairs) == 0 || before.pairs[pairKey(doc, to)] != nil
		switch {
		case from == to && b.verdict() == a.verdict():
		case b["distance"] == a["distance"] && known && after.places[to] < after.places[from]:
			r.add(MatchTie, doc, from, to)
		default:
			r.add(MatchDiffers, doc, b, a)
		}
	})
}

// clusters compares the partitions, which are equal if the first document of
// its component is the same for every document, and what stays of clusters.
func (r *Report) clusters(before, after *run, keep string) {
	b, a := before.firsts("component_id"), after.firsts("component_id")
	spread := after.spread()
	differs := map[string]bool{} // by first document
	each(b, a, func(doc, b, a string) {
		if b == a {
			return
		}
		differs[b], differs[a] = true, true
		if spread[doc] > maxSpread {
			r.add(ClusterTie, doc, b, a)
		} else {
			r.add(ClusterDiffers, doc, b, a)
		}
	})
	value := func(doc string) any { return after.documents[doc][keep] }
	each(before.representatives(), after.representatives(), func(first, b, a string) {
		switch {
		case b == a || differs[first]:
		case value(b) == value(a) && after.places[a] < after.places[b]:
			r.add(RepresentativeTie, first, b, a)
		default:
			r.add(RepresentativeDiffers, first, b, a)
		}
	})
}

// maxSpread is the distinct fingerprints of a component beyond which earlier builds
// cut it.
const maxSpread = 1000

// spread gives the documents of pairs the number of distinct fingerprints of
// the component that the pairs connect them to.
func (r *run) spread() map[string]int {
	up := map[string]string{}
	root := func(doc string) string {
		for up[doc] != "" {
			doc = up[doc]
		}
		return doc
	}
	for _, pair := range r.pairs {
		if a, b := root(pair.text("doc_id")), root(pair.text("match_id")); a != b {
			up[max(a, b)] = min(a, b)
		}
	}
	prints := map[string]map[any]bool{} // by root
	for doc := range r.matches {
		if prints[root(doc)] == nil {
			prints[root(doc)] = map[any]bool{}
		}
		prints[root(doc)][r.documents[doc]["fingerprint"]] = true
	}
	spread := map[string]int{}
	for doc := range r.matches {
		spread[doc] = len(prints[root(doc)])
	}
	return spread
}

// firsts gives every document in a cluster, or component, the first document of it.
func (r *run) firsts(column string) map[string]string {
	first := map[string]string{} // by id
	for doc, in := range r.clusters {
		if in[column] == nil {
			continue
		}
		id := in.text(column)
		if have, ok := first[id]; !ok || r.places[doc] < r.places[have] {
			first[id] = doc
		}
	}
	of := map[string]string{}
	for doc, in := range r.clusters {
		if in[column] != nil {
			of[doc] = first[in.text(column)]
		}
	}
	return of
}

// representatives are the documents that stay, by the first of their clusters.
func (r *run) representatives() map[string]string {
	firsts, representatives := r.firsts("cluster_id"), map[string]string{}
	for doc, in := range r.clusters {
		if in["is_representative"] == true && firsts[doc] != "" {
			representatives[firsts[doc]] = doc
		}
	}
	return representatives
}

// summary compares the clean dumps, as sets of lines, and the counts.
func (r *Report) summary(before, after *run) {
	gone, added := 0, 0
	each(before.lines, after.lines, func(_ uint64, b, a int) {
		gone += max(b-a, 0)
		added += max(a-b, 0)
	})
	counts := r.Counts()
	names := []string{
		"splits", "bytes", "records", "documents", "skipped", "bad", "cut_pages", "length_classes", "languages",
		"matched", "consulted", "pairs",
	}
	if counts[ClusterTie]+counts[ClusterDiffers] == 0 { // which change the others
		names = append(names, "clusters", "clustered", "kept", "dropped")
		if n := counts[RepresentativeTie] + counts[RepresentativeDiffers]; max(gone, added) > n {
			r.add(LineDiffers, fmt.Sprintf("%d representatives changed", n), gone, added)
		}
	}
	for _, name := range names {
		if b, a := before.counts[name], after.counts[name]; !reflect.DeepEqual(b, a) {
			r.add(CountDiffers, name, b, a)
		}
	}
}
