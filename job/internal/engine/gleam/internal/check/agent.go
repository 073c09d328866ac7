//go:build linux

package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/guard"
	"github.com/neardup/neardup/job/internal/rundir"
)

// report is what the check on one agent found.
type report struct {
	Host     string
	Time     time.Time
	Folder   string   // of the agent
	Free     int64    // bytes on its disk
	Gleam    uint64   // checksum of the agent's own program, 0 if it is not known
	Problems []string // each with its remedy
}

// Clock is the host's.
var Clock = time.Now

// Run is the check's process on an agent; it writes the report. begin is called
// when the spec was read.
func Run(dir attempt.Dir, agent string, begin func(*attempt.Spec) error) (err error) {
	time.AfterFunc(limit, attempt.KillSelf) // a mount may hang
	rep := report{Time: Clock()}
	if rep.Host, err = os.Hostname(); err != nil {
		return err
	}
	folder, err := os.Getwd() // the flow's
	if err != nil {
		return err
	}
	clear := whenOrphaned(folder)
	defer func() { err = errors.Join(err, clear()) }()
	defer leave(folder)
	rep.Folder = filepath.Dir(folder)
	_ = guard.Sweep(rep.Folder, guard.Unused) // what stays is for the next check
	if rep.Free, err = attempt.FreeDisk(folder); err != nil {
		return err
	}
	if rep.Gleam, err = attempt.FileSum(fmt.Sprintf("/proc/%d/exe", os.Getppid())); err != nil {
		rep.Gleam = 0
	}
	s, err := dir.Read()
	if err != nil {
		return err
	}
	if err := s.Same(); err != nil {
		return err
	}
	if err := begin(s); err != nil {
		return err
	}
	if err := s.Enter(); err != nil {
		rep.Problems = append(rep.Problems, err.Error())
	}
	for _, f := range s.Files {
		const most = 3
		if len(rep.Problems) == most {
			break
		}
		if problem := look(f); problem != "" {
			rep.Problems = append(rep.Problems, problem)
		}
	}
	if err := rundir.WriteJSON(dir.Report(agent), rep); err != nil {
		return fmt.Errorf("this host cannot write into the run directory: %w: run the agent as the user of the command, and mount the run directory for writing", err)
	}
	return nil
}

// leave removes what was brought into the check's folder: who asked for it may be
// cut off by now. What else is there, the agent removes when it is told to.
func leave(folder string) {
	for _, path := range []string{filepath.Join(folder, attempt.Linked), filepath.Join(folder, attempt.Shipped), folder} {
		_ = os.Remove(path)
	}
}

// whenOrphaned clears the check's executor and folder when its agent dies: no
// guard stands by a check. It looks from time to time, and when the function
// that it returns is called.
func whenOrphaned(folder string) func() error {
	agent := guard.Parent(os.Getppid())
	clear := func() error {
		if guard.Parent(os.Getppid()) == agent {
			return nil
		}
		return guard.Clear(filepath.Base(folder), folder)
	}
	go func() {
		for clear() == nil {
			time.Sleep(guard.Every)
		}
	}()
	return clear
}

// look says what is wrong with the file here.
func look(c attempt.File) string {
	remedy := "mount it at the same path, readable by the agent's user"
	if object.Is(c.Path) {
		remedy = "start the agent with the store's endpoint and credentials in its environment"
	}
	what := "input"
	if c.Library {
		what = "library"
	}
	info, err := object.Stat(c.Path)
	if err == nil && info.Size > 0 {
		err = readable(c.Path)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("it cannot read the %s: %v: %s", what, err, remedy)
	case c.Any:
		return ""
	case info.Size > c.Size && info.ModTime.After(c.ModTime):
		return fmt.Sprintf("%s has %d bytes of %s there, and had %d of %s when the run began: if it is still being written, wait until it is, and run again into a new folder; else mount the same storage", c.Path,
			info.Size, info.ModTime.Format(time.RFC3339), c.Size, c.ModTime.Format(time.RFC3339))
	case info.Size != c.Size || !info.ModTime.Equal(c.ModTime) || info.ETag != c.ETag:
		return fmt.Sprintf("%s is another file there: %d bytes of %s, here %d bytes of %s: mount the same storage", c.Path,
			info.Size, info.ModTime.Format(time.RFC3339), c.Size, c.ModTime.Format(time.RFC3339))
	}
	return ""
}

// readable reads the first byte of a file.
func readable(path string) error {
	f, err := object.Open(path)
	if err != nil {
		return err
	}
	_, err = f.Read(make([]byte, 1))
	return errors.Join(err, f.Close())
}
