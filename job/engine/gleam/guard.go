package gleam

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// A guard stands by each flow on each agent, in a session of its own. When
// the attempt's lease is gone, or is no longer renewed, it kills what gleam
// leaves of the flow there: executors that wait for ever and keep their slots,
// and the flow's files. It finds them by the flow's folder in their arguments
// and ends them by process id.

// Times of the lease.
const (
	leaseRenewed = 2 * time.Second
	leaseExpires = 45 * time.Second // by the guard's own clock
	guardEvery   = 200 * time.Millisecond
)

// startGuard starts the guard of the flow whose folder is the working
// directory, unless it has one.
func startGuard(dir attemptDir) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := os.Stat(guardLock(folder)); err == nil {
		return nil // a second one would end at the lock; this saves the process
	}
	path, err := executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(path, argDir+string(dir), argGuard+folder)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

func guardLock(folder string) string { return filepath.Join(folder, ".guard") }

// runGuard stands by until the attempt is over and nothing of it is left.
func runGuard(dir attemptDir, folder string) (err error) {
	lock := flock.New(guardLock(folder))
	if got, err := lock.TryLock(); err != nil || !got {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	known := filepath.Join(dir.guards(), fmt.Sprintf("%s-%d", host, os.Getpid()))
	if err := os.WriteFile(known, []byte(folder), 0o644); err != nil && !gone(dir.lease()) {
		return err
	}
	defer func() {
		if rerr := os.Remove(known); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}()
	renewed, last := time.Now(), time.Time{}
	for {
		info, err := os.Stat(dir.lease())
		switch {
		case errors.Is(err, os.ErrNotExist):
			return clearFlow(folder)
		case err == nil && !info.ModTime().Equal(last):
			renewed, last = time.Now(), info.ModTime()
		case time.Since(renewed) > leaseExpires:
			return clearFlow(folder)
		}
		time.Sleep(guardEvery)
	}
}

// clearFlow kills the flow's executors and workers on this host and removes
// its files.
func clearFlow(folder string) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		pids, err := flowProcesses(folder)
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("process %d: %w", pid, err)
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: processes %v do not end", folder, pids)
		}
		time.Sleep(guardEvery / 4)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(folder), "f"+filepath.Base(folder)+"-d*.dat"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.RemoveAll(folder)
}

// flowProcesses lists the executors of the flow that has the folder, which
// are known by it in their arguments, and the workers, whose program stands
// in it. Zombies have no arguments and are nobody's burden.
func flowProcesses(folder string) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
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
		if ofFlow(args, folder) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// ofFlow reports whether a process with these arguments is an executor or a
// worker of the flow: gleam execute --dir FOLDER --note …, or FOLDER/program
// -gleam.….
func ofFlow(args [][]byte, folder string) bool {
	if len(args) >= 4 && string(args[1]) == "execute" && string(args[2]) == "--dir" && filepath.Clean(string(args[3])) == folder {
		return true
	}
	return len(args) >= 2 && filepath.Dir(string(args[0])) == folder &&
		bytes.HasPrefix(args[1], []byte(prefix)) && !bytes.HasPrefix(args[len(args)-1], []byte(argGuard))
}
