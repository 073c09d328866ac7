//go:build linux

package gleam

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
)

// runsEqual has both engines execute the request, each into a folder of its own,
// and compares all that a run is for.
func runsEqual(t *testing.T, c *testCluster, req job.Request) {
	t.Helper()
	var dirs [2]*rundir.Dir
	var sums [2]*job.Summary
	for i, e := range []engine.Engine{local.New(2), newEngine(t, Options{Master: c.master})} {
		req.Engine, req.Out, req.Log = e, filepath.Join(t.TempDir(), "run"), testLog(t)
		var err error
		if sums[i], err = job.Run(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if dirs[i], err = rundir.Attach(req.Out); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range rundir.Outputs {
		sameFiles(t, dirs[0], dirs[1], folder)
	}
	a, b := sums[0], sums[1]
	if fmt.Sprint(a.Skipped, a.LengthClasses, a.Languages) != fmt.Sprint(b.Skipped, b.LengthClasses, b.Languages) ||
		a.Kept != b.Kept || a.Dropped != b.Dropped || a.Pairs != b.Pairs || a.Clusters != b.Clusters {
		t.Errorf("got %+v, want %+v", b, a)
	}
	if a.Pairs < 10 || a.Clusters < 3 || req.Command == job.CommandRun && a.Dropped < 3 {
		t.Errorf("%d pairs: the test shows nothing", a.Pairs)
	}
	c.left(dirs[1].Path())
}

// crawl is a dump of several formats: extracted pages, lines, compressed lines.
func crawl(t *testing.T) string {
	t.Helper()
	input := t.TempDir()
	dump(t, input)
	if err := os.CopyFS(filepath.Join(input, "sample"), os.DirFS(filepath.Join(root, "data", "sample"))); err != nil {
		t.Fatal(err)
	}
	return input
}

// Whole runs give the bytes of the local engine, the clean dump included, in
// every preset and width, from documents and from fingerprints.
func TestRunsEqualLocal(t *testing.T) {
	needCluster(t)
	skipShort(t)
	t.Parallel()
	c := startCluster(t, 3, 4)
	input := crawl(t)
	presets, widths := []string{config.PresetThorough}, []int{64}
	if long() {
		presets, widths = config.Presets(), []int{32, 64, 128}
	}
	for _, preset := range presets {
		for _, bits := range widths {
			t.Run(fmt.Sprintf("%s/%d bits", preset, bits), func(t *testing.T) {
				cfg := presetConfig(t, preset, bits)
				cfg.Input.SplitBytes, cfg.Match.AllPairs = 100<<10, true
				runsEqual(t, c, job.Request{Command: job.CommandRun, Inputs: []string{input}, Config: cfg})
				cfg.Clusters.Keep, cfg.Match.AllPairs, cfg.Output.Clean = config.KeepEarliest, false, false
				if long() {
					runsEqual(t, c, job.Request{Command: job.CommandRun, Inputs: []string{input}, Config: cfg})
				}
			})
		}
	}
	t.Run("standard input", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(input, "sample", "pages-01.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "run")
		s, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: []string{"-"}, Stdin: bytes.NewReader(text), Out: out, Config: config.Default(), Engine: newEngine(t, Options{Master: c.master}), Log: testLog(t)})
		if err != nil || s.Documents < 10 || s.Kept+s.Dropped != s.Documents {
			t.Errorf("%+v, %v", s, err)
		}
	})
	t.Run("fingerprints", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "run")
		_, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: []string{input}, Out: out, Config: config.Default(), Engine: local.New(2), Log: testLog(t)})
		if err != nil {
			t.Fatal(err)
		}
		cfg := config.Default()
		cfg.Match.AllPairs = true
		runsEqual(t, c, job.Request{Command: job.CommandMatch, Inputs: []string{filepath.Join(out, rundir.Fingerprints)}, Config: cfg, Columns: data.ForeignColumns{}})
	})
}

// Once the pages are extracted their archives may go: the run ends on the
// cluster with its own texts.
func TestInputIsGone(t *testing.T) {
	needCluster(t)
	skipShort(t)
	t.Parallel()
	c := startCluster(t, 2, 4)
	runs := newFaultRuns(t)
	for _, stage := range []string{stage.Texts, stage.Write} {
		t.Run(stage, func(t *testing.T) {
			gone := 0
			for _, split := range runs.manifest.Splits {
				if input.KeepsTexts(runs.manifest, split) {
					gone++
					if err := os.Rename(split.Path, split.Path+".gone"); err != nil {
						t.Fatal(err)
					}
					defer func() {
						if err := os.Rename(split.Path+".gone", split.Path); err != nil {
							t.Error(err)
						}
					}()
				}
			}
			if gone == 0 {
				t.Fatal("no split keeps its texts: the test shows nothing")
			}
			dir := runs.begun(t, stage)
			if wrong, err := runs.each(t.Context(), t, newEngine(t, Options{Master: c.master}), dir, stage); wrong != "" || err != nil {
				t.Error(wrong, err)
			}
			c.left(dir.Path())
		})
	}
}
