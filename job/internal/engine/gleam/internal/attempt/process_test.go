//go:build linux

package attempt

import "testing"

func TestParseProcess(t *testing.T) {
	for _, c := range []struct {
		args []string
		want Process
	}{
		{[]string{ArgDir + "/r/tmp/g", ArgID + "ff"}, Process{Dir: "/r/tmp/g", ID: 255, Task: -1}},
		{[]string{ArgDir + "/g", ArgID + "1", ArgStage, "partial", "-gleam.executor", "[::]:1", "-flow.hashcode", "9", "-flow.stepId", "4", "-flow.taskId", "3"}, Process{Dir: "/g", ID: 1, Stage: "partial", Task: 3}},
		{[]string{ArgDir + "/g", argKnown + "host-8", ArgGuard + "/a/9"},
			Process{Dir: "/g", Guard: Guard{Folder: "/a/9", Known: "host-8"}, Task: -1}},
	} {
		got, err := ParseProcess(c.args)
		if err != nil || got != c.want {
			t.Errorf("%q: got %+v, %v", c.args, got, err)
		}
	}
	for _, args := range [][]string{{ArgID + "1"}, {ArgDir + "/g", ArgStage, "nonsense"}, {ArgDir + "/g", ArgStage, "final"}, {ArgDir + "/g", "run"}, {ArgDir + "/g", ArgID + "zz"}} {
		if p, err := ParseProcess(args); err == nil {
			t.Errorf("%q: got %+v", args, p)
		}
	}
}
