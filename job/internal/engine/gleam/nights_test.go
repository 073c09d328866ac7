//go:build linux

package gleam

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/earlier"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/nights"
	"github.com/neardup/neardup/job/internal/rundir"
)

// joining has the cluster join earlier nights, and does the rest here.
type joining struct {
	*local.Engine
	cluster *Engine
}

func (e joining) Earlier(ctx context.Context, job *engine.Job, tonight *engine.Tonight, l *library.Library, splits []library.Split, found *earlier.Known) error {
	return e.cluster.Earlier(ctx, job, tonight, l, splits, found)
}

// Ten nights one after another give on a cluster what one comparison of all
// documents of all nights with each other does. The short form has two whole
// nights on the cluster, and of the others the join with the library.
func TestTenNights(t *testing.T) {
	needCluster(t)
	t.Parallel()
	presets := []string{config.PresetBalanced}
	if long() {
		presets = append(presets, config.PresetClassic)
	}
	for _, preset := range presets {
		t.Run(preset, func(t *testing.T) {
			cfg, err := config.Default().WithPreset(preset)
			if err != nil {
				t.Fatal(err)
			}
			c := startCluster(t, 3, 4)
			dir := t.TempDir()
			nights.Check(t, cfg, dir, nights.Crawl(t, dir, 10, 50), func(n int, request job.Request) *job.Summary {
				request.Log = testLog(t)
				cluster := newEngine(t, Options{Master: c.master})
				request.Engine = cluster
				if !long() && n%5 != 4 {
					request.Engine = joining{local.New(2), cluster}
				}
				s, err := job.Run(t.Context(), request)
				if err != nil {
					t.Fatal(err)
				}
				c.left(request.Out)
				return s
			})
		})
	}
}

// nightFaults are what happens to an agent in the middle of a night, and how it
// is made well for the next one.
var nightFaults = []struct {
	name         string
	strike, mend func(c *testCluster, agent int)
}{
	{"hangs", func(c *testCluster, agent int) { kill(c.agents[agent].Process.Pid, syscall.SIGSTOP) },
		func(c *testCluster, agent int) {
			c.hung = true
			kill(c.agents[agent].Process.Pid, syscall.SIGCONT)
		}},
	{"is killed", func(c *testCluster, agent int) {
		kill(c.agents[agent].Process.Pid, syscall.SIGKILL)
		_ = c.agents[agent].Wait() // it was killed
	}, (*testCluster).startAgent},
	{"its workers hang", func(c *testCluster, agent int) {
		for began, any := time.Now(), false; !any && time.Since(began) < 10*time.Second; time.Sleep(time.Millisecond) {
			for pid, args := range processes(c.places[agent].dir + "/") {
				if strings.HasSuffix(args[0], "/program") {
					kill(pid, syscall.SIGSTOP)
					any = true
				}
			}
		}
	}, func(c *testCluster, agent int) { // a guard may be among them
		for pid := range processes(c.places[agent].dir + "/") {
			kill(pid, syscall.SIGCONT)
		}
	}},
	{"its disk is full", func(c *testCluster, agent int) {
		if os.Geteuid() == 0 {
			orSkip(c.t.(*testing.T), "mount -t tmpfs -o size=4k none "+c.places[agent].dir)
			_ = os.WriteFile(filepath.Join(c.places[agent].dir, ".filler"), make([]byte, 4096), 0o600)
		}
	}, func(c *testCluster, agent int) {
		if os.Geteuid() == 0 {
			emptyFolder(&trial{T: c.t.(*testing.T), c: c, agent: agent})
		}
	}},
}

// Nights with a library, in each of which something happens to an agent, end
// with the bytes of nights without a cluster.
func TestNightsWithFaults(t *testing.T) {
	needCluster(t)
	if testing.Short() {
		t.Skip("each night takes a stall or two")
	}
	t.Parallel()
	n, stall := 2, 20*time.Second // of a machine that is busy with other things
	if long() {
		n, stall = 10, 6*time.Second
	}
	c := startCluster(t, 3, 4)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, uint64(n)))
	for i, night := range nights.Crawl(t, dir, n, 60) {
		run := func(name string, e engine.Engine) *job.Summary {
			cfg := config.Default()
			cfg.Library.Path, cfg.Library.Night = filepath.Join(dir, "library"), night // files name it
			_ = os.Rename(filepath.Join(dir, "library-"+name), cfg.Library.Path)       // there is none in the first night
			defer func() {
				if err := os.Rename(cfg.Library.Path, filepath.Join(dir, "library-"+name)); err != nil {
					t.Error(err)
				}
			}()
			s, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, night+".jsonl")}, Out: filepath.Join(dir, name+"-"+night), Config: cfg, Engine: e, Log: testLog(t)})
			if err != nil {
				t.Fatalf("%s, night %s: %v", name, night, err)
			}
			return s
		}
		run("local", local.New(2))
		f, agent, struck := nightFaults[i%len(nightFaults)], r.IntN(3), make(chan struct{})
		delay := time.Duration(r.IntN(3000)) * time.Millisecond
		out := filepath.Join(dir, "gleam-"+night)
		go func() {
			defer close(struck)
			for t.Context().Err() == nil {
				if begun, _ := filepath.Glob(filepath.Join(out, attempt.Scratch)); len(begun) > 0 {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			time.Sleep(delay)
			f.strike(c, agent)
		}()
		began := time.Now()
		s := run("gleam", newEngine(t, Options{Master: c.master, Stall: stall}))
		<-struck
		t.Logf("night %s, agent %d %s after %v: done in %v, left out %+v", night, agent, f.name, delay, time.Since(began).Round(time.Second/10), s.LeftOut)
		f.mend(c, agent)
		c.wait(3)
		c.left(out)
		for _, folder := range []string{rundir.Fingerprints, rundir.Matches, rundir.Clusters, rundir.Removed, rundir.Clean} {
			sameTree(t, filepath.Join(dir, "local-"+night, folder), filepath.Join(out, folder))
		}
	}
}

// sameTree compares all files below two folders.
func sameTree(t *testing.T, a, b string) {
	t.Helper()
	if out, err := exec.Command("diff", "-r", a, b).CombinedOutput(); err != nil {
		t.Errorf("%s and %s: %v: %.300s", a, b, err, out)
	}
}
