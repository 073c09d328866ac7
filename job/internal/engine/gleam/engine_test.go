//go:build linux

package gleam

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
)

// injected is the fault that a test asked for, in the run directory that the
// worker's attempt stands in: stage, task, moment and what to do. It strikes
// once, but for "error"; the marks beside it tell the test.
func injected(w *worker, m moment) error {
	text, err := os.ReadFile(filepath.Join(w.spec.Run, "fault"))
	if err != nil {
		return nil
	}
	var stage, at, what string
	var task int
	if _, err := fmt.Sscan(string(text), &stage, &task, &at, &what); err != nil || stage != w.Stage || task != w.Task || moment(at) != m {
		return nil
	}
	mark := filepath.Join(w.spec.Run, "fault.at")
	if what != "error" {
		if _, err := os.Stat(mark); err == nil {
			return nil
		}
	}
	if err := data.WriteFileAtomic(mark, fmt.Append(nil, os.Getpid())); err != nil {
		return err
	}
	switch what {
	case "error", "error-once":
		return fmt.Errorf("made to fail")
	case "panic":
		panic("made to panic")
	case "garbage":
		if err := w.out.Flush(); err != nil {
			return err
		}
		_, err = w.stdout.Write([]byte("this is no row and has no length"))
		return err
	case "print":
		fmt.Println("a stray line")
	case "die":
		attempt.KillSelf()
	case "exit":
		os.Exit(3)
	case "hold":
		for began := time.Now(); time.Since(began) < patience && attempt.Gone(filepath.Join(w.spec.Run, "fault.go")); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

func openRun(t testing.TB) *rundir.Dir {
	t.Helper()
	dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// splitsOfViews is how many splits writeViews makes.
const splitsOfViews = 3

// writeViews lays documents into the run directory as the stages before the
// match leave them, in splits of different sizes, one of them empty.
func writeViews(t testing.TB, dir *rundir.Dir, cfg config.Config, docs []data.View) *corpus.Documents {
	t.Helper()
	for _, folder := range []string{corpus.ViewsFolder, exactdup.Folder} {
		if err := os.MkdirAll(dir.Path(rundir.State, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cut := len(docs) / 7
	for task, docs := range [splitsOfViews][]data.View{docs[:cut], nil, docs[cut:]} {
		out, err := views.Create(corpus.ViewPath(dir, task), method.ViewForm(cfg))
		if err != nil {
			t.Fatal(err)
		}
		for i := range docs {
			if err := out.Write(&views.Row{View: docs[i], ID: uint64(task*len(docs) + i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	documents, err := corpus.Open(dir, splitsOfViews)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var equal []exactdup.Document
	x := corpus.Deduper{Documents: documents, Rule: method.Rule(cfg.Match), Workers: 2, Memory: 1 << 30}
	err = x.Find(t.Context(), func(d exactdup.Document) error {
		mu.Lock()
		defer mu.Unlock()
		equal = append(equal, d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(equal, func(a, b exactdup.Document) int { return cmp.Compare(a.Doc, b.Doc) })
	for task := range splitsOfViews {
		var records []byte
		for _, d := range equal {
			if documents.Part(d.Doc) == task {
				records = exactdup.Append(records, d)
			}
		}
		if err := state.Write(corpus.ExactPath(dir, task), exactdup.FileKind, records); err != nil {
			t.Fatal(err)
		}
	}
	return documents
}

// matchJob is the job over what writeViews wrote.
func matchJob(t testing.TB, dir *rundir.Dir, cfg config.Config) *engine.Job {
	return &engine.Job{Config: cfg, Dir: dir, Splits: make([]data.Split, splitsOfViews), Log: testLog(t)}
}

func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// findPairs returns the pairs that an engine finds, in order.
func findPairs(ctx context.Context, t testing.TB, e engine.Engine, dir *rundir.Dir, cfg config.Config, documents *corpus.Documents) ([]data.Pair, error) {
	t.Helper()
	return findPairsOf(ctx, t, e, matchJob(t, dir, cfg), documents)
}

func findPairsOf(ctx context.Context, t testing.TB, e engine.Engine, job *engine.Job, documents *corpus.Documents) ([]data.Pair, error) {
	t.Helper()
	var mu sync.Mutex
	var pairs []data.Pair
	err := e.Match(ctx, job, documents, func(batch []data.Pair) error {
		mu.Lock()
		defer mu.Unlock()
		pairs = append(pairs, batch...)
		return nil
	})
	slices.SortFunc(pairs, comparePairs)
	// One whose texts decide may come several times.
	return slices.CompactFunc(pairs, func(a, b data.Pair) bool { return a == b && a.Evidence.Reason == data.Undecided }), err
}

func comparePairs(a, b data.Pair) int {
	return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
}

// presetConfig is of the preset.
func presetConfig(t testing.TB, preset string, bits int) config.Config {
	t.Helper()
	cfg, err := config.Default().WithPreset(preset)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Features.Bits = bits
	return cfg
}

// long says that the long form of the cluster tests was asked for.
func long() bool { return os.Getenv("NEARDUP_CLUSTER_LONG") != "" }

// variant is of the classic preset: n documents of so many bits, matched within k.
type variant struct{ bits, k, n int }

func (v variant) config() config.Config {
	cfg := config.Default()
	cfg.Features.Bits, cfg.Match.Distance, cfg.Match.Verify = v.bits, v.k, config.VerifyNone
	return cfg
}

func TestEqualsLocal(t *testing.T) {
	needCluster(t)
	t.Parallel()
	variants := map[int][]variant{
		3: {{64, 3, 20_000}},
		1: {{128, 5, 3_000}},
	}
	switch {
	case testing.Short():
		delete(variants, 3)
	case long():
		variants = map[int][]variant{
			3: {{64, 3, 300_000}, {128, 5, 3_000}, {64, 0, 5_000}, {64, 3, 2}, {64, 7, 3_000}, {32, 3, 5_000}},
			1: {{64, 3, 20_000}, {128, 3, 5_000}, {32, 2, 5_000}},
		}
	}
	for agents, vs := range variants {
		t.Run(fmt.Sprintf("%d agents", agents), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, agents, 12/agents)
			for _, v := range vs {
				matchEqualsLocal(t, c, v)
			}
			historyEqualsLocal(t, c)
			if agents == 1 && !long() {
				return
			}
			verifiedEqualsLocal(t, c)
			splitStagesEqualLocal(t, c)
			ownStageEqualsLocal(t, c)
		})
	}
}

func matchEqualsLocal(t *testing.T, c *testCluster, v variant) {
	pairsEqualLocal(t, c, v.config(), plantedtest.Prints(v.n, v.bits))
}

// verifiedEqualsLocal has sketches, short texts and samples ride the shuffle
// too.
func verifiedEqualsLocal(t *testing.T, c *testCluster) {
	presets := []string{config.PresetBalanced}
	if long() {
		presets = append(presets, config.PresetThorough)
	}
	for _, preset := range presets {
		for _, bits := range []int{64, 128} {
			cfg := presetConfig(t, preset, bits)
			cfg.Match.Containment = 0.8
			pairsEqualLocal(t, c, cfg, plantedtest.Views(4000, bits))
		}
	}
	pairsEqualLocal(t, c, presetConfig(t, config.PresetPiecewise, 64), plantedtest.Lengths(4000, 64))
}

func pairsEqualLocal(t *testing.T, c *testCluster, cfg config.Config, docs []data.View) {
	dir := openRun(t)
	documents := writeViews(t, dir, cfg, docs)
	here, there := matchJob(t, dir, cfg), matchJob(t, dir, cfg)
	want, err := findPairsOf(t.Context(), t, local.New(2), here, documents)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	got, err := findPairsOf(t.Context(), t, newEngine(t, Options{Master: c.master}), there, documents)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d documents, %+v: %d pairs in %v", documents.Len(), cfg.Match, len(got), time.Since(began))
	if documents.Len() > 100 && len(want) == 0 || !slices.Equal(got, want) {
		t.Fatalf("%d documents, %+v: got %d pairs, want %d", documents.Len(), cfg.Match, len(got), len(want))
	}
	if cfg.Features.Bits <= 64 && !slices.Equal(countsOf(there), countsOf(here)) { // of wide keys there are only bounds
		t.Errorf("counted here %+v, there %+v", countsOf(here), countsOf(there))
	}
	c.left(dir.Path())
	c.logged(dir.Path())
}

// countsOf are what was counted of each table, but for how the postings of a segment's
// key were grouped, and for the pairs of samples: in memory each is looked at once, and
// else for every value that the two share.
func countsOf(job *engine.Job) (counts []rundir.TableCount) {
	for _, c := range job.Tables {
		switch {
		case c.Table[0] == '0' || c.Table[0] == '1':
			c.Compared = 0
		case c.Table == mapper.Tables[mapper.Samples].Name:
			c.Candidates, c.Pairs = 0, 0
		}
		counts = append(counts, c)
	}
	return counts
}

// dump writes JSONL files: several, one of them empty, one far larger than
// the others, with records that cannot be used, and files of which none can.
func dump(t testing.TB, dir string) []data.Split {
	t.Helper()
	words := strings.Fields("crawl night page 网页 去重 指纹 相似 文档 the of near duplicate 中文 分词 cluster keeper")
	r := rand.New(rand.NewPCG(7, 7))
	for i, n := range []int{40, 0, 2000, 3, 60} {
		var b strings.Builder
		for j := range n {
			if j%50 == 13 {
				b.WriteString("{\"id\": broken\n")
				continue
			}
			var text []string
			for range 30 + r.IntN(50) {
				text = append(text, words[r.IntN(len(words))])
			}
			fmt.Fprintf(&b, "{\"id\":\"d%d-%d\",\"title\":\"t\",\"text\":%q}\n", i, j, strings.Join(text, " "))
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%d.jsonl", i)), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"part-2b.csv": "id,te\"xt\na,words\n", "part-2c.parquet": "PAR1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	splits, err := source.Expand([]string{dir}, source.ExpandOptions{SplitBytes: 100 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return splits
}

// manifestOf is that of a run over the splits.
func manifestOf(t testing.TB, cfg config.Config, splits []data.Split) rundir.Manifest {
	t.Helper()
	cfg.Features.StripBoilerplate = false // no stage before has learned templates
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rundir.Manifest{Version: rundir.LayoutVersion, ConfigHash: "cafe", Command: rundir.CommandRun, Config: text, Splits: splits}
}

// fingerprintRun executes all fingerprint tasks and returns their records
// without the times.
func fingerprintRun(t testing.TB, e engine.Engine, dir *rundir.Dir, splits []data.Split) ([]rundir.TaskRecord, error) {
	t.Helper()
	return eachTask(t.Context(), t, e, dir, stage.Fingerprint, manifestOf(t, config.Default(), splits))
}

// eachTask executes all tasks of a stage of the run with that manifest, and
// returns their records without the times.
func eachTask(ctx context.Context, t testing.TB, e engine.Engine, dir *rundir.Dir, stage string, m rundir.Manifest) ([]rundir.TaskRecord, error) {
	t.Helper()
	cfg := config.Default()
	if err := json.Unmarshal(m.Config, &cfg); err != nil {
		t.Fatal(err)
	}
	analyzer, release, err := method.NewAnalyzer(cfg.Features)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	}()
	var advanced, bytes atomic.Int64
	job := &engine.Job{Config: cfg, Hash: m.ConfigHash, Dir: dir, Manifest: m, Splits: m.Splits, Analyzer: analyzer, Log: testLog(t),
		Advance: func(n int64) { advanced.Add(n) }}
	tasks := make([]int, len(m.Splits))
	for i := range tasks {
		tasks[i] = i
	}
	records := make([]rundir.TaskRecord, len(tasks))
	at := slices.IndexFunc(splitStages, func(s engine.Stage) bool { return s.Name == stage })
	err = e.Each(ctx, job, splitStages[at], tasks, func(rec rundir.TaskRecord) error {
		if records[rec.Task].Stage != "" {
			t.Errorf("task %d was reported twice", rec.Task)
		}
		rec.Seconds = 0
		records[rec.Task] = rec
		bytes.Add(rec.Bytes)
		return nil
	})
	sample := splitStages[at].Sampled != nil // which is told of all bytes, and reads some
	if got, want := advanced.Load(), bytes.Load(); err == nil && got != want && !sample {
		t.Errorf("%s: it was told of %d bytes that were read, of %d", stage, got, want)
	}
	return records, err
}

// sameFiles compares all files in a folder of two run directories.
func sameFiles(t testing.TB, a, b *rundir.Dir, folder string) {
	t.Helper()
	names := func(d *rundir.Dir) (names []string) {
		entries, err := os.ReadDir(d.Path(folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	want := names(a)
	if got := names(b); !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", folder, got, want)
		return
	}
	for _, name := range want {
		x, err := os.ReadFile(a.Path(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(b.Path(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("%s/%s differs", folder, name)
		}
	}
}

// recordText is a task record as its file has it.
func recordText(t testing.TB, rec rundir.TaskRecord) string {
	t.Helper()
	text, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// splitStagesEqualLocal has a flow do what the local engine does: to sample, and to
// fingerprint.
func splitStagesEqualLocal(t *testing.T, c *testCluster) {
	splits := dump(t, t.TempDir())
	if len(splits) < 5 {
		t.Errorf("only %d splits", len(splits))
	}
	ours, theirs := openRun(t), openRun(t)
	m := manifestOf(t, config.Default(), splits)
	for _, name := range []string{stage.Learn, stage.Fingerprint} {
		want, err := eachTask(t.Context(), t, local.New(2), ours, name, m)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, err := eachTask(t.Context(), t, newEngine(t, Options{Master: c.master}), theirs, name, m)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d splits in %v", name, len(splits), time.Since(began))
		rows := int64(0)
		for i := range want {
			rows += want[i].RowsIn
			if g, w := recordText(t, got[i]), recordText(t, want[i]); g != w {
				t.Errorf("got %s, want %s", g, w)
			}
		}
		if rows == 0 {
			t.Errorf("%s has read nothing", name)
		}
	}
	for _, folder := range append(outputsOf[stage.Fingerprint], filepath.Join(rundir.State, "samples")) {
		sameFiles(t, ours, theirs, folder)
	}
	if logs, err := filepath.Glob(theirs.Path("logs", stage.Learn+"-*")); err != nil || len(logs) == 0 {
		t.Errorf("no flow has sampled: %v", err)
	}
	c.left(theirs.Path())
}

// Two runs that begin a flow at the same moment take different slots: the
// second waits until there are enough for it.
func TestTwoRunsTakeTurns(t *testing.T) {
	needCluster(t)
	skipShort(t)
	t.Parallel()
	const slots = 10 // a flow of the match stage takes 7
	c := startCluster(t, 1, slots)
	var group sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		dir, cfg := openRun(t), variant{64, 3, faultDocuments}.config()
		documents := writeViews(t, dir, cfg, plantedtest.Prints(faultDocuments, 64))
		e := newEngine(t, Options{Master: c.master, Stall: time.Minute})
		group.Go(func() {
			if _, err := findPairs(t.Context(), t, e, dir, cfg, documents); err != nil {
				t.Error(err)
			}
		})
	}
	go func() {
		defer close(done)
		group.Wait()
	}()
	most := 0
	for {
		select {
		case <-done:
			if most == 0 || most > slots { // agents tell their master now and then, so the most may be missed
				t.Errorf("%d of %d slots were taken at once", most, slots)
			}
			return
		case <-time.After(10 * time.Millisecond):
			agents, err := cluster.Agents(t.Context(), c.master)
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, cluster.Total(agents).Used)
		}
	}
}
