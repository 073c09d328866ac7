package plan_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/plan"
	"github.com/neardup/neardup/job/internal/rundir"
)

// sharing writes n documents whose sentences come from a pool, with a footer that
// every third has, and short texts that share a phrase.
func sharing(t *testing.T, n, files int) string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 3))
	sentence := func() string {
		var words []string
		for range 24 {
			words = append(words, fmt.Sprintf("w%d", r.IntN(40_000)))
		}
		return strings.Join(words, " ") + "."
	}
	pool := make([]string, 2*n)
	for i := range pool {
		pool[i] = sentence()
	}
	footer := sentence()
	for f := range files {
		var b strings.Builder
		for i := range n / files {
			var text []string
			if i%10 == 0 {
				text = []string{fmt.Sprintf("the same offer of shop %d in week %d", r.IntN(900), r.IntN(50))}
			} else {
				for range 6 + r.IntN(6) {
					text = append(text, pool[r.IntN(len(pool))])
				}
			}
			if i%3 == 1 && len(text) > 1 {
				text = append(text, footer)
			}
			fmt.Fprintf(&b, "{\"id\":\"%d-%d\",\"text\":%q}\n", f, i, strings.Join(text, " "))
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%d.jsonl", f)), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Texts that share sentences bring documents together, more with each document: the
// plan counts on about as many such pairs as the run then has. What very many share
// brings none.
func TestMeetings(t *testing.T) {
	if testing.Short() {
		t.Skip("a run of 1,800 documents that share sentences")
	}
	const n = 1800
	dir := sharing(t, n, 6)
	cfg, err := config.Default().WithPreset(config.PresetThorough)
	if err != nil {
		t.Fatal(err)
	}
	open, short, err := plan.Meetings(t.Context(), cfg, []string{dir}, plan.Options{Documents: n / 3, Workers: 2}, n)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Output.Clean = false
	out := filepath.Join(t.TempDir(), "out")
	s, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: []string{dir}, Out: out, Config: cfg, Engine: local.New(2)})
	if err != nil {
		t.Fatal(err)
	}
	var verified rundir.TaskRecord
	if err := rundir.ReadJSON(filepath.Join(out, rundir.Tasks, "verify-00000.json"), &verified); err != nil {
		t.Fatal(err)
	}
	candidates := int64(0)
	for _, table := range s.Tables {
		if table.Table == "short texts" {
			candidates = table.Candidates
		}
	}
	for _, of := range []struct {
		what              string
		planned, measured float64
	}{{"pairs that the texts decide", open, float64(verified.RowsIn)}, {"candidates of short texts", short, float64(candidates)}} {
		if of.measured < 50 || of.planned < of.measured/2 || of.planned > of.measured*2 {
			t.Errorf("%s: %.0f planned, %.0f measured", of.what, of.planned, of.measured)
		}
	}
	if classic, err := cfg.WithPreset(config.PresetClassic); err != nil {
		t.Fatal(err)
	} else if open, short, err := plan.Meetings(t.Context(), classic, []string{dir}, plan.Options{Documents: 300, Workers: 2}, n); err != nil || open+short > 0 {
		t.Errorf("classic, which verifies nothing: %v and %v, %v", open, short, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := plan.Meetings(ctx, cfg, []string{dir}, plan.Options{Documents: 300, Workers: 2}, n); err == nil {
		t.Error("it goes on when it is to stop")
	}
}

// Texts of one subject have near fingerprints, whether they are copies or not: the plan
// counts on about as many such pairs as the segment tables then bring together.
func TestNear(t *testing.T) {
	const n, subjects = 1500, 30
	r := rand.New(rand.NewPCG(4, 4))
	words := func(n int) string {
		var text strings.Builder
		for range n {
			fmt.Fprintf(&text, "w%d ", r.IntN(40_000))
		}
		return text.String()
	}
	var common [subjects]string
	for i := range common {
		common[i] = words(60)
	}
	dir := t.TempDir()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":\"%d\",\"text\":%q}\n", i, common[r.IntN(subjects)]+words(25))
	}
	if err := os.WriteFile(filepath.Join(dir, "part.jsonl"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Default().WithPreset(config.PresetThorough)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Output.Clean = false
	s, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: []string{dir}, Out: filepath.Join(t.TempDir(), "out"), Config: cfg, Engine: local.New(2)})
	if err != nil {
		t.Fatal(err)
	}
	measured := 0.0
	for _, table := range s.Tables {
		if table.Table[0] == '0' || table.Table[0] == '1' { // of a segment: 00A
			measured += float64(table.Candidates)
		}
	}
	for _, most := range []int{n, n / 5} {
		planned, err := plan.Near(t.Context(), cfg, []string{dir}, plan.Options{Documents: n / 3, Workers: 2}, most, n)
		if err != nil {
			t.Fatal(err)
		}
		if measured < 1000 || planned < 0.8*measured || planned > 1.25*measured {
			t.Errorf("%.0f pairs planned from at most %d documents, %.0f measured", planned, most, measured)
		}
	}
}

