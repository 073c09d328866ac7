package dedup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/sample"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/dedup"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/simhash"
)

// The groups are the clusters of a run over the same texts, and the
// representatives its.
func TestDedupIsARun(t *testing.T) {
	raw, err := sample.Files().(interface {
		ReadFile(name string) ([]byte, error)
	}).ReadFile("pages-01.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for line := range strings.Lines(string(raw)) {
		var page struct{ Text string }
		if json.Unmarshal([]byte(line), &page) == nil && page.Text != "" {
			texts = append(texts, page.Text, page.Text+" 1", strings.Replace(page.Text, "的", "", 1))
		}
	}
	texts = append(texts, "", "好", "好", "")
	dir := t.TempDir()
	var lines strings.Builder
	out := json.NewEncoder(&lines)
	for i, text := range texts {
		if err := out.Encode(map[string]string{"id": strconv.Itoa(i), "text": text}); err != nil {
			t.Fatal(err)
		}
	}
	in := filepath.Join(dir, "in.jsonl")
	if err := os.WriteFile(in, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Features.StripBoilerplate, cfg.Output.Clean = false, false
	run := filepath.Join(dir, "run")
	if _, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: run, Config: cfg, Engine: local.New(2)}); err != nil {
		t.Fatal(err)
	}
	clusters, err := parquet.OpenTable(filepath.Join(run, "clusters", "part-00000.parquet"), &data.Clusters, parquet.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer clusters.Close()
	of := map[string]*dedup.Group{}
	var want []string
	var order []string
	for row := (data.ClusterRow{}); clusters.Read(&row) == nil; {
		g, doc := of[string(row.ClusterID)], int(row.Row)
		if g == nil {
			g = &dedup.Group{}
			of[string(row.ClusterID)] = g
			order = append(order, string(row.ClusterID))
		}
		if g.Texts = append(g.Texts, doc); row.Representative {
			g.Keep = doc
		}
	}
	for _, id := range order {
		want = append(want, fmt.Sprint(*of[id]))
	}
	groups, err := dedup.Dedup(texts)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprint(g))
	}
	if len(want) < 20 || !slices.Equal(got, want) {
		t.Errorf("%d groups, the run has %d:\n%v\n%v", len(got), len(want), got, want)
	}
}

// Pairs are those of brute force, of 64 bits and of 128.
func TestPairsEqualBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, wide := range []bool{false, true} {
		var prints []simhash.Fingerprint
		for i := range 300 {
			f := simhash.Fingerprint{Lo: rng.Uint64()}
			if wide {
				f.Hi = rng.Uint64()
			}
			if i%2 == 1 {
				f = prints[rng.IntN(i)]
				for range i % 6 {
					f.Lo ^= 1 << rng.IntN(64)
				}
			}
			prints = append(prints, f)
		}
		for k := range 7 {
			var want []dedup.Pair
			for a := range prints {
				for b := a + 1; b < len(prints); b++ {
					if d := simhash.Distance(prints[a], prints[b]); d <= k {
						want = append(want, dedup.Pair{A: a, B: b, Distance: d})
					}
				}
			}
			got, err := dedup.Pairs(prints, k)
			if err != nil || len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("k = %d: %d pairs, %v, want %d", k, len(got), err, len(want))
			}
		}
	}
	if _, err := dedup.Pairs(make([]simhash.Fingerprint, 2), 65); err == nil {
		t.Error("distance 65 of 64 bits is taken")
	}
}

// Nothing is no group.
func TestDedupOfNothing(t *testing.T) {
	for _, texts := range [][]string{nil, {""}, {"", ""}, {"one text"}} {
		if groups, err := dedup.Dedup(texts); err != nil || len(groups) != 0 {
			t.Errorf("%q: %v, %v", texts, groups, err)
		}
	}
}
