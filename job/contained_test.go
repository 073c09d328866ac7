package job_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/rundir"
)

// contained are texts with what a crawl has of them: cut, with sentences left
// out, between two others, under menus; ids say of which one. The sizes go from
// 60 words to 800.
func contained(n int) (docs []page) {
	r := rand.New(rand.NewPCG(9, 9))
	for i := range n {
		of := fmt.Sprintf("%03d", i)
		words := strings.Fields(text(uint64(1000+i), 60+i*740/n))
		at := func(share float64) []string { return words[:int(share*float64(len(words)))] }
		var kept []string
		for s := range slices.Chunk(words, 9) {
			if r.IntN(5) > 1 {
				kept = append(kept, s...)
			}
		}
		before, after := text(uint64(5000+i), len(words)), text(uint64(8000+i), 2*len(words))
		for kind, words := range map[string][]string{"whole": words, "cut": at(.3), "left": kept, "inside": slices.Concat([]string{before}, words, []string{after})} {
			docs = append(docs, page{kind + of, strings.Join(words, " ")})
		}
	}
	slices.SortFunc(docs, func(a, b page) int { return strings.Compare(a.id, b.id) })
	docs = append(docs, page{"zcopy000", docs[slices.IndexFunc(docs, func(p page) bool { return p.id == "whole000" })].text})
	return docs
}

func write(t *testing.T, docs []page) string {
	t.Helper()
	lines := make([]string, len(docs))
	for i, d := range docs {
		line, err := json.Marshal(map[string]string{"id": d.id, "text": d.text})
		if err != nil {
			t.Fatal(err)
		}
		lines[i] = string(line)
	}
	return jsonl(t, filepath.Join(t.TempDir(), "in.jsonl"), lines...)
}

// A run finds the texts that contain others, as comparing all does, whichever
// way it joins; they stand in matches and pairs.
func TestContained(t *testing.T) {
	n := sized(50)
	docs := contained(n)
	in := write(t, docs)
	for _, preset := range []string{config.PresetBalanced, config.PresetThorough} {
		cfg, err := config.Default().WithPreset(preset)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Match.AllPairs, cfg.Match.Containment = true, 0.8
		want, best := verifiedPairs(t, cfg, docs)
		for _, memory := range []string{"", "102400"} {
			cfg.Execution.Memory = memory
			out := filepath.Join(t.TempDir(), "out")
			s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg})
			got := readVerdicts(t, out, rundir.Pairs)
			if !maps.Equal(got, want) {
				t.Errorf("%s: %d pairs, want %d: %s", preset, len(got), len(want), firstOther(got, want))
			}
			found, pairs := map[string]int{}, 0
			for p, verdict := range got {
				if (verdict == data.Contained.String() || verdict == data.Contains.String()) && p[1] != "zcopy000" { // which whole000 stands for
					pairs++
				}
				if rest, ok := strings.CutPrefix(p[1], "whole"); ok && strings.HasSuffix(p[0], rest) {
					found[p[0][:len(p[0])-3]+" "+verdict]++
				}
			}
			if found["cut contained"] < n-1 || found["inside contains"] < n-1 || found["left contained"]+found["left texts alike"]+found["left sketches alike"] < n-1 {
				t.Errorf("%s: %v of %d each", preset, found, n)
			}
			missing := maps.Clone(best)
			for p, verdict := range readVerdicts(t, out, rundir.Matches) {
				if best[p[0]] != [2]string{p[1], verdict} {
					t.Errorf("%s: %v %s, want %v", preset, p, verdict, best[p[0]])
				}
				delete(missing, p[0])
			}
			if int(s.Contained) != pairs {
				t.Errorf("%s: %d pairs contained, want %d", preset, s.Contained, pairs)
			}
			if len(missing) > 0 {
				t.Errorf("%s: %d best matches are missing", preset, len(missing))
			}
		}
	}
}

// clustersOf are the rows of a run's clusters, by id.
func clustersOf(t *testing.T, out string) map[string]data.ClusterRow {
	t.Helper()
	of := map[string]data.ClusterRow{}
	eachRow(t, out, rundir.Clusters, &data.Clusters, func(_ int, row *data.ClusterRow) { of[string(row.DocID)] = *row })
	return of
}

