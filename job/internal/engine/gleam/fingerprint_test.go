//go:build linux

package gleam

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
)

func TestMainTakesItsOwn(t *testing.T) {
	var log strings.Builder
	if code, ours := Main([]string{"run", "-gleam.guard=x"}, nil, nil, &log); ours || code != 0 {
		t.Errorf("an argument of the user was taken: %d, %v", code, ours)
	}
	if code, ours := Main([]string{attempt.ArgID + "1"}, nil, nil, &log); !ours || code != 1 || !strings.Contains(log.String(), "missing") {
		t.Errorf("got %d, %v, %q", code, ours, log.String())
	}
	args := []string{attempt.ArgDir + "/g", attempt.ArgID + "1", attempt.ArgStage, "nonsense", "-flow.taskId", "1"}
	p, err := attempt.ParseProcess(args)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := newWorker(p, splitStages, nil, nil, nil); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("%q: got %+v, %v", args, w, err)
	}
}

func TestDeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		splits := make([]data.Split, rapid.IntRange(1, 30).Draw(t, "splits"))
		total, largest := int64(0), int64(0)
		for i := range splits {
			splits[i] = data.Split{Size: rapid.Int64Range(0, 1000).Draw(t, "size"), End: -1}
			total += max(splits[i].Size, 1)
			largest = max(largest, splits[i].Size, 1)
		}
		tasks := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range splits {
				if !yield(i) {
					return
				}
			}
		})).Draw(t, "tasks")
		n := rapid.IntRange(1, 6).Draw(t, "lanes")
		seen := make([]int, len(splits))
		for _, lane := range deal(tasks, n, func(t int) int64 { return splitSize(splits[t]) }) {
			load := int64(0)
			for _, task := range lane {
				seen[task]++
				load += max(splits[task].Size, 1)
			}
			// Longest first is within 4/3 of the best; a bound without the best.
			if load > total/int64(n)+largest {
				t.Fatalf("a lane of %d where %d in all are dealt to %d, the largest %d", load, total, n, largest)
			}
		}
		for task, count := range seen {
			if count != 1 {
				t.Fatalf("task %d was dealt %d times", task, count)
			}
		}
	})
}

func TestLanes(t *testing.T) {
	three := []cluster.Agent{{Slots: 8}, {Slots: 8}, {Slots: 8}}
	for _, c := range []struct {
		agents                        []cluster.Agent
		workers, tasks, lanes, shares int
	}{
		{three, 0, 100, 6, 2},
		{three, 0, 4, 4, 1},
		{three, 0, 1, 2, 1},
		{three, 12, 100, 12, 4},
		{three, 99, 100, 23, 7},
		{[]cluster.Agent{{Slots: 1}}, 0, 9, 2, 2},
	} {
		lanes := lanes(c.agents, c.workers, c.tasks)
		if shares := share(c.agents, lanes); lanes != c.lanes || shares != c.shares {
			t.Errorf("%+v: got %d lanes, %d of a host", c, lanes, shares)
		}
	}
}

// The agents are asked for the files that are to be read: an archive that is
// fingerprinted may be gone.
func TestFinishedFilesAreNotLookedAt(t *testing.T) {
	dir := t.TempDir()
	var splits []data.Split
	for _, name := range []string{"a", "b", "b", "c", "d"} {
		splits = append(splits, data.Split{Path: filepath.Join(dir, name)})
	}
	for _, name := range []string{"b", "d"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := inputFiles(config.Config{}, splits, []int{4, 1, 2})
	if err != nil || len(files) != 2 || files[0].Path != splits[1].Path || files[1].Path != splits[4].Path {
		t.Errorf("%v, %v: want b and d", files, err)
	}
	for _, setting := range []func(*config.Features){func(f *config.Features) { f.StopList = "no list" }, func(f *config.Features) { f.Templates = "no model" }} {
		var cfg config.Config
		setting(&cfg.Features)
		if _, err := inputFiles(cfg, splits, []int{4}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", cfg.Features.Files(), err)
		}
	}
	if _, err := inputFiles(config.Config{}, splits, []int{4, 1, 2, 3}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), splits[3].Path) {
		t.Errorf("got %v, want that c is gone", err)
	}
}
