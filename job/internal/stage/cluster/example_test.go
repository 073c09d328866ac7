package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/cluster"
	"github.com/neardup/neardup/job/internal/summary"
)

// What the stage counted stands in the run directory, and comes into the summary
// from there when a run goes on.
func Example() {
	dir, err := os.MkdirTemp("", "cluster")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	d, err := rundir.Open(filepath.Join(dir, "run"))
	if err != nil {
		panic(err)
	}
	defer d.Close()
	counts := stage.Counts{Matched: 5, Found: summary.Found{Clusters: 2, Clustered: 5}}
	if err := rundir.WriteJSON(d.Path(rundir.State, stage.CountsFile), counts); err != nil {
		panic(err)
	}
	r := &stage.Run{Dir: d, Sum: &summary.Summary{}}
	if err := cluster.Done(context.Background(), r, nil); err != nil {
		panic(err)
	}
	fmt.Println(r.Sum.Matched, r.Sum.Clusters)
	// Output: 5 2
}
