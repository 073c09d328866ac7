package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage/intake"
	"github.com/neardup/neardup/job/internal/stage/write"
)

// Each executes the tasks that it is given, tells of one at a time, and ends at
// the first error, of a task, of done, or of the context.
func TestEach(t *testing.T) {
	cfg := config.Default()
	dir := openRun(t)
	analyzer, release, err := method.NewAnalyzer(cfg.Features)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	}()
	job := newJob(cfg, dir)
	job.Analyzer = analyzer
	for i := range 5 {
		path := filepath.Join(t.TempDir(), "in.jsonl")
		if err := os.WriteFile(path, fmt.Appendf(nil, `{"id":"%d","text":"a text"}`, i), 0o600); err != nil {
			t.Fatal(err)
		}
		job.Splits = append(job.Splits, data.Split{Path: path, Format: "jsonl", Size: -1, End: -1})
	}
	var done []int
	note := func(rec rundir.TaskRecord) error { done = append(done, rec.Task); return nil }
	if err := New(3).Each(context.Background(), job, intake.Fingerprint, []int{0, 2, 4}, note); err != nil {
		t.Fatal(err)
	}
	slices.Sort(done)
	if !slices.Equal(done, []int{0, 2, 4}) {
		t.Errorf("tasks %v were done", done)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	stop := errors.New("stop")
	all := []int{0, 1, 2, 3, 4}
	for name, c := range map[string]struct {
		got  error
		want error
	}{
		"done":      {New(1).Each(context.Background(), job, intake.Fingerprint, all, func(rundir.TaskRecord) error { return stop }), stop},
		"cancelled": {New(2).Each(ctx, job, intake.Fingerprint, all, note), context.Canceled},
		"task":      {New(2).Each(context.Background(), job, write.Stage, all, note), fs.ErrNotExist},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
	// Without an analyzer the task breaks.
	if err := New(1).Each(context.Background(), &engine.Job{Config: cfg, Dir: dir, Splits: job.Splits}, intake.Fingerprint, all, note); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("of a task that panics: %v", err)
	}
}
