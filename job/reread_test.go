package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	stagewrite "github.com/neardup/neardup/job/internal/stage/write"
)

// mixing has documents of the sample go for others than they do.
type mixing struct {
	*local.Engine
	out   string
	mixed int
}

func (m mixing) Each(ctx context.Context, j *engine.Job, s engine.Stage, tasks []int, done func(rundir.TaskRecord) error) error {
	if s.Name == stage.Write && m.mixed > 0 {
		if err := job.MixSample(m.out, m.mixed); err != nil {
			return err
		}
	}
	return m.Engine.Each(ctx, j, s, tasks, done)
}

// A run reads a sample of what it leaves out again, and says how like it is to what
// stays; too many that are not are an error, unless the distance alone decides.
func TestSampleIsReadAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	dir := t.TempDir()
	var files []string
	const n = 30
	for part := range 2 { // what goes and what stays are in files of their own
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf(`{"id":"%d-%d","text":%q}`, part, i, text(uint64(i), 120)+strings.Repeat(" more", part)))
		}
		files = append(files, jsonl(t, filepath.Join(dir, fmt.Sprintf("%d.jsonl", part)), lines...))
	}
	for _, c := range []struct {
		preset string
		mixed  int
		fails  bool
	}{
		{config.PresetBalanced, 0, false}, {config.PresetThorough, 0, false},
		{config.PresetBalanced, 2, false}, {config.PresetBalanced, 3, true}, {config.PresetClassic, 3, false},
	} {
		cfg, err := config.Default().WithPreset(c.preset)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Input.SplitBytes = 3000 // some documents
		out := filepath.Join(dir, fmt.Sprint(c.preset, c.mixed))
		s, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: files, Out: out, Config: cfg, Engine: mixing{local.New(2), out, c.mixed}})
		if c.fails != errors.Is(err, stagewrite.ErrUnlike) || err != nil && !c.fails {
			t.Fatalf("%+v: %v", c, err)
		}
		if c.fails && (!strings.Contains(err.Error(), "3 of 16 that were read again") || s.Done) {
			t.Errorf("%+v: %v", c, err)
		}
		r := s.Reread
		if r == nil || r.Documents != 16 || r.Below != int64(c.mixed) || len(r.Examples) != c.mixed || r.Jaccard > .05 != (c.mixed == 0) {
			t.Fatalf("%+v: %+v", c, r)
		}
		var said bytes.Buffer
		if err := s.Print(&said, message.English); err != nil || !strings.Contains(said.String(), "16 documents compared with the pages kept for them: lowest J") {
			t.Errorf("%v: %s", err, &said)
		}
		for _, e := range r.Examples {
			if !strings.Contains(said.String(), e.ID+" for "+e.Kept) || e.ID[0] != '0' || e.Kept[0] != '1' || e.Jaccard > .2 {
				t.Errorf("%+v: %s", e, &said)
			}
		}
	}
}
