package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

// errDamagedRun is returned for a finished run some of whose files have changed.
// Unlike an unfinished run, it no longer has the state from which it could
// write them again.
var errDamagedRun = errors.New("the finished run is damaged")

// distrust compares the files of a resumed run with the checksums in the task
// records, before any stage reads them. In an unfinished run it removes the
// records of tasks whose files differ, so that they run again. For a finished
// run it returns errDamagedRun.
func (r *run) distrust(ctx context.Context) error {
	bytes, err := r.Dir.Bytes()
	if err != nil || bytes == 0 {
		return err
	}
	pass, finish := r.req.Progress("check")
	defer finish()
	var wrong []rundir.Problem
	err = r.Dir.Check(ctx, r.Workers, pass(bytes, "bytes"), func(p rundir.Problem) error {
		wrong = append(wrong, p)
		return nil
	})
	if err != nil || len(wrong) == 0 {
		return err
	}
	if r.Dir.Finished() {
		return fmt.Errorf("%w: %w%s: `neardup verify %s` names all; give another --out, or remove the folder, and run it again", errDamagedRun, wrong[0].Err, andMore(len(wrong)-1), r.req.Out)
	}
	tasks := map[string]bool{}
	for _, p := range wrong {
		tasks[r.Dir.RecordPath(p.Task.Stage, p.Task.Task)] = true
		if err := r.Dir.Forget(p.Task); err != nil {
			return err
		}
	}
	missing := !slices.ContainsFunc(wrong, func(p rundir.Problem) bool { return !errors.Is(p.Err, fs.ErrNotExist) })
	if !missing { // files that are merely missing need no warning: the run was interrupted, or someone tidied up
		r.Log.Warn("files of the run are not as they were written: their tasks are done again", "files", len(wrong), "tasks", len(tasks), "first", wrong[0].Err)
	}
	return nil
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %s more", show.Count(n, "file"))
}

// RunVerified is the result of VerifyRun.
type RunVerified struct {
	Path     string   `json:"path"`
	Sound    bool     `json:"sound"`
	Finished bool     `json:"finished"`
	Tasks    int      `json:"tasks"`    // finished tasks, of all stages
	Files    int      `json:"files"`    // files compared with their checksums
	Bytes    int64    `json:"bytes"`    // size of those files, by their records
	Unsummed int      `json:"unsummed"` // files that have no checksum, since an earlier version wrote them
	Damaged  []string `json:"damaged"`  // one line a problem, beginning with the file
}

// VerifyRun compares all files of the run directory at path with the checksums
// in its task records. It changes nothing. The result lists damage; an error
// means that the comparison itself failed. reading, for progress, is called with
// the number of bytes to read; it may be nil.
func VerifyRun(ctx context.Context, path string, reading func(total int64, unit string) (advance func(int64))) (*RunVerified, error) {
	m, err := rundir.ReadManifest(path)
	v := &RunVerified{Path: path, Damaged: []string{}}
	if errors.Is(err, fs.ErrNotExist) || err != nil && !isDamaged(path) {
		return nil, err
	}
	if err != nil {
		v.Damaged = append(v.Damaged, err.Error())
		return v, nil
	}
	dir, err := rundir.Attach(path)
	if err != nil {
		return nil, err
	}
	v.Finished = dir.Finished()
	if v.Finished {
		if info, err := os.Stat(dir.Path(rundir.SuccessFile)); err != nil || info.Size() > 0 {
			v.Damaged = append(v.Damaged, fmt.Sprintf("%s: it is not empty", dir.Path(rundir.SuccessFile)))
		}
		if err := rundir.ReadJSON(dir.Path(rundir.SummaryFile), new(Summary)); err != nil {
			v.Damaged = append(v.Damaged, err.Error())
		}
	}
	whole := v.tasks(dir, m)
	if whole {
		if err := v.outputs(ctx, dir, reading); err != nil {
			return nil, err
		}
	}
	v.Sound = len(v.Damaged) == 0
	return v, nil
}

// isDamaged reports whether the folder has a manifest. Its caller failed to read
// one: the manifest is damaged if there is one, else the folder is no run
// directory.
func isDamaged(path string) bool {
	_, err := os.Stat(filepath.Join(path, rundir.ManifestFile))
	return err == nil
}

// tasks reads the records of all the run's tasks, counts these and their
// outputs, and adds bad records to Damaged. whole reports whether every record
// that exists is sound; a missing record of a finished run is damage, but leaves
// whole true.
func (v *RunVerified) tasks(dir *rundir.Dir, m rundir.Manifest) (whole bool) {
	whole = true
	for _, stage := range Stages(m) {
		n := 1
		if stage.PerSplit() {
			n = len(m.Splits)
		}
		for task := range n {
			var r rundir.TaskRecord
			err := rundir.ReadJSON(dir.RecordPath(stage.Name, task), &r)
			switch {
			case errors.Is(err, fs.ErrNotExist) && !v.Finished:
				continue
			case err == nil && (r.Stage != stage.Name || r.Task != task):
				err = fmt.Errorf("%s: it is the record of task %d of %s", dir.RecordPath(stage.Name, task), r.Task, r.Stage)
			}
			if err != nil {
				v.Damaged, whole = append(v.Damaged, err.Error()), whole && errors.Is(err, fs.ErrNotExist)
				continue
			}
			v.Tasks++
			v.count(dir, &r)
		}
	}
	return whole
}

// count counts the outputs of a task. It leaves out state that a finished run
// has cleared.
func (v *RunVerified) count(dir *rundir.Dir, r *rundir.TaskRecord) {
	for _, name := range r.Outputs {
		_, summed := r.Sums[name]
		_, err := os.Stat(dir.Path(name))
		switch {
		case err != nil && v.Finished && strings.HasPrefix(name, rundir.State+string(filepath.Separator)):
		case summed:
			v.Files++
			v.Bytes += r.Sums[name].Bytes
		default:
			v.Unsummed++
		}
	}
}

// outputs compares the outputs of the tasks with their records, and adds what
// differs to Damaged, with files that no task wrote.
func (v *RunVerified) outputs(ctx context.Context, dir *rundir.Dir, reading func(total int64, unit string) (advance func(int64))) (err error) {
	advance := func(int64) {}
	if reading != nil {
		advance = reading(v.Bytes, "bytes")
	}
	err = dir.Check(ctx, runtime.GOMAXPROCS(0), advance, func(p rundir.Problem) error {
		v.Damaged = append(v.Damaged, p.Err.Error())
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(v.Damaged)
	strangers, err := dir.Strangers()
	for _, name := range strangers {
		if v.Unsummed == 0 && v.Finished { // a task that is under way has no record yet
			v.Damaged = append(v.Damaged, fmt.Sprintf("%s: no task of the run wrote it: move it away", dir.Path(name)))
		}
	}
	return err
}

// Print writes the result as text: the damaged files, or that the run is sound.
func (v *RunVerified) Print(w io.Writer, l message.Language) error {
	var b strings.Builder
	for _, line := range v.Damaged {
		fmt.Fprintln(&b, show.Line(l.Error(errors.New(line))))
	}
	if v.Sound {
		b.WriteString(l.Text("sound: %s in %s of %s", show.Bytes(v.Bytes), l.Count(int64(v.Files), "file"), l.Count(int64(v.Tasks), "task")))
		if !v.Finished {
			b.WriteString(l.Text("; the run is not finished"))
		}
		b.WriteString("\n")
		if v.Unsummed > 0 {
			b.WriteString(l.Text("%s of an earlier program could not be compared", l.Count(int64(v.Unsummed), "file")) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