// Pairs of a sample that is all there is are these; there are never fewer of more
// documents; pairs of neighbours alone grow with the documents, those of documents
// that are far apart with their square.
func TestGrown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		documents := rapid.IntRange(8, 200).Draw(t, "documents")
		pair := rapid.Custom(func(t *rapid.T) [2]int {
			b := rapid.IntRange(1, documents-1).Draw(t, "b")
			return [2]int{rapid.IntRange(0, b-1).Draw(t, "a"), b}
		})
		pairs := rapid.SliceOfN(pair, 0, 30).Draw(t, "pairs")
		all := float64(len(pairs))
		last := plan.Grown(documents, pairs, float64(documents))
		for _, times := range []float64{2, 10, 1000} {
			next := plan.Grown(documents, pairs, times*float64(documents))
			if next < last || next < all {
				t.Fatalf("%v pairs of %v times the documents, %v of fewer", next, times, last)
			}
			last = next
		}
	})
	near, far := [][2]int{{0, 1}, {50, 51}}, [][2]int{{0, 99}, {1, 60}}
	if got := plan.Grown(100, near, 1000); math.Abs(got-20) > 1e-9 {
		t.Errorf("two pairs of neighbours are %v among ten times as many documents", got)
	}
	if one, ten := plan.Grown(100, far, 1000), plan.Grown(100, far, 10_000); math.Abs(ten/one-100) > 1e-6 || one < 200 {
		t.Errorf("pairs far apart: %v, of ten times as many documents %v", one, ten)
	}
}

// Of keys whose numbers of documents follow Zipf's law those that the sample has so
// often are as likely to be small in the run as the formula says.
func TestAtMost(t *testing.T) {
	const times, most = 50, 128
	r := rand.New(rand.NewPCG(5, 5))
	keys, small := map[int]float64{}, map[int]float64{}
	for range 400_000 {
		documents := 2 / (1 - r.Float64()) // density 1/f² from 2 on
		sampled, limit := 0, math.Exp(-documents/times)
		for p := r.Float64(); p > limit && sampled < 50; p *= r.Float64() {
			sampled++
		}
		keys[sampled]++
		if documents <= most {
			small[sampled]++
		}
	}
	for sampled := 2; sampled <= 5; sampled++ {
		measured, got := small[sampled]/keys[sampled], plan.AtMost(most, sampled, times)
		if keys[sampled] < 500 || math.Abs(got-measured) > 0.05 {
			t.Errorf("%d documents in the sample: %.3f, of %.0f keys %.3f", sampled, got, keys[sampled], measured)
		}
	}
	if one, few := plan.AtMost(most, 1, times), plan.AtMost(most, most, 1); one != 1 || few < 0.3 || few > 0.7 {
		t.Errorf("a key of one document: %v; as many as the most of a sample that is all there is: %v", one, few)
	}
}

// The table of sampled shingles is in memory with preset thorough alone.
func TestSamplesTakeMemory(t *testing.T) {
	dir := sharing(t, 300, 2)
	const n = 1_000_000
	peak := map[string]int64{}
	for _, name := range []string{config.PresetBalanced, config.PresetThorough} {
		var err error
		if peak[name], err = plan.Peak(t.Context(), name, []string{dir}, plan.Options{Documents: 300, Workers: 2}, n); err != nil {
			t.Fatal(err)
		}
	}
	if more := peak[config.PresetThorough] - peak[config.PresetBalanced]; more < n*50 {
		t.Errorf("thorough takes %d bytes more than balanced, for a million documents", more)
	}
}
