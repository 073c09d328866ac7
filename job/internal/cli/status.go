package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

func newStatus(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status RUN",
		Short: "Say how far a run is, from anywhere that sees its directory",
		Long: `Prints whether a run is under way, finished or left, for each stage the tasks
done, rows, bytes and rate, and how far the stage under way is and the time that
is left of it; on a cluster also what the workers of the flow under way last
told.`,
		Example: "  neardup status runs/2026-11-20",
		Args:    need(1, message.Key("one run directory")),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := readStatus(args[0])
			if err != nil {
				return err
			}
			return std.printed(asJSON, s, s.print)
		},
	}
	bindJSON(cmd.Flags(), &asJSON)
	return cmd
}

// States of a run.
const (
	stateRunning  = "running"
	stateFinished = "finished"
	stateLeft     = "left: the same command goes on with it"
)

// progressFile has, within the folder of what is temporary, how far the stage
// under way is.
const progressFile = "progress.json"

// runStatus is how far a run is.
type runStatus struct {
	Path    string        `json:"path"`
	Command string        `json:"command"`
	State   string        `json:"state"`
	Stages  []stageStatus `json:"stages"`
	Now     *pace         `json:"now,omitempty"`  // of the stage under way, once it has taken some seconds
	Flow    []flowStatus  `json:"flow,omitempty"` // on a cluster, by step of the flow under way

	manifest rundir.Manifest
}

// flowStatus is how far a step of the flow under way is on the cluster.
type flowStatus struct {
	Step    string  `json:"step"`
	Tasks   int     `json:"tasks"` // that began
	Done    int     `json:"done"`
	Hosts   int     `json:"hosts"`
	In      int64   `json:"in"`    // records
	Out     int64   `json:"out"`   // records
	Bytes   int64   `json:"bytes"` // of input read
	Seconds float64 `json:"cpu"`   // of processor time
}

type stageStatus struct {
	Stage   string  `json:"stage"`
	Done    int     `json:"done"`
	Tasks   int     `json:"tasks"`
	RowsIn  int64   `json:"rows_in"`
	RowsOut int64   `json:"rows_out"`
	Bytes   int64   `json:"bytes"` // of input read
	Rate    float64 `json:"rate"`  // rows a second, first task's start to last task's end
	started time.Time
	ended   time.Time
}

// readStatus looks at the run directory at path and changes nothing in it.
func readStatus(path string) (*runStatus, error) {
	m, err := rundir.ReadManifest(path)
	if err != nil {
		return nil, err
	}
	s := &runStatus{Path: path, Command: m.Command, State: stateLeft, manifest: m}
	inUse, err := rundir.InUse(path)
	if err != nil {
		return nil, err
	}
	if inUse {
		s.State = stateRunning
	}
	if _, err := os.Stat(filepath.Join(path, rundir.SuccessFile)); err == nil {
		s.State = stateFinished
	}
	if inUse {
		var now pace
		if rundir.ReadJSON(filepath.Join(path, rundir.Scratch, progressFile), &now) == nil {
			s.Now = &now
		}
		if s.Flow, err = readFlow(path); err != nil {
			return nil, err
		}
	}
	for _, stage := range job.Stages(m) {
		st := stageStatus{Stage: stage.Name, Tasks: 1}
		if stage.PerSplit() {
			st.Tasks = len(m.Splits)
		}
		records, err := filepath.Glob(filepath.Join(path, rundir.Tasks, stage.Name+"-*.json"))
		if err != nil {
			return nil, err
		}
		for _, name := range records {
			if err := st.add(name); err != nil {
				return nil, err
			}
		}
		if took := st.ended.Sub(st.started).Seconds(); took > 0 {
			st.Rate = float64(st.RowsOut) / took
		}
		s.Stages = append(s.Stages, st)
	}
	return s, nil
}

// add counts the task whose record stands at path.
func (s *stageStatus) add(path string) error {
	var r rundir.TaskRecord
	info, err := os.Stat(path)
	if err == nil {
		err = rundir.ReadJSON(path, &r)
	}
	if err != nil {
		return err
	}
	s.Done++
	s.RowsIn += r.RowsIn
	s.RowsOut += r.RowsOut
	s.Bytes += r.Bytes
	ended := info.ModTime()
	if started := ended.Add(-time.Duration(r.Seconds * float64(time.Second))); s.started.IsZero() || started.Before(s.started) {
		s.started = started
	}
	if ended.After(s.ended) {
		s.ended = ended
	}
	return nil
}

func (s *runStatus) print(w io.Writer, l message.Language) error {
	var out show.Columns
	out.Row(l.Text("%s: neardup %s, %s", s.Path, s.Command, l.Name(s.State)))
	out.Row(l.Text("stage"), l.Text("tasks"), l.Text("rows"), l.Text("read"), l.Text("rows/s"))
	for _, st := range s.Stages {
		out.Row(st.Stage, l.Text("%d of %d", st.Done, st.Tasks), st.RowsOut, show.Bytes(st.Bytes), fmt.Sprintf("%.0f", st.Rate))
	}
	if len(s.Flow) > 0 {
		out.Row(l.Text("on the cluster"), l.Text("tasks"), l.Text("records in"), l.Text("out"), l.Text("hosts"), l.Text("CPU seconds"))
		for _, f := range s.Flow {
			out.Row(f.Step, l.Text("%d of %d", f.Done, f.Tasks), f.In, f.Out, f.Hosts, fmt.Sprintf("%.1f", f.Seconds))
		}
	}
	if s.Now != nil {
		out.Row(s.Now.line(helpWidth, l))
	}
	return out.Write(w)
}
