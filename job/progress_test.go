package job_test

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
)

// Each pass of a stage that says how much there is comes to that, and the stages
// that take time on a large input have one.
func TestProgressComesToItsTotal(t *testing.T) {
	dir, in := t.TempDir(), writeSample(t)
	run := filepath.Join(dir, "run")
	for _, c := range []struct {
		name, command, in string
		settings          []string
		want              string // stage and unit of passes
	}{
		{"clean dump", job.CommandRun, in, nil, "fingerprint:bytes exact:documents match:tables write:bytes"},
		{"no clean dump", job.CommandRun, in, []string{"output.clean", "false"}, "fingerprint:bytes write:splits"},
		{"match", job.CommandMatch, run, nil, "read:rows match:tables cluster:bytes cluster:splits ids:splits write:splits"},
		{"match by way of the disk", job.CommandMatch, run, []string{"execution.memory", "20KiB"}, "match:parts"},
	} {
		cfg := config.Default()
		for i := 0; i < len(c.settings); i += 2 {
			if err := cfg.Set(c.settings[i], c.settings[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		out := run
		if c.name != "clean dump" {
			out = filepath.Join(dir, c.name)
		}
		if c.command == job.CommandMatch {
			matched, err := method.MatchConfig([]string{run}, cfg)
			if err != nil {
				t.Fatal(err)
			}
			matched.Execution = cfg.Execution
			cfg = matched
		}
		type pass struct {
			of          string
			total, done int64
		}
		var passes []*pass
		runJob(t, 2, job.Request{Command: c.command, Inputs: []string{c.in}, Out: out, Config: cfg,
			Progress: func(stage string) (func(int64, string) func(int64), func()) {
				return func(total int64, unit string) func(int64) {
					p := &pass{of: stage + ":" + unit, total: total}
					passes = append(passes, p)
					return func(n int64) { atomic.AddInt64(&p.done, n) }
				}, func() {}
			}})
		got := ""
		for _, p := range passes {
			got += p.of + " "
			if p.done != p.total {
				t.Errorf("%s: %s comes to %d of %d", c.name, p.of, p.done, p.total)
			}
		}
		for want := range strings.FieldsSeq(c.want) {
			if !strings.Contains(got, want+" ") {
				t.Errorf("%s: no %s in %s", c.name, want, got)
			}
		}
	}
}
