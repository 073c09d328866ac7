package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

func newStatus(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status RUN",
		Short: "Say how far a run is, from anywhere that sees its directory",
		Long: `Prints whether a run is under way, finished or left, and for each stage the
tasks done, rows, bytes, rate and the time that is left; on a cluster also what
the workers of the flow under way last told.`,
		Example: "  neardup status runs/2026-11-20",
		Args:    need(1, "one run directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := readStatus(args[0], time.Now())
			if err != nil {
				return err
			}
			return printed(std.out, asJSON, s, s.print)
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
	ETA     float64 `json:"eta"`   // seconds until the stage is done; 0 when done or unknown
	started time.Time
	ended   time.Time
}

// readStatus looks at the run directory at path and changes nothing in it.
func readStatus(path string, now time.Time) (*runStatus, error) {
	var m rundir.Manifest
	if err := rundir.ReadJSON(filepath.Join(path, rundir.ManifestFile), &m); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is no run directory: name the folder that neardup run --out made", path)
		}
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
	var reading int64 // bytes of unfinished splits
	if inUse {
		var now pace
		if rundir.ReadJSON(filepath.Join(path, rundir.Scratch, progressFile), &now) == nil {
			s.Now = &now
		}
		if s.Flow, err = readFlow(path); err != nil {
			return nil, err
		}
		for _, f := range s.Flow {
			reading += f.Bytes
		}
	}
	for _, stage := range job.Stages(m) {
		st := stageStatus{Stage: stage.Name, Tasks: 1}
		if stage.PerSplit {
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
		if st.Done > 0 {
			if took := st.ended.Sub(st.started).Seconds(); took > 0 {
				st.Rate = float64(st.RowsOut) / took
			}
			if left := st.Tasks - st.Done; left > 0 {
				st.ETA = now.Sub(st.started).Seconds() / float64(st.Done) * float64(left)
			}
		}
		if stage.Name == engine.StageFingerprint {
			st.readOn(m.Splits, reading, now)
		}
		s.Stages = append(s.Stages, st)
	}
	return s, nil
}

// readOn tells the time that is left by the bytes, where the sizes of all
// splits are known: a few large splits say little by their number. What a
// flow's workers read counts the splits that they finished.
func (s *stageStatus) readOn(splits []data.Split, reading int64, now time.Time) {
	read := max(s.Bytes, reading)
	total := int64(0)
	for _, split := range splits {
		switch {
		case split.Size < 0 || split.Format == source.FormatParquet: // cut by row groups
			return
		case split.End < 0:
			total += split.Size
		default:
			total += split.End - split.Start
		}
	}
	if s.Done == 0 || s.Done == s.Tasks || read == 0 || total <= read {
		return
	}
	s.ETA = now.Sub(s.started).Seconds() / float64(read) * float64(total-read)
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

func (s *runStatus) print(w io.Writer) error {
	var out show.Columns
	out.Row(fmt.Sprintf("%s: neardup %s, %s", s.Path, s.Command, s.State))
	out.Row("stage", "tasks", "rows", "read", "rows/s", "left")
	for _, st := range s.Stages {
		left := ""
		if st.ETA > 0 {
			left = time.Duration(st.ETA * float64(time.Second)).Round(time.Second).String()
		}
		out.Row(st.Stage, fmt.Sprintf("%d of %d", st.Done, st.Tasks), st.RowsOut, job.Bytes(st.Bytes), fmt.Sprintf("%.0f", st.Rate), left)
	}
	if len(s.Flow) > 0 {
		out.Row("on the cluster", "tasks", "records in", "out", "hosts", "CPU seconds")
		for _, f := range s.Flow {
			out.Row(f.Step, fmt.Sprintf("%d of %d", f.Done, f.Tasks), f.In, f.Out, f.Hosts, fmt.Sprintf("%.1f", f.Seconds))
		}
	}
	if s.Now != nil {
		out.Row(s.Now.line(helpWidth))
	}
	return out.Write(w)
}
