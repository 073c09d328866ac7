//go:build linux

// Package guard makes sure that no process or file of a flow outlives its attempt
// on a host. gleam can leave executors behind that wait for ever and keep their
// slots.
//
// Each flow has one guard on each agent: a process in a session of its own, started
// by the first worker there, that watches the attempt's lease. The lease is a file
// in the attempt's folder. The supervisor renews it every LeaseRenewed and removes
// it when the attempt is over. When the guard finds the lease gone, or not renewed
// for leaseExpires, it kills the flow's executors and workers and removes the
// flow's files.
//
// A guard finds processes by the flow's folder in their arguments, and kills only
// those, by process id.
package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Intervals of the lease and of the guards.
const (
	LeaseRenewed = 2 * time.Second
	leaseExpires = 45 * time.Second      // since the guard saw it renewed, by its own clock
	Every        = 50 * time.Millisecond // how often a guard looks; short, for each flow waits for its guards to end
)

// mark is the file in a flow's folder whose lock its guard holds.
const mark = ".guard"

// Start starts the guard of the flow whose folder is the working directory, unless
// the flow has one here. The guard inherits the lock on the folder's mark and so
// holds it for as long as it lives.
func Start(dir attempt.Dir) (err error) {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	held, err := os.OpenFile(filepath.Join(folder, mark), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	switch err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil
	case err != nil:
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	// Announce the guard and open the agent's log now: a guard takes a while to
	// start, and a short flow may have ended by then.
	g := attempt.Guard{Folder: folder, Known: fmt.Sprintf("%s-%d", host, os.Getpid())}
	known := dir.Path(attempt.Guards, g.Known)
	if err := os.WriteFile(known, []byte(folder), 0o644); err != nil {
		return err
	}
	log, err := openAgentLog(Parent(os.Getppid()))
	if err != nil {
		return errors.Join(err, os.Remove(known))
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	cmd := exec.Command(attempt.Executable, g.Args(dir)...)
	cmd.Args[0] = os.Args[0]
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{held, log}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, os.Remove(known))
	}
	return cmd.Process.Release()
}

// logFile is the file descriptor of the agent's log in the guard's process.
const logFile = 4

// Run is the guard's process. It waits until the attempt is over, clears the flow
// away, and then copies what the agent logged meanwhile into the run directory.
func Run(dir attempt.Dir, g attempt.Guard) (err error) {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.Remove(dir.Path(attempt.Guards, g.Known)); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}()
	defer func() {
		name := fmt.Sprintf("%s-agent-%s-%s.log", strings.TrimPrefix(filepath.Base(string(dir)), "gleam-"), host, filepath.Base(filepath.Dir(g.Folder)))
		err = errors.Join(err, copyLog(os.NewFile(logFile, "the agent's log"), dir.Log(name)))
	}()
	renewed, last, full := time.Now(), time.Time{}, false
	for {
		full = full || dir.NoteFull(host, g.Folder)
		info, err := os.Stat(dir.Path(attempt.Lease))
		switch {
		case err == nil && !info.ModTime().Equal(last):
			renewed, last = time.Now(), info.ModTime()
		case errors.Is(err, os.ErrNotExist), time.Since(renewed) > leaseExpires:
			return Clear(filepath.Base(g.Folder), g.Folder)
		}
		time.Sleep(Every)
	}
}

// Parent returns the process id of a process's parent, 0 if it is not known.
func Parent(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may hold anything; state and parent follow.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1])) // 0 if it is no number
	return parent
}

