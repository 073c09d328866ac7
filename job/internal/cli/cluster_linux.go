package cli

import (
	"io"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam"
)

// clusterMain does the work of a process that the cluster started.
func clusterMain(args []string, stdin io.Reader, stderr io.Writer) (code int, ours bool) {
	return gleam.Main(args, job.SplitStages(), stdin, stderr)
}

// newCluster returns the engine of the cluster.
func newCluster(e config.Execution) (engine.Engine, error) {
	return gleam.New(e)
}

// readFlow sums up what the workers of a flow on the cluster last told.
func readFlow(path string) (steps []flowStatus, err error) {
	workers, err := gleam.Status(path)
	if err != nil {
		return nil, err
	}
	hosts := make(map[string]bool)
	for _, w := range workers {
		if n := len(steps); n == 0 || steps[n-1].Step != w.Stage {
			steps = append(steps, flowStatus{Step: w.Stage})
			clear(hosts)
		}
		f := &steps[len(steps)-1]
		f.Tasks++
		if w.Done {
			f.Done++
		}
		hosts[w.Host] = true
		f.Hosts = len(hosts)
		f.In, f.Out, f.Bytes = f.In+w.In, f.Out+w.Out, f.Bytes+w.Bytes
		f.Seconds += float64(w.CPU) / 1000
	}
	return steps, nil
}
