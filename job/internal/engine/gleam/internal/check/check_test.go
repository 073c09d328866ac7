//go:build linux

package check

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
)

// What several agents say is told once, and what very many say in a few lines.
func TestJoinedProblems(t *testing.T) {
	agents, reports := make([]cluster.Agent, 9), make([]report, 9)
	for i := range agents {
		agents[i].Address = fmt.Sprintf("10.0.0.%d:45331", i)
	}
	reports[1].Host = "host1"
	same := func(n int) []error {
		problems := make([]error, 9)
		for i := range n {
			problems[i] = errors.New("it cannot read the input")
		}
		return problems
	}
	errOther := errors.New("the cluster did not finish the flow")
	another := same(2)
	another[7] = errOther
	each := same(0)
	for i := range each {
		each[i] = fmt.Errorf("its disk has %d MiB left", i)
	}
	for _, c := range []struct {
		problems []error
		want     string
	}{
		{same(1), "the agent at 10.0.0.0:45331: it cannot read the input"},
		{same(2), "the agents at 10.0.0.0:45331, 10.0.0.1:45331 (host1): it cannot read the input"},
		{same(9), "the agents at 10.0.0.0:45331, 10.0.0.1:45331 (host1), 10.0.0.2:45331, 10.0.0.3:45331, 10.0.0.4:45331 and 4 more: it cannot read the input"},
		{another, "the agents at 10.0.0.0:45331, 10.0.0.1:45331 (host1): it cannot read the input\nthe agent at 10.0.0.7:45331: the cluster did not finish the flow"},
	} {
		if err := joined(agents, reports, c.problems); err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if err := joined(agents, reports, another); !errors.Is(err, errOther) {
		t.Errorf("%v hides its cause", err)
	}
	if err := joined(agents, reports, each); strings.Count(err.Error(), "\n") != 5 || !strings.HasSuffix(err.Error(), "and 4 more problems") {
		t.Errorf("nine problems: %v", err)
	}
	if err := joined(agents, reports, same(0)); err != nil {
		t.Errorf("no problem: %v", err)
	}
}

// Of what the launcher makes nothing is left, whoever asked.
func TestLeave(t *testing.T) {
	dir := attempt.Dir(filepath.Join(t.TempDir(), "gleam-0"))
	if err := os.Mkdir(string(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := dir.WriteProgram(1); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "3735928559")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	launcher := filepath.Join(folder, attempt.Shipped)
	if err := os.Link(dir.Path(attempt.Launcher), launcher); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", launcher, "-test.run=^$").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(folder, attempt.Linked)); err != nil {
		t.Fatal(err)
	}
	leave(folder)
	if left, _ := filepath.Glob(folder + "*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
