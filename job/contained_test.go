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
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
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
// way it joins; they stand in matches and pairs and in no cluster for it.
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
			for p, verdict := range readVerdicts(t, out, rundir.Matches) {
				if best[p[0]] != [2]string{p[1], verdict} {
					t.Errorf("%s: %v %s, want %v", preset, p, verdict, best[p[0]])
				}
				delete(best, p[0])
			}
			if int(s.Contained) != pairs {
				t.Errorf("%s: %d pairs contained, want %d", preset, s.Contained, pairs)
			}
			if len(best) > 0 {
				t.Errorf("%s: %d best matches are missing", preset, len(best))
			}
			for id, cluster := range clusterOf(t, out) {
				if strings.HasPrefix(id, "cut") || strings.HasPrefix(id, "inside") {
					t.Errorf("%s is in cluster %s", id, cluster)
				}
			}
			_, best = verifiedPairs(t, cfg, docs)
		}
	}
}

func clusterOf(t *testing.T, out string) map[string]string {
	t.Helper()
	of := map[string]string{}
	paths, err := rundir.Parts(out, rundir.Clusters)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		in, err := parquet.OpenTable(path, &data.Clusters, parquet.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var row data.ClusterRow
		for in.Read(&row) == nil {
			of[string(row.DocID)] = string(row.ClusterID)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return of
}

// The clean dump leaves out what another document contains only if it is told
// to, or if both are one cluster.
func TestContainedInTheCleanDump(t *testing.T) {
	in := write(t, []page{{"part", strings.Join(strings.Fields(text(1, 300))[:80], " ")}, {"whole", text(1, 300)}, {"other", text(2, 200)}})
	for _, c := range []struct {
		contained      string
		joined         bool
		kept, clusters int64
	}{{config.ContainedKeep, false, 3, 0}, {config.ContainedDrop, false, 2, 0}, {config.ContainedKeep, true, 2, 1}, {config.ContainedDrop, true, 2, 1}} {
		cfg, err := config.Default().WithPreset(config.PresetThorough)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Output.Contained, cfg.Clusters.Contained = c.contained, c.joined
		out := filepath.Join(t.TempDir(), "out")
		s := runJob(t, 1, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg})
		if s.Contained != 1 || s.Matched != 2 || s.Clusters != c.clusters || s.Kept != c.kept || s.Kept+s.Dropped != 3 {
			t.Errorf("%+v: %+v", c, s)
		}
		if of := clusterOf(t, out); c.joined && (len(of) != 2 || of["part"] != "part" || of["whole"] != "part") {
			t.Errorf("%+v: clusters %v", c, of)
		}
	}
}
