package plan_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/plan"
)

// dump writes n documents of 60 to 160 words in files, and some bad lines.
func dump(n, files int) (string, error) {
	dir, err := os.MkdirTemp("", "plan")
	if err != nil {
		return "", err
	}
	r := rand.New(rand.NewPCG(1, 1))
	for f := range files {
		var b strings.Builder
		for i := range n / files {
			var words []string
			for range 60 + r.IntN(100) {
				words = append(words, fmt.Sprintf("word%d", r.IntN(9000)))
			}
			fmt.Fprintf(&b, "{\"id\":\"%d-%d\",\"text\":%q}\n", f, i, strings.Join(words, " "))
			if i%10 == 0 {
				b.WriteString("{broken\n")
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%d.jsonl", f)), []byte(b.String()), 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func TestPlan(t *testing.T) {
	dir, err := dump(3000, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var passes []string
	var total int64
	var done atomic.Int64
	p, err := plan.New(context.Background(), config.Default(), []string{dir}, plan.Options{Documents: 600, Workers: 2, Pass: func(n int64, unit string) func(int64) {
		passes = append(passes, fmt.Sprint(n, " ", unit))
		total += n
		return func(n int64) { done.Add(n) }
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(passes, ", "); got != "600 documents, 2400 documents, 3600 texts" || done.Load() != total {
		t.Errorf("passes over %s: %d of %d done", got, done.Load(), total)
	}
	if p.Documents != 3000 || p.Sampled != 600 || p.Splits != 3 || p.Skipped == 0 || p.LengthClasses["normal"] != 600 || p.ShortTexts > 0 {
		t.Errorf("%+v", p)
	}
	if len(p.Presets) != 3 || p.Recommended != config.PresetBalanced && p.Recommended != config.PresetThorough {
		t.Fatalf("recommends %s of %+v", p.Recommended, p.Presets)
	}
	classic, balanced, thorough := p.Presets[0], p.Presets[1], p.Presets[2]
	if balanced.Recall.Value < 0.8 || balanced.Precision.Value < 0.99 || classic.Recall.Value > balanced.Recall.Value || thorough.Recall.Value < balanced.Recall.Value-0.03 {
		t.Errorf("classic %+v, balanced %+v, thorough %+v", classic, balanced, thorough)
	}
	// Of five times as many documents, classic's precision is less certain.
	if of := eval.NewShare(classic.Precision.Have, classic.Precision.Of); of.Value < 1 || classic.Precision.Value != 1 || classic.Precision.Low > 0.95*of.Low {
		t.Errorf("precision of classic %+v, of the sample %+v", classic.Precision, of)
	}
	for _, r := range p.Presets {
		if !(r.Fingerprint > 0 && r.Match > 0 && r.Clean > 0) || math.Abs(r.Total-r.Fingerprint-r.Match-r.Clean) > 1e-9 || r.Memory < 200<<20 || r.Memory > 300<<20 ||
			r.CPU < r.Total || r.CPU > 2.01*r.Total || r.Disk < p.Bytes || r.Disk > p.Bytes+300*p.Documents || r.Scratch < 20*p.Documents || r.Scratch > 300*p.Documents {
			t.Errorf("%+v", r)
		}
	}
	if thorough.Match <= balanced.Match || balanced.Match <= classic.Match {
		t.Errorf("matching takes %v, %v, %v", classic.Match, balanced.Match, thorough.Match)
	}
	if _, err := config.ParseBytes(p.Memory); err != nil {
		t.Error(err)
	}
}

// TestAgainst: of a run against a reference a plan says what it takes and finds, and has
// no presets.
func TestAgainst(t *testing.T) {
	dir, err := dump(3000, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	dumped, err := os.ReadFile(filepath.Join(dir, "part-1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(dumped), "\n") // a document of the sample
	evals := filepath.Join(t.TempDir(), "evals.jsonl")
	if err := os.WriteFile(evals, []byte(line+"\n"+line+"\n{\"text\":\"short\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Against.Paths = []string{evals}
	look := func() *plan.Plan {
		t.Helper()
		p, err := plan.New(context.Background(), cfg, []string{dir}, plan.Options{Documents: 600, Workers: 2, Pass: func(int64, string) func(int64) { return func(int64) {} }})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := look()
	a := p.Against
	if a == nil || len(p.Presets) > 0 || p.Documents != 3000 || p.Sampled != 600 || p.TextBytes < 400 || p.Characters != p.TextBytes {
		t.Fatalf("%+v", p)
	}
	if s := a.Sets; len(s) != 1 || s[0].Name != "evals.jsonl" || s[0].Texts != 1 || s[0].Short != 1 || s[0].Repeated != 1 {
		t.Errorf("%+v", s)
	}
	if a.Hits.Have != 1 || a.Hits.Of != 600 || a.Left.Have != 1 {
		t.Errorf("hits %+v, left out %+v", a.Hits, a.Left)
	}
	if !(a.Load > 0 && a.Search > 0 && a.Clean > 0) || a.CPU < a.Total || a.CPU > 2.01*a.Total || a.Disk < p.Bytes/2 || a.Disk > 2*p.Bytes || a.Memory < 80<<20 || a.Memory > 200<<20 {
		t.Errorf("%+v", a)
	}
	if _, err := config.ParseBytes(p.Memory); err != nil {
		t.Error(err)
	}
	cfg.Against.Action, cfg.Output.Clean = config.AgainstKeep, false
	if a := look().Against; a.Hits.Have != 1 || a.Left.Have != 0 || a.Clean != 0 || a.Disk > 10_000 {
		t.Errorf("without a clean dump: %+v", a)
	}
	cfg.Against.Paths = []string{filepath.Join(dir, "none")}
	if _, err := plan.New(context.Background(), cfg, []string{dir}, plan.Options{}); !errors.As(err, new(*config.SettingError)) {
		t.Errorf("no reference: %v", err)
	}
}

// TestRecommended keeps the default unless another preset is better beyond the
// noise of the sample, or as good beyond it and cheaper.
func TestRecommended(t *testing.T) {
	for _, c := range []struct {
		classic, balanced, thorough, of int
		want                            string
	}{
		{600, 957, 962, 1000, config.PresetBalanced},
		{600, 950, 975, 1000, config.PresetThorough},
		{600, 930, 990, 1000, config.PresetThorough},
		{60, 93, 96, 100, config.PresetBalanced},    // too small a sample
		{990, 993, 994, 1000, config.PresetClassic}, // within a point, and half the price
		{9990, 9990, 9991, 10000, config.PresetClassic},
		{10, 10, 10, 10, config.PresetBalanced},
	} {
		if got := plan.Recommended([3]int{c.classic, c.balanced, c.thorough}, c.of); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestNothingToPlanBy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte("{broken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := plan.New(context.Background(), config.Default(), []string{path}, plan.Options{}); !errors.Is(err, plan.ErrNothing) {
		t.Errorf("got %v, want ErrNothing", err)
	}
}

func ExampleNew() {
	dir, err := dump(300, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := plan.New(context.Background(), config.Default(), []string{dir}, plan.Options{Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Documents, "documents in", p.Splits, "files")
	fmt.Println(os.RemoveAll(dir))
	// Output:
	// 300 documents in 3 files
	// <nil>
}

// TestLibrary counts the nights before, what they take, and what this one adds to
// them: within a quarter of what the run then adds.
func TestLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("plans and makes nights")
	}
	dir, err := dump(3000, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	lib := filepath.Join(t.TempDir(), "lib")
	cfg := config.Default()
	cfg.Library.Path = lib
	planned := func(cfg config.Config) *plan.Plan {
		t.Helper()
		p, err := plan.New(context.Background(), cfg, []string{dir}, plan.Options{Documents: 300, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	run := func(night string) *library.Manifest {
		t.Helper()
		cfg := cfg
		cfg.Library.Night = night
		if _, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: []string{dir}, Out: filepath.Join(t.TempDir(), night), Config: cfg, Engine: local.New(2)}); err != nil {
			t.Fatal(err)
		}
		m, err := library.ReadManifest(lib)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}

	before := planned(cfg)
	if l := before.Library; l == nil || l.Nights != 0 || l.Documents != 0 {
		t.Errorf("of no library: %+v", l)
	}
	m := run("2026-11-20")
	if added, planned := m.Bytes(), before.Presets[1].Growth; float64(planned) < 0.75*float64(added) || float64(planned) > 1.25*float64(added) {
		t.Errorf("it grows by %d bytes, of %d planned", added, planned)
	}
	run("2026-11-21")

	after := planned(cfg)
	if l := after.Library; l.Nights != 2 || l.Documents != 6000 || l.Path != lib {
		t.Errorf("of two nights: %+v", l)
	}
	for i, p := range after.Presets {
		if least := before.Presets[i].Library; least <= 0 || p.Library <= least || p.CPU <= p.Library || math.Abs(p.Total-p.Fingerprint-p.Match-p.Clean-p.Library) > 1e-9 {
			t.Errorf("%s: %+v, of an empty library %v", p.Name, p, least)
		}
	}
	cfg.Library.Night = "2026-11-21" // again: what comes after counts for nothing
	if l := planned(cfg).Library; l.Nights != 1 || l.Documents != 3000 {
		t.Errorf("before the second night: %+v", l)
	}
	cfg.Library = config.Library{}
	if p := planned(cfg); p.Library != nil || p.Presets[1].Library != 0 || p.Presets[1].Growth != 0 {
		t.Errorf("without a library: %+v", p)
	}
	cfg.Library.Path, cfg.Features.Bits = lib, 128
	if _, err := plan.New(context.Background(), cfg, []string{dir}, plan.Options{}); !errors.Is(err, library.ErrSettings) {
		t.Errorf("of other settings: %v", err)
	}
}
