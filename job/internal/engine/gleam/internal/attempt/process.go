//go:build linux

package attempt

import (
	"fmt"
	"strconv"
	"strings"
)

// Arguments of the processes of a flow. All begin with Prefix: gleam hands a
// driver's arguments to its workers and adds its own.
const (
	Prefix     = "-gleam."
	ArgDir     = "-gleam.attempt.dir="
	ArgID      = "-gleam.attempt.id="
	ArgGuard   = "-gleam.guard="
	ArgCheck   = "-gleam.check="
	ArgCluster = "-gleam.agents="
	ArgStage   = "-gleam.mapper"
	argTask    = "-flow.taskId"
	argKnown   = "-gleam.known="
)

// Process is what one of the flow's processes is asked to do.
type Process struct {
	Dir     Dir
	ID      uint64 // of the attempt
	Stage   string // of a worker
	Task    int    // of a worker; -1 without
	Guard   Guard
	Check   string // address of the agent to check
	Cluster string // master whose agents to list
}

// Guard is what a guard is told.
type Guard struct {
	Folder string // of the flow on the agent
	Known  string // name of its file among the attempt's guards
}

// DriverArgs are the arguments of an attempt's driver.
func DriverArgs(d Dir, id uint64) []string {
	return []string{ArgDir + string(d), fmt.Sprintf("%s%x", ArgID, id)}
}

// Args are the arguments of a guard. The folder comes last: that tells a guard
// from a worker.
func (g Guard) Args(d Dir) []string {
	return []string{ArgDir + string(d), argKnown + g.Known, ArgGuard + g.Folder}
}

// ParseProcess reads the arguments of a process of the flow.
func ParseProcess(args []string) (p Process, err error) {
	p.Task = -1
	for i := 0; i < len(args) && err == nil; i++ {
		name, value, ok := strings.Cut(args[i], "=")
		if ok {
			name += "="
		} else if i+1 < len(args) {
			i++
			value = args[i]
		}
		switch name {
		case ArgDir:
			p.Dir = Dir(value)
		case ArgID:
			p.ID, err = strconv.ParseUint(value, 16, 64)
		case ArgGuard:
			p.Guard.Folder = value
		case argKnown:
			p.Guard.Known = value
		case ArgCluster:
			p.Cluster = value
		case ArgCheck:
			p.Check = value
		case ArgStage:
			p.Stage = value
		case argTask:
			p.Task, err = strconv.Atoi(value)
		default: // others are gleam's
			if !strings.HasPrefix(name, Prefix) && !strings.HasPrefix(name, "-flow.") {
				err = fmt.Errorf("unknown argument %q", name)
			}
		}
	}
	if err == nil && p.Cluster == "" && (p.Dir == "" || p.Stage != "" && p.Task < 0) {
		err = fmt.Errorf("arguments are missing: %q", args)
	}
	return p, err
}
