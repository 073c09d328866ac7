package local

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
	"github.com/neardup/neardup/job/internal/rundir"
)

// faultyRun is a run whose match takes every path, and how it is matched: in
// memory and by the disk.
func faultyRun(t *testing.T, verify string) (*rundir.Dir, *corpus.Documents, []config.Config) {
	dir := openRun(t)
	cfg := config.Default()
	cfg.Match.Verify = verify
	d := written(t, dir, cfg, 3, plantedtest.Views(sized(2000), 64))
	memory, disk := cfg, cfg
	memory.Execution.Memory, disk.Execution.Memory = "1GiB", "50KiB"
	return dir, d, []config.Config{memory, disk}
}

func discard([]data.Pair) error { return nil }

// The receiver's error comes back.
func TestReceiversErrorEndsMatch(t *testing.T) {
	stop := errors.New("stop")
	for _, verify := range []string{config.VerifyNone, config.VerifySketch} {
		dir, d, ways := faultyRun(t, verify)
		for _, cfg := range ways {
			for _, workers := range []int{1, 3} {
				err := New(workers).Match(context.Background(), newJob(cfg, dir), d, func([]data.Pair) error { return stop })
				if !errors.Is(err, stop) {
					t.Errorf("%s under %s: got %v", verify, cfg.Execution.Memory, err)
				}
			}
		}
	}
}

// countdown is a context that is cancelled when it has been asked so many times
// whether it is.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// step is how many looks further a match is cancelled next: in the short form, with
// which the race detector runs, not at every one of many.
func step(looks int64) int64 {
	if testing.Short() {
		return 1 + looks/4
	}
	return 1
}

// A match that is cancelled, before it begins or wherever it looks, returns the
// cancellation.
func TestCancellationEndsMatch(t *testing.T) {
	for _, verify := range []string{config.VerifyNone, config.VerifySketch} {
		dir, d, ways := faultyRun(t, verify)
		for _, cfg := range ways {
			job := newJob(cfg, dir)
			i := int64(0)
			for ; ; i += step(i) {
				ctx, cancel := context.WithCancel(context.Background())
				c := &countdown{Context: ctx, cancel: cancel}
				c.left.Store(i)
				err := New(2).Match(c, job, d, discard)
				ended := c.left.Load() < 0
				cancel()
				if ended != errors.Is(err, context.Canceled) || !ended && err != nil {
					t.Fatalf("%s under %s, cancelled at look %d: %t, got %v", verify, cfg.Execution.Memory, i, ended, err)
				}
				if !ended {
					break
				}
			}
			if i == 0 {
				t.Errorf("%s under %s never looks whether it is cancelled", verify, cfg.Execution.Memory)
			}
		}
	}
}

// Spilled data goes where the configuration says, and nothing stays there.
func TestSpillGoesToTmp(t *testing.T) {
	dir, d, ways := faultyRun(t, config.VerifySketch)
	cfg := ways[1]
	cfg.Execution.Tmp = t.TempDir()
	var seen []os.DirEntry
	err := New(1).Match(context.Background(), newJob(cfg, dir), d, func([]data.Pair) error {
		var err error
		seen, err = os.ReadDir(cfg.Execution.Tmp)
		return err
	})
	left, errLeft := os.ReadDir(cfg.Execution.Tmp)
	if err != nil || errLeft != nil || len(seen) != 1 || len(left) > 0 {
		t.Errorf("during the match %v, then %v; %v, %v", seen, left, err, errLeft)
	}
	cfg.Execution.Tmp += "/missing"
	if err := New(1).Match(context.Background(), newJob(cfg, dir), d, discard); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("without the folder: %v", err)
	}
}

// Damaged views end the match, which names the file.
func TestDamagedViewsEndMatch(t *testing.T) {
	dir, d, ways := faultyRun(t, config.VerifySketch)
	path := corpus.ViewPath(dir, 1)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 100; i < len(b)/2; i += len(b) / 9 {
		b[i] ^= 1
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range ways {
		if err := New(2).Match(context.Background(), newJob(cfg, dir), d, discard); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("under %s: got %v", cfg.Execution.Memory, err)
		}
	}
}
