package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/rundir"
)

func newStatus(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status RUN",
		Short: "Say how far a run is, from anywhere that sees its directory",
		Long: `Prints whether a run is under way, finished or left, and for each stage the
tasks done, rows, bytes, rate and the time that is left.`,
		Example: "  neardup status runs/2026-11-20",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("name one run directory; see %s --help", c.CommandPath())}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := readStatus(args[0], time.Now())
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(std.out).Encode(s)
			}
			return s.print(std.out)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// States of a run.
const (
	stateRunning  = "running"
	stateFinished = "finished"
	stateLeft     = "left: the same command goes on with it"
)

// runStatus is how far a run is.
type runStatus struct {
	Path    string        `json:"path"`
	Command string        `json:"command"`
	State   string        `json:"state"`
	Stages  []stageStatus `json:"stages"`
}

type stageStatus struct {
	Stage   string  `json:"stage"`
	Done    int     `json:"done"`
	Tasks   int     `json:"tasks"`
	Rows    int64   `json:"rows"`  // out
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
			return nil, fmt.Errorf("%s is no run directory: %w", path, err)
		}
		return nil, err
	}
	s := &runStatus{Path: path, Command: m.Command, State: stateLeft}
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
				st.Rate = float64(st.Rows) / took
			}
			if left := st.Tasks - st.Done; left > 0 {
				st.ETA = now.Sub(st.started).Seconds() / float64(st.Done) * float64(left)
			}
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
	s.Rows += r.RowsOut
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
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(out, "%s: neardup %s, %s\n", s.Path, s.Command, s.State)
	fmt.Fprintf(out, "stage\ttasks\trows\tread\trows/s\tleft\n")
	for _, st := range s.Stages {
		left := ""
		if st.ETA > 0 {
			left = time.Duration(st.ETA * float64(time.Second)).Round(time.Second).String()
		}
		fmt.Fprintf(out, "%s\t%d of %d\t%d\t%s\t%.0f\t%s\n", st.Stage, st.Done, st.Tasks, st.Rows, job.Bytes(st.Bytes), st.Rate, left)
	}
	return out.Flush()
}
