// Package nightstest checks runs of several nights with a library, on any engine,
// against the comparison of all documents with each other.
package nightstest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

// Crawl makes up nights of pages: new ones, copies with a word or two changed
// of pages of the same and of earlier nights, pages that come again as they
// were or changed, and short texts.
func Crawl(t testing.TB, dir string, nights, pages int) (names []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 11))
	var texts []string
	var ids []string
	for n := range nights {
		name := time.Date(2026, 11, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		names = append(names, name)
		var lines []string
		used := map[string]bool{}
		for p := range pages {
			id := fmt.Sprintf("http://site%d.example/%d/%d", rng.IntN(4), n, p)
			var words []string
			switch kind := rng.IntN(10); {
			case kind < 4 && len(texts) > 0: // a copy
				words = strings.Fields(texts[rng.IntN(len(texts))])
			case kind < 6 && len(ids) > 0: // an id that was there, with a text that was there
				id = ids[rng.IntN(len(ids))]
				words = strings.Fields(texts[rng.IntN(len(texts))])
			case kind == 6:
				words = strings.Fields([]string{"breaking news tonight", "breaking news tonight at 7", "weather for tomorrow morning", "weather for tomorow morning"}[rng.IntN(4)])
			default:
				for range 60 + rng.IntN(200) {
					words = append(words, fmt.Sprintf("w%d", rng.IntN(3000)))
				}
			}
			if used[id] {
				continue
			}
			used[id] = true
			for range rng.IntN(3) {
				if len(words) > 20 {
					words[rng.IntN(len(words))] = "changed"
				}
			}
			text := strings.Join(words, " ")
			texts, ids = append(texts, text), append(ids, id)
			line, err := json.Marshal(map[string]string{"id": id, "text": text})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
		}
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// nightDocument is a document of a night as the oracle sees it.
type nightDocument struct {
	night, id string
	view      data.View
}

func readNight(t testing.TB, out, night string) (docs []nightDocument) {
	t.Helper()
	paths, err := rundir.Parts(out, rundir.Fingerprints)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		err := parquet.ReadFingerprints(context.Background(), path, parquet.ReadOptions{}, func(row *data.FingerprintRow) error {
			d := nightDocument{night: night, id: string(row.DocID)}
			mapper.View(row, &d.view)
			d.view.Letters = bytes.Clone(row.Letters)
			docs = append(docs, d)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return docs
}

// Match is a row of the matches table.
type Match struct {
	ID, Other, From, FirstSeen string
	Distance                   int
}

// Matches reads the matches table of a run directory.
func Matches(t testing.TB, out string) (rows []Match) {
	t.Helper()
	paths, err := rundir.Parts(out, rundir.Matches)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		err := parquet.ReadTable(context.Background(), path, &data.Matches, func(row *data.MatchRow) error {
			rows = append(rows, Match{string(row.DocID), string(row.MatchID), row.MatchFrom, row.FirstSeen, int(row.Distance)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// sameOf says whether two documents are a match, in the obvious way.
func sameOf(t testing.TB, cfg config.Config) func(a, b *data.View) bool {
	t.Helper()
	rule := method.Rule(cfg.Match)
	verify := mapper.NewVerifier(rule)
	return func(a, b *data.View) bool {
		return rule.Candidate(a, b) && verify.Estimated(a, b).Reason != data.NotTheSame
	}
}

// firstSeenBy is the night in which the id of an earlier document was first
// there.
func firstSeenBy(all []nightDocument, o *nightDocument) string {
	first := o.night
	for i := range all {
		if all[i].id == o.id {
			first = min(first, all[i].night)
		}
	}
	return first
}

// clustersOf gives the cluster of each document, by its place, as the library
// has it today.
func clustersOf(t testing.TB, lib string, all []nightDocument) map[int]string {
	t.Helper()
	l, err := library.Open(context.Background(), lib, library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	at := map[string]int{}
	for i, d := range all {
		at[d.night+" "+d.id] = i
	}
	clusters := map[int]string{}
	var ids []string
	err = l.Rows(context.Background(), library.StreamOptions{}, func(row *data.LibraryRow) error {
		c := string(row.Cluster)
		if c == "" {
			c = history.FoundedCluster(row.Night, row.DocID)
		}
		i, ok := at[row.Night+" "+string(row.DocID)]
		if !ok {
			return fmt.Errorf("the library has %s of %s", row.DocID, row.Night)
		}
		clusters[i] = c
		ids = append(ids, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(clusters) != len(all) {
		t.Fatalf("the library has %d documents, want %d", len(clusters), len(all))
	}
	now, err := l.Current(context.Background(), "", ids)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range clusters {
		if to, ok := now[c]; ok {
			clusters[i] = to
		}
	}
	return clusters
}

// Check has run execute one night of a crawl after the other, with a library
// and a run directory, and compares each with the one comparison of all
// documents of all nights so far with each other: matches, clusters of the
// library, counts. It fails when hardly anything is found.
func Check(t testing.TB, cfg config.Config, dir string, nights []string, run func(n int, request job.Request) *job.Summary) {
	t.Helper()
	x := expected{same: sameOf(t, cfg), parent: map[int]int{}, firstSeen: map[string]string{}}
	merges := int64(0)
	for n, night := range nights {
		lib, out := filepath.Join(dir, "lib"), filepath.Join(dir, "run-"+night)
		c := cfg
		c.Library = config.Library{Path: lib, Night: night}
		c.Output.Annotate = config.AnnotateDump
		s := run(n, job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, night+".jsonl")}, Out: out, Config: c})
		merges += s.Library.Merges

		from := len(x.all)
		want, got := x.add(night, readNight(t, out, night)), Matches(t, out)
		for i := range min(len(want), len(got)) {
			if got[i] != want[i] {
				t.Fatalf("night %s, %d matches, want %d; the first that differs: %+v, want %+v", night, len(got), len(want), got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("night %s: %d matches, want %d", night, len(got), len(want))
		}
		x.checkSeen(t, night, out, from)
		x.checkClusters(t, night, clustersOf(t, lib, x.all))

		// What the summary says is what the tables say.
		l := s.Library
		if added := len(x.all) - from; int(l.New+l.Repeated+l.Returned) != added || int(l.Added) != added || l.Nights != n || int(l.Documents) != from {
			t.Fatalf("night %s: %+v, %d documents and %d before", night, l, added, from)
		}
	}
	if x.again < 10 || x.copied < 10 {
		t.Errorf("%d documents that earlier nights have, %d with copies: the test shows little of the table seen", x.again, x.copied)
	}
	if x.matchesHistory < 100 || merges == 0 && !cfg.Match.Verified() {
		t.Errorf("%d matches with earlier nights, %d merges: the test shows nothing", x.matchesHistory, merges)
	}
}

// expected is what the nights so far have to come to, found by comparing all
// documents.
type expected struct {
	same           func(a, b *data.View) bool
	all            []nightDocument
	parent         map[int]int // clusters of their places
	firstSeen      map[string]string
	was            map[int]string // cluster by place, the night before
	matchesHistory int
	again, copied  int // rows of the table seen: of more than one night, of more than one document
}

// root is the first place of a document's cluster.
func (x *expected) root(i int) int {
	if x.parent[i] != i {
		x.parent[i] = x.root(x.parent[i])
	}
	return x.parent[i]
}

// add takes a night's documents and returns their best matches.
func (x *expected) add(night string, docs []nightDocument) (want []Match) {
	from := len(x.all)
	x.all = append(x.all, docs...)
	for i := from; i < len(x.all); i++ {
		x.parent[i] = i
	}
	known := maps.Clone(x.firstSeen)
	for i := from; i < len(x.all); i++ {
		if best, ok := x.best(i, night, known); ok {
			want = append(want, best)
			if best.From != "run" {
				x.matchesHistory++
			}
		}
		if id := x.all[i].id; x.firstSeen[id] == "" {
			x.firstSeen[id] = night
		}
	}
	return want
}

// best compares a document with all others, and joins those that are the same.
func (x *expected) best(i int, night string, known map[string]string) (best Match, ok bool) {
	d, bestKey := &x.all[i], ""
	for j := range x.all {
		o := &x.all[j]
		if j == i || !x.same(&d.view, &o.view) {
			continue
		}
		x.parent[max(x.root(i), x.root(j))] = min(x.root(i), x.root(j))
		if o.id == d.id {
			continue
		}
		f := Match{d.id, o.id, o.night, known[o.id], simhash.Distance(simhash.Fingerprint{Hi: d.view.Hi, Lo: d.view.Lo}, simhash.Fingerprint{Hi: o.view.Hi, Lo: o.view.Lo})}
		key := fmt.Sprintf("%03d %s %s", f.Distance, f.From, f.Other)
		if o.night == night {
			f.From, f.FirstSeen = "run", ""
			key = fmt.Sprintf("%03d ~ %09d", f.Distance, j) // the earlier of the input
		} else {
			f.FirstSeen = firstSeenBy(x.all, o)
		}
		if !ok || key < bestKey {
			best, ok, bestKey = f, true, key
		}
	}
	return best, ok
}

// checkClusters: the library's clusters, by place, are the components of all
// documents so far, and where nothing was merged they keep their ids.
func (x *expected) checkClusters(t testing.TB, night string, clusters map[int]string) {
	t.Helper()
	byRoot := map[int]string{}
	roots := map[string]int{}
	for i := range x.all {
		r, c := x.root(i), clusters[i]
		if have, ok := byRoot[r]; ok && have != c {
			t.Fatalf("night %s: %s of %s is in cluster %s, one connected to it in %s", night, x.all[i].id, x.all[i].night, c, have)
		}
		if have, ok := roots[c]; ok && have != r {
			t.Fatalf("night %s: %s of %s is in cluster %s without a connection", night, x.all[i].id, x.all[i].night, c)
		}
		byRoot[r], roots[c] = c, r
	}
	for i, c := range x.was {
		least := c
		for j, o := range x.was {
			if x.root(i) == x.root(j) {
				least = min(least, o)
			}
		}
		if clusters[i] != least {
			t.Fatalf("night %s: cluster %s became %s, want %s", night, c, clusters[i], least)
		}
	}
	x.was = clusters
}
