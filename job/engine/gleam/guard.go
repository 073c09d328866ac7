package gleam

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
// directory, unless it has one. A guard holds the lock on the folder's mark
// for as long as it lives: it is born with it.
func startGuard(dir attemptDir) (err error) {
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
	// Known from here on, and with the place in the agent's log: the guard
	// takes its time to start, and a short flow is over before.
	agent := parentOf(os.Getppid())
	known := filepath.Join(dir.guards(), fmt.Sprintf("%s-%d", host, os.Getpid()))
	if err := os.WriteFile(known, []byte(folder), 0o644); err != nil {
		return err
	}
	cmd := exec.Command(executable, argDir+string(dir), fmt.Sprint(argAgent, agent), fmt.Sprint(argSaid, agentSaid(agent)), argKnown+filepath.Base(known), argGuard+folder)
	cmd.Args[0] = os.Args[0]
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{mark}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, os.Remove(known))
	}
	return cmd.Process.Release()
}

// guardOf is what a guard is told: the flow's folder on the agent, the name
// it is known by, the agent's process id and the length of the agent's log.
type guardOf struct {
	folder, known string
	agent         int
	said          int64
}

// runGuard stands by until the attempt is over and nothing of it is left. It
// then passes on what the agent said meanwhile.
func runGuard(dir attemptDir, g guardOf) (err error) {
	folder := g.folder
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	log := openAgentLog(g.agent, g.said)
	defer func() {
		if rerr := os.Remove(filepath.Join(dir.guards(), g.known)); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}()
	defer func() {
		if log != nil {
			name := fmt.Sprintf("%s-agent-%s-%s.log", strings.TrimPrefix(filepath.Base(string(dir)), "gleam-"), host, filepath.Base(filepath.Dir(folder)))
			err = errors.Join(err, log.passOn(filepath.Join(filepath.Dir(filepath.Dir(string(dir))), Logs, name)))
		}
	}()
	renewed, last, full := time.Now(), time.Time{}, false
	for {
		full = full || noteFull(dir, host, folder)
		info, err := os.Stat(dir.lease())
		switch {
		case errors.Is(err, os.ErrNotExist):
			return clearFlow(filepath.Base(folder), folder)
		case err == nil && !info.ModTime().Equal(last):
			renewed, last = time.Now(), info.ModTime()
		case time.Since(renewed) > leaseExpires:
			return clearFlow(filepath.Base(folder), folder)
		}
		time.Sleep(guardEvery)
	}
}

// parentOf is the parent of a process, 0 if it is not known.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may hold anything; state and parent follow.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0
	}
	return parent
}

// agentLog is the file that an agent writes what it has to say to.
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

// openAgentLog finds the agent's log by its standard error, from a length on;
// nil when that is no file.
func openAgentLog(agent int, from int64) *agentLog {
	f, err := os.Open(fmt.Sprintf("/proc/%d/fd/2", agent))
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was read
		return nil
	}
	return &agentLog{f, from}
}

// passOn copies what came since that length, of much the end.
func (l *agentLog) passOn(path string) error {
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

// clearFlow kills the flow's executors and workers on this host and removes
// its files, those in the given folders and where the processes stood. The
// flow is known by its hash, the name of its folders: agents that share a
// host are cleared by any of their guards.
func clearFlow(hash string, known ...string) error {
	folders := make(map[string]bool)
	for _, folder := range known {
		folders[folder] = true
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(guardEvery / 4) {
		left, err := flowProcesses(hash)
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

// flowProcesses lists the executors and workers of the flow on this host,
// each with its folder. Zombies have no arguments and are nobody's burden.
func flowProcesses(hash string) (map[int]string, error) {
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
	case len(args) >= 3 && filepath.Base(string(args[1])) == shipped && bytes.HasPrefix(args[2], []byte(prefix)):
		return filepath.Dir(string(args[1]))
	case len(args) >= 2 && bytes.HasPrefix(args[1], []byte(prefix)) && !bytes.HasPrefix(args[len(args)-1], []byte(argGuard)):
		return filepath.Dir(string(args[0]))
	}
	return ""
}