// Containment joins components that contain each other and no third: a digest and
// the one of its stories that the input has are versions, of a digest and two
// stories none. The clean dump keeps a document of all of them, unless it is told
// to leave out what another one contains that stays.
func TestContainedInTheCleanDump(t *testing.T) {
	part := func(seed uint64) string { return strings.Join(strings.Fields(text(seed, 300))[:80], " ") }
	digest := text(1, 300) + " " + text(2, 300)
	in := write(t, []page{
		{"part", part(1)}, {"digest", digest}, {"part again", part(1) + " again"}, {"other", text(3, 200)},
		{"story 4", text(4, 200)}, {"digest 45", strings.Join([]string{text(4, 200), text(5, 200), text(6, 200)}, " ")}, {"story 5", text(5, 200)},
	})
	for _, c := range []struct {
		contained string
		joined    bool
		kept      int64
		clusters  map[string]string // by document: its cluster, component, versions, size, and whether it stays
	}{
		{config.ContainedKeep, true, 6, map[string]string{"part": "part again part part 2 false", "part again": "part again part part 2 true", "digest": "digest  part 1 true"}},
		{config.ContainedDrop, true, 3, map[string]string{
			"part": "digest part part 3 false", "part again": "digest part part 3 false", "digest": "digest  part 3 true",
			"story 4": "digest 45   3 false", "story 5": "digest 45   3 false", "digest 45": "digest 45   3 true",
		}},
		{config.ContainedKeep, false, 6, map[string]string{"part": "part again part  2 false", "part again": "part again part  2 true"}},
	} {
		cfg, err := config.Default().WithPreset(config.PresetThorough)
		if err != nil {
			t.Fatal(err)
		}
		if !cfg.Clusters.Contained {
			t.Fatal("containment joins no clusters unless it is told to")
		}
		cfg.Output.Contained, cfg.Clusters.Contained = c.contained, c.joined
		out := filepath.Join(t.TempDir(), "out")
		s := runJob(t, 1, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg})
		checkRemoved(t, out, s)
		joined := int64(0)
		if c.joined {
			joined = 1
		}
		if s.Contained != 4 || s.Matched != 6 || s.Clustered+s.Alone != int64(len(c.clusters)) || s.Joined != joined || s.Kept != c.kept {
			t.Errorf("%s, joined %t: %+v", c.contained, c.joined, s)
		}
		got := map[string]string{}
		for id, row := range clustersOf(t, out) {
			got[id] = fmt.Sprintf("%s %s %s %d %t", row.ClusterID, row.Component, row.Versions, row.Size, row.Representative)
		}
		if !maps.Equal(got, c.clusters) {
			t.Errorf("%s, joined %t: clusters %q, want %q", c.contained, c.joined, got, c.clusters)
		}
	}
}

