// Package guard sees to it that nothing of a flow outlives its attempt on a
// host. A guard stands by each flow on each agent, in a session of its own.
// When the attempt's lease is gone, or is no longer renewed, it kills what gleam
// leaves of the flow there: executors that wait for ever and keep their slots,
// and the flow's files. It finds them by the flow's folder in their arguments
// and kills them by process id, nothing else.
package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/neardup/neardup/job/engine/gleam/internal/attempt"
)

// Times of the lease.
const (
	LeaseRenewed = 2 * time.Second
	leaseExpires = 45 * time.Second // by the guard's own clock
	Every        = 200 * time.Millisecond
)

// Start starts the guard of the flow whose folder is the working directory,
// unless it has one. A guard holds the lock on the folder's mark for as long as
// it lives.
func Start(dir attempt.Dir) (err error) {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	mark, err := os.OpenFile(filepath.Join(folder, ".guard"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mark.Close()) }()
	switch err := syscall.Flock(int(mark.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil
	case err != nil:
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	// Make it known now, and note the place in the agent's log: a guard takes
	// its time to start, and a short flow may be over before.
	agent := Parent(os.Getppid())
	g := attempt.Guard{Folder: folder, Known: fmt.Sprintf("%s-%d", host, os.Getpid()), Agent: agent, Said: agentSaid(agent)}
	known := filepath.Join(dir.Guards(), g.Known)
	if err := os.WriteFile(known, []byte(folder), 0o644); err != nil {
		return err
	}
	cmd := exec.Command(attempt.Executable, g.Args(dir)...)
	cmd.Args[0] = os.Args[0]
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{mark}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, os.Remove(known))
	}
	return cmd.Process.Release()
}

// Run stands by until the attempt is over and nothing of it is left. It then
// copies what the agent logged meanwhile into the run directory.
func Run(dir attempt.Dir, g attempt.Guard) (err error) {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	log := openAgentLog(g.Agent, g.Said)
	defer func() {
		if rerr := os.Remove(filepath.Join(dir.Guards(), g.Known)); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}()
	defer func() {
		if log != nil {
			name := fmt.Sprintf("%s-agent-%s-%s.log", strings.TrimPrefix(filepath.Base(string(dir)), "gleam-"), host, filepath.Base(filepath.Dir(g.Folder)))
			err = errors.Join(err, log.copyTo(dir.Log(name)))
		}
	}()
	renewed, last, full := time.Now(), time.Time{}, false
	for {
		full = full || dir.NoteFull(host, g.Folder)
		info, err := os.Stat(dir.Lease())
		switch {
		case err == nil && !info.ModTime().Equal(last):
			renewed, last = time.Now(), info.ModTime()
		case errors.Is(err, os.ErrNotExist), time.Since(renewed) > leaseExpires:
			return Clear(filepath.Base(g.Folder), g.Folder)
		}
		time.Sleep(Every)
	}
}

// Parent is the parent of a process, 0 if it is not known.
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

// agentLog is an agent's log, from a length on.
type agentLog struct {
	file *os.File
	from int64
}

// agentSaid is the length of the agent's log, 0 when that is no file.
func agentSaid(agent int) int64 {
	info, err := os.Stat(fmt.Sprintf("/proc/%d/fd/2", agent))
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// openAgentLog finds the agent's log by its standard error; nil when that is no
// file.
func openAgentLog(agent int, from int64) *agentLog {
	f, err := os.Open(fmt.Sprintf("/proc/%d/fd/2", agent))
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was read
		return nil
	}
	return &agentLog{f, from}
}

// copyTo copies what was logged since, of much the end.
func (l *agentLog) copyTo(path string) error {
	defer func() { _ = l.file.Close() }() // it was only read
	const most = 256 << 10
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	from := max(l.from, info.Size()-most)
	text, err := io.ReadAll(io.NewSectionReader(l.file, from, info.Size()-from))
	if err != nil || len(text) == 0 {
		return err
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return nil // the run directory is gone
	}
	return os.WriteFile(path, text, 0o644)
}

// Elsewhere is true in tests whose agents stand for other hosts.
var Elsewhere bool

// ClearHere clears the flow on the host of the command itself: agents here need
// no guard.
func ClearHere(hash uint32) error {
	if Elsewhere {
		return nil
	}
	return Clear(strconv.FormatUint(uint64(hash), 10))
}

// Clear kills the flow's executors and workers on this host and removes its
// files, those in the given folders and those in the folders of the processes.
// The flow is known by its hash, the name of its folders: agents that share a
// host are cleared by any of their guards.
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
		for _, path := range append(left, folder) {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
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
