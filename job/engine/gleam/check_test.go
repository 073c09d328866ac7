package gleam

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
)

// What several agents say is told once, and what very many say in a few lines.
func TestToldProblems(t *testing.T) {
	agents, reports := make([]Agent, 9), make([]checkReport, 9)
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
	another := same(2)
	another[7] = ErrFailed
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
		if err := told(agents, reports, c.problems); err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if err := told(agents, reports, another); !errors.Is(err, ErrFailed) {
		t.Errorf("%v hides its cause", err)
	}
	if err := told(agents, reports, each); strings.Count(err.Error(), "\n") != 5 || !strings.HasSuffix(err.Error(), "and 4 more problems") {
		t.Errorf("nine problems: %v", err)
	}
	if err := told(agents, reports, same(0)); err != nil {
		t.Errorf("no problem: %v", err)
	}
}

// The agents are asked for the files that are to be read: an archive that is
// fingerprinted may be gone.
func TestFinishedFilesAreNotLookedAt(t *testing.T) {
	dir := t.TempDir()
	var splits []data.Split
	for _, name := range []string{"a", "b", "b", "c", "d"} {
		splits = append(splits, data.Split{Path: filepath.Join(dir, name)})
	}
	for _, name := range []string{"b", "d"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &spec{Fingerprint: &fingerprintSpec{Splits: splits, Lanes: [][]int{{4, 1}, {2}}}}
	files, err := s.seenFiles()
	if err != nil || len(files) != 2 || files[0].Path != splits[1].Path || files[1].Path != splits[4].Path {
		t.Errorf("%v, %v: want b and d", files, err)
	}
	s.Fingerprint.Lanes[1] = []int{2, 3}
	if _, err := s.seenFiles(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), splits[3].Path) {
		t.Errorf("got %v, want that c is gone", err)
	}
}