// Whether containment joins components changes one column of clusters, and nothing
// else: the clean dump, what it leaves out and for what, and all that later
// nights go by are the same, as are the nights that go by it.
func TestContainedChangesClustersAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	docs := contained(sized(40))
	for i, d := range docs[:len(docs)-1] {
		if i%3 == 0 {
			docs = append(docs, page{"copy of " + d.id, d.text + " copied"})
		}
	}
	dir, nights := t.TempDir(), []string{"2026-11-01", "2026-11-02", "2026-11-03"}
	rand.New(rand.NewPCG(3, 3)).Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	for i, night := range nights { // each has two thirds of the documents, under ids of its own
		var lines []string
		for j, d := range docs {
			if j%3 != i {
				lines = append(lines, fmt.Sprintf(`{"id":"%d %s","text":%q}`, i, d.id, d.text))
			}
		}
		jsonl(t, filepath.Join(dir, night+".jsonl"), lines...)
	}
	configs := []config.Config{
		{Output: config.Output{Contained: config.ContainedKeep, History: config.HistoryDrop}, Clusters: config.Clusters{Keep: config.KeepLongest}},
		{Output: config.Output{Contained: config.ContainedKeep, History: config.HistoryKeep}, Clusters: config.Clusters{Keep: config.KeepFirst}},
		{Output: config.Output{Contained: config.ContainedDrop, History: config.HistoryKeep}, Clusters: config.Clusters{Keep: config.KeepEarliest}},
	}
	if testing.Short() {
		configs = configs[:1]
	}
	for _, c := range configs {
		said := map[bool][]string{}
		joined := int64(0)
		for _, contained := range []bool{false, true} {
			cfg, err := config.Default().WithPreset(config.PresetThorough)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Output.Contained, cfg.Output.History, cfg.Clusters = c.Output.Contained, c.Output.History, c.Clusters
			cfg.Clusters.Contained = contained
			cfg.Library.Path = filepath.Join(t.TempDir(), "lib")
			for _, night := range nights {
				cfg.Library.Night = night
				out := filepath.Join(t.TempDir(), night)
				s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, night+".jsonl")}, Out: out, Config: cfg})
				checkRemoved(t, out, s)
				joined += s.Joined
				said[contained] = append(said[contained], readFile(t, filepath.Join(out, rundir.Clean, "part-00000.jsonl")))
				eachRow(t, out, rundir.Removed, &data.Removed, func(_ int, row *data.RemovedRow) {
					said[contained] = append(said[contained], fmt.Sprintf("%s %+q", row.DocID, fmt.Sprint(*row)))
				})
				clusters := clustersOf(t, out)
				checkNames(t, night, clusters, s.Library.Continued)
				for id, row := range clusters {
					if row.Size > 1 || len(row.Component) > 0 {
						row.Versions = nil
						said[contained] = append(said[contained], fmt.Sprintf("%s %s %+q", night, id, fmt.Sprint(row)))
					}
				}
				said[contained] = append(said[contained], fmt.Sprint(s.Kept, s.Library.Merges))
			}
			for _, table := range []string{"documents", "merges"} {
				paths, err := filepath.Glob(filepath.Join(cfg.Library.Path, table, "night=*", "*.parquet"))
				if err != nil || table == "documents" && len(paths) != len(nights) {
					t.Fatal(paths, err)
				}
				for _, path := range paths {
					said[contained] = append(said[contained], readFile(t, path))
				}
			}
			slices.Sort(said[contained])
		}
		if !slices.Equal(said[false], said[true]) {
			t.Errorf("%+v: containment has changed more than clusters", c)
			for i := range min(len(said[false]), len(said[true])) {
				if said[false][i] != said[true][i] {
					t.Fatalf("%.300q\n%.300q", said[false][i], said[true][i])
				}
			}
		}
		if joined == 0 {
			t.Errorf("%+v: nothing was joined", c)
		}
	}
}

// checkNames expects of versions that continue earlier components the id of the
// eldest of these, of others and of clusters that stay one of the night.
func checkNames(t *testing.T, night string, clusters map[string]data.ClusterRow, continued int64) {
	t.Helper()
	eldest, components := map[string]string{}, map[string]bool{}
	for doc, row := range clusters {
		id, component := string(row.Versions), string(row.Component)
		if have := eldest[id]; component != "" && (have == "" || component < have) {
			eldest[id] = component
		}
		components[component] = true
		if cluster := string(row.ClusterID); row.Representative && cluster != history.FoundedCluster(night, []byte(doc)) || !strings.Contains(cluster, "/") {
			t.Errorf("night %s: the cluster of %s is %s", night, doc, cluster)
		}
	}
	for _, row := range clusters {
		id := string(row.Versions)
		if e := eldest[id]; id != "" && e != "" && e < night && id != e {
			t.Errorf("night %s: versions %s continue %s", night, id, e)
		} else if id != "" && e >= night && !strings.HasPrefix(id, night+"/") {
			t.Errorf("night %s: versions %s begin", night, id)
		}
	}
	before := int64(0)
	for id := range components {
		if id != "" && id < night {
			before++
		}
	}
	if before != continued {
		t.Errorf("night %s: %d components continue earlier ones, the summary says %d", night, before, continued)
	}
}

// A page that is little more than a note that many pages carry is contained in none of
// them. A page of a story is, in the page that has the story and more.
func TestNoteIsNotContained(t *testing.T) {
	note, story := text(1, 60), text(2, 60)
	docs := []page{{"story", story}, {"report", text(3, 200) + " " + story}, {"bare", note}}
	for i := range uint64(8) {
		docs = append(docs, page{fmt.Sprint("column", i), text(10+i, 200) + " " + note})
	}
	cfg, err := config.Default().WithPreset(config.PresetThorough)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Match.AllPairs = true
	for _, c := range []struct {
		docs []page
		want map[[2]string]string
	}{
		{docs, map[[2]string]string{{"story", "report"}: "contained"}},
		{docs[:5], map[[2]string]string{{"story", "report"}: "contained", {"bare", "column0"}: "contained", {"bare", "column1"}: "contained"}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{write(t, c.docs)}, Out: out, Config: cfg})
		if got := readVerdicts(t, out, rundir.Pairs); !maps.Equal(got, c.want) {
			t.Errorf("of %d documents: %v, want %v", len(c.docs), got, c.want)
		}
	}
}
