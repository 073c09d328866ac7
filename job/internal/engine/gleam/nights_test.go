package gleam

import (
	"context"
	"testing"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/nights"
	"github.com/neardup/neardup/reducer"
)

// joining has the cluster join earlier nights, and does the rest here.
type joining struct {
	*local.Engine
	cluster *Engine
}

func (e joining) Earlier(ctx context.Context, job *engine.Job, tonight *engine.Tonight, l *library.Library, splits []library.Split, found *reducer.Earliest) error {
	return e.cluster.Earlier(ctx, job, tonight, l, splits, found)
}

// Ten nights one after another give on a cluster what one comparison of all
// documents of all nights with each other does. The short form has two whole
// nights on the cluster, and of the others the join with the library.
func TestTenNights(t *testing.T) {
	needCluster(t)
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
