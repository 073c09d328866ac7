package gleam

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// Arguments of the processes that the engine starts. All begin with prefix:
// gleam hands a driver's arguments to its workers and adds its own.
const (
	prefix     = "-gleam."
	argDir     = "-gleam.attempt.dir="
	argID      = "-gleam.attempt.id="
	argGuard   = "-gleam.guard="
	argStage   = "-gleam.mapper"
	argTask    = "-flow.taskId"
	argStepID  = "-flow.stepId"
	argCluster = "-gleam.agents="
	argCheck   = "-gleam.check="
	argAgent   = "-gleam.agent.pid="
	argSaid    = "-gleam.agent.said="
	argKnown   = "-gleam.known="
)

// Main is what a program that uses the engine calls first, with its arguments
// without the program's name: when the process is one that the engine or
// gleam started (driver, worker, guard), Main does its work and ours is true:
// the caller then exits with code. Else it does nothing.
func Main(args []string, stdin io.Reader, stderr io.Writer) (code int, ours bool) {
	if len(args) == 0 || !strings.HasPrefix(args[0], prefix) {
		return 0, false
	}
	collectLater()
	log := slog.New(slog.NewTextHandler(stderr, nil))
	p, err := parseProcess(args)
	if err == nil {
		switch {
		case p.cluster != "":
			err = printAgents(context.Background(), p.cluster, stderr)
		case p.guard.folder != "":
			err = runGuard(p.dir, p.guard)
		case p.check != "":
			err = runCheck(p.dir, p.check)
		case p.stage != 0:
			err = p.work(stdin, log)
		default:
			err = runDriver(p.dir)
		}
	}
	if err != nil && p.cluster != "" {
		_, _ = fmt.Fprintln(stderr, "neardup:", err) // to a user, at a terminal
		return 1, true
	}
	if err != nil {
		log.Error("gleam", "error", err)
		return 1, true
	}
	return 0, true
}

// collectLater lets garbage be collected as Go does by default, but not before
// the heap has grown: the launcher turned it off, and the tables that the
// libraries in the program make are most of a small flow's heap.
func collectLater() {
	const (
		byDefault = 100
		first     = 160 << 20 / (4 << 20) * byDefault // in percent of the least heap of Go's collector, 4 MiB
	)
	debug.SetGCPercent(first)
	runtime.SetFinalizer(new([64]byte), func(*[64]byte) { debug.SetGCPercent(byDefault) })
}

// process is what one of the engine's processes is asked to do.
type process struct {
	dir     attemptDir
	id      uint64
	guard   guardOf
	stage   stageID
	task    int
	cluster string
	check   string // address of the agent
}

func parseProcess(args []string) (p process, err error) {
	p.task = -1
	for i := 0; i < len(args); i++ {
		arg := args[i]
		value := func() string {
			if i+1 < len(args) {
				i++
				return args[i]
			}
			return ""
		}
		switch {
		case strings.HasPrefix(arg, argDir):
			p.dir = attemptDir(strings.TrimPrefix(arg, argDir))
		case strings.HasPrefix(arg, argID):
			p.id, err = strconv.ParseUint(strings.TrimPrefix(arg, argID), 16, 64)
		case strings.HasPrefix(arg, argGuard):
			p.guard.folder = strings.TrimPrefix(arg, argGuard)
		case strings.HasPrefix(arg, argCluster):
			p.cluster = strings.TrimPrefix(arg, argCluster)
		case strings.HasPrefix(arg, argAgent):
			p.guard.agent, err = strconv.Atoi(strings.TrimPrefix(arg, argAgent))
		case strings.HasPrefix(arg, argSaid):
			p.guard.said, err = strconv.ParseInt(strings.TrimPrefix(arg, argSaid), 10, 64)
		case strings.HasPrefix(arg, argKnown):
			p.guard.known = strings.TrimPrefix(arg, argKnown)
		case strings.HasPrefix(arg, argCheck):
			p.check = strings.TrimPrefix(arg, argCheck)
		case arg == argStage:
			name := value()
			var ok bool
			if p.stage, ok = stageOf(name); !ok {
				err = fmt.Errorf("no such stage: %q", name)
			}
		case arg == argTask:
			p.task, err = strconv.Atoi(value())
		case arg == argStepID || strings.HasPrefix(arg, prefix) || strings.HasPrefix(arg, "-flow."):
			if !strings.Contains(arg, "=") {
				value()
			}
		default:
			err = fmt.Errorf("unknown argument %q", arg)
		}
		if err != nil {
			return p, err
		}
	}
	if p.cluster == "" && (p.dir == "" || p.stage != 0 && p.task < 0) {
		return p, fmt.Errorf("arguments are missing: %q", args)
	}
	return p, nil
}

// work runs a worker. Rows have standard output to themselves: whatever else
// is printed goes to standard error.
func (p process) work(stdin io.Reader, log *slog.Logger) error {
	parent := os.Getppid()
	fd, err := syscall.Dup(syscall.Stdout)
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	syscall.CloseOnExec(fd)
	if err := syscall.Dup3(syscall.Stderr, syscall.Stdout, 0); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	rows := os.NewFile(uintptr(fd), "rows")
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	w := &worker{dir: p.dir, id: p.id, stage: p.stage, task: p.task, host: host, log: log, in: newRowReader(stdin), raw: stdin, out: newRowWriter(rows)}
	stop, stopped := make(chan struct{}), make(chan struct{})
	if err := startGuard(p.dir); err != nil {
		log.Warn("no guard stands by this worker", "error", err)
	}
	go func() {
		defer close(stopped)
		w.beat(parent, stop)
	}()
	w.run(context.Background())
	err = rows.Close()
	close(stop)
	<-stopped
	return err
}