// openAgentLog opens the agent's log, the file that is its standard error, and seeks
// to the end. If that is not a regular file, it opens an empty one instead.
func openAgentLog(agent int) (*os.File, error) {
	path := fmt.Sprintf("/proc/%d/fd/2", agent)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		path = os.DevNull
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// copyLog copies the log from its current offset on, at most the last 256 KiB, to a
// file at path. It writes nothing if the log is empty or path's folder is gone.
func copyLog(log *os.File, path string) error {
	const most = 256 << 10
	text, err := io.ReadAll(log)
	if err != nil || len(text) == 0 || attempt.Gone(filepath.Dir(path)) {
		return err
	}
	return os.WriteFile(path, text[max(0, len(text)-most):], 0o644)
}

// Elsewhere is set in tests whose agents simulate other hosts.
var Elsewhere bool

// ClearHere clears the flow on the command's own host, whether or not agents here
// have guards.
func ClearHere(hash uint32) error {
	if Elsewhere {
		return nil
	}
	return Clear(strconv.FormatUint(uint64(hash), 10))
}

// Clear kills the flow's executors and workers on this host, waits for their end,
// and removes the flow's files: the known folders, the processes' folders, and
// gleam's data files beside them. It fails if processes are left after 10 s.
//
// The flow is identified by its hash, which is the base name of its folders. So if
// several agents share a host, any of their guards clears all of them.
func Clear(hash string, known ...string) error {
	folders := make(map[string]bool)
	for _, folder := range known {
		folders[folder] = true
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(Every / 4) {
		left, err := processes(hash)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("flow %s: processes %v do not end", hash, left)
		}
		for pid, dir := range left {
			folders[dir] = true
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("process %d: %w", pid, err)
			}
		}
	}
	for folder := range folders {
		left, err := filepath.Glob(filepath.Join(filepath.Dir(folder), "f"+filepath.Base(folder)+"-d*.dat"))
		if err != nil {
			return err
		}
		for _, path := range append(left, folder) { // a killed launcher's cp or ln may yet fill it
			if err := rundir.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// Unused is the age from which Sweep takes a folder for abandoned. A flow that has
// just begun has its guard long before that.
const Unused = 2 * leaseExpires

// Sweep removes the folders of abandoned flows from an agent's folder, and kills
// their executors. A flow is abandoned if its command was killed before a guard had
// started. A folder stays if any of these holds:
//
//   - it is younger than age;
//   - it has a guard;
//   - it holds other files than the program, its launcher and the guard's mark;
//   - its flow has a worker or a launcher on this host.
func Sweep(dir string, age time.Duration) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		if _, err := strconv.ParseUint(e.Name(), 10, 32); err != nil || !e.IsDir() || !unused(folder, age) {
			continue
		}
		if err := Clear(e.Name(), folder); err != nil {
			return err
		}
	}
	return nil
}

// unused reports whether a flow's folder is one that Sweep removes.
func unused(folder string, age time.Duration) bool {
	info, err := os.Stat(folder)
	if err != nil || time.Since(info.ModTime()) < age {
		return false
	}
	files, err := os.ReadDir(folder)
	if err != nil || slices.ContainsFunc(files, func(f os.DirEntry) bool {
		return f.Name() != attempt.Shipped && f.Name() != mark && f.Name() != attempt.Linked && !strings.HasPrefix(f.Name(), attempt.Linked+".")
	}) {
		return false
	}
	left, err := processes(filepath.Base(folder))
	for pid := range left {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // of one that has ended there is none
		if args := bytes.Split(line, []byte{0}); len(args) > 1 && string(args[1]) != "execute" {
			return false
		}
	}
	return err == nil && !guarded(folder)
}

// guarded reports whether the flow has a guard; true also if that cannot be told.
func guarded(folder string) bool {
	f, err := os.Open(filepath.Join(folder, mark))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer f.Close() //nolint:errcheck // opened for reading
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// processes lists the executors and workers of the flow on this host,
// each with its folder. Zombies have no arguments, and are left out.
func processes(hash string) (map[int]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	found := make(map[int]string)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil {
			continue // it ended
		}
		args := bytes.Split(bytes.TrimRight(line, "\x00"), []byte{0})
		if folder := folderOf(args); folder != "" && filepath.Base(folder) == hash {
			found[pid] = folder
		}
	}
	return found, nil
}

// folderOf returns the flow's folder of an executor, a worker or a launcher
// with these arguments: gleam execute --dir FOLDER --note …, FOLDER/program
// -gleam.…, or /bin/sh FOLDER/neardup -gleam.…; "" for any other process.
func folderOf(args [][]byte) string {
	switch {
	case len(args) >= 4 && string(args[1]) == "execute" && string(args[2]) == "--dir":
		return filepath.Clean(string(args[3]))
	case len(args) >= 3 && filepath.Base(string(args[1])) == attempt.Shipped && bytes.HasPrefix(args[2], []byte(attempt.Prefix)):
		return filepath.Dir(string(args[1]))
	case len(args) >= 2 && bytes.HasPrefix(args[1], []byte(attempt.Prefix)) && !bytes.HasPrefix(args[len(args)-1], []byte(attempt.ArgGuard)):
		return filepath.Dir(string(args[0]))
	}
	return ""
}
