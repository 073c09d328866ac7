package job_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/rundir"
)

// againstInput writes documents, and a reference of two sets, a file of questions
// and a folder of texts. Every tenth document carries a question, one is a copy of
// a text, and one the end of another.
func againstInput(t *testing.T, dir string) (in []string, cfg config.Config) {
	t.Helper()
	question := func(i int) string { return "Question: " + text(uint64(1000+i), 20) + "?" }
	var lines, questions []string
	for i := range 300 {
		body := text(uint64(i), 100)
		if i%10 == 0 {
			body += "\n" + strings.ToUpper(question(i)) + "\n" + text(uint64(i+500), 50)
		}
		switch i {
		case 7:
			body = text(9000, 200)
		case 8:
			body = text(9001, 200)[300:]
		}
		lines = append(lines, fmt.Sprintf(`{"id":"http://site.example/%d","text":%q}`, i, body))
		questions = append(questions, fmt.Sprintf(`{"qid":%d,"question":%q}`, i, question(i)))
	}
	questions = append(questions, `{"qid":"short","question":"What is 2 + 2?"}`, fmt.Sprintf(`{"qid":"again","question":%q}`, question(3)))
	in = []string{jsonl(t, filepath.Join(dir, "a.jsonl"), lines[:150]...), jsonl(t, filepath.Join(dir, "b.jsonl"), append(lines[150:], "no json")...)}
	blocked := filepath.Join(dir, "blocked")
	if err := os.Mkdir(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	jsonl(t, filepath.Join(blocked, "one.txt"), text(9000, 200))
	jsonl(t, filepath.Join(blocked, "two.txt"), text(9001, 200))
	cfg = config.Default()
	cfg.Against.Paths = []string{jsonl(t, filepath.Join(dir, "questions.jsonl"), questions...), blocked}
	cfg.Against.ID = "qid"
	return in, cfg
}

func runAgainst(t *testing.T, workers int, in []string, out string, cfg config.Config) *job.Summary {
	t.Helper()
	s, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: in, Out: out, Config: cfg, Engine: local.New(workers)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readAgainst(t *testing.T, out string) (rows []data.AgainstRow) {
	t.Helper()
	parts, err := rundir.Parts(out, rundir.Against)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range parts {
		err := parquet.ReadTable(t.Context(), path, &data.Against, func(r *data.AgainstRow) error {
			row := *r
			row.DocID, row.RefID, row.Site = slices.Clone(r.DocID), slices.Clone(r.RefID), slices.Clone(r.Site)
			rows = append(rows, row)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// A run against a reference finds what documents carry of it, with its place, and
// drops those documents, or keeps them; the same bytes however it is executed.
func TestAgainst(t *testing.T) {
	dir := t.TempDir()
	in, cfg := againstInput(t, dir)
	out := filepath.Join(dir, "out")
	s := runAgainst(t, 1, in, out, cfg)
	a := s.Against
	if s.Documents != 300 || s.Bad != 1 || s.Kept != 268 || s.Dropped != 32 || a.Documents != 32 || a.Hits != 32 {
		t.Errorf("%d documents, %d bad, %d stay, %d go, %+v", s.Documents, s.Bad, s.Kept, s.Dropped, a)
	}
	if !maps.Equal(a.Verdicts, map[string]int64{"carries": 30, "copy": 2}) {
		t.Errorf("verdicts %v", a.Verdicts)
	}
	if q, b := a.Sets[0], a.Sets[1]; len(a.Sets) != 2 || q.Name != "questions.jsonl" || q.Texts != 300 || q.Short != 1 || q.Repeated != 1 || q.Found != 30 || q.Documents != 30 ||
		b.Name != "blocked" || b.Texts != 2 || b.Found != 2 || b.Documents != 2 {
		t.Errorf("sets %+v", a.Sets)
	}
	for _, row := range readAgainst(t, out) {
		var i int
		if _, err := fmt.Sscanf(string(row.DocID), "http://site.example/%d", &i); err != nil {
			t.Fatal(err)
		}
		if i == 7 {
			if row.Verdict != "copy" || string(row.RefID) != "one.txt" || row.Set != "blocked" || row.Share != 1 || row.DocShare != 1 {
				t.Errorf("%+v", row)
			}
			continue
		}
		if i == 8 {
			if whole := int64(len(text(9001, 200))); row.Verdict != "copy" || string(row.RefID) != "two.txt" || row.RefFrom != 300 || row.RefTo != whole || row.DocShare != 1 {
				t.Errorf("%+v", row)
			}
			continue
		}
		body := text(uint64(i), 100)
		question := "Question: " + text(uint64(1000+i), 20)
		if row.From != int64(len(body)+1) || row.To != row.From+int64(len(question)) || row.RefFrom != 0 || row.RefTo != int64(len(question)) ||
			string(row.RefID) != fmt.Sprint(i) || row.Share != 1 || row.Row != data.RowNumber(i/150, uint64(i%150)) || string(row.Site) != "site.example" {
			t.Errorf("%+v, want the question from %d", row, len(body)+1)
		}
	}
	filled(t, &data.Against, []string{out}, rundir.Against)
	for _, name := range []string{rundir.Fingerprints, rundir.Matches, rundir.Clusters, rundir.Removed} {
		if _, err := os.Stat(filepath.Join(out, name)); err == nil {
			t.Errorf("there is %s", name)
		}
	}
	var stays strings.Builder
	for _, path := range in {
		for line := range strings.Lines(readFile(t, path)) {
			var i int
			if _, err := fmt.Sscanf(line, `{"id":"http://site.example/%d"`, &i); err == nil && i%10 != 0 && i != 7 && i != 8 {
				stays.WriteString(line)
			}
		}
	}
	if got := readFile(t, filepath.Join(out, rundir.Clean, "part-00000.jsonl")) + readFile(t, filepath.Join(out, rundir.Clean, "part-00001.jsonl")); got != stays.String() {
		t.Error("the clean dump is not the lines of the documents without a hit")
	}
	if v, err := job.VerifyRun(t.Context(), out, nil); err != nil || !v.Sound || !v.Finished {
		t.Errorf("verified: %+v, %v", v, err)
	}

	outputs := []string{rundir.Against, rundir.Clean, rundir.Quarantine}
	want := digests(t, out, outputs...)
	if len(want) != 6 { // two parts of each
		t.Errorf("files %v", slices.Sorted(maps.Keys(want)))
	}
	other := filepath.Join(dir, "other")
	runAgainst(t, 4, in, other, cfg)
	if got := digests(t, other, outputs...); !maps.Equal(got, want) {
		t.Error("four workers write other bytes")
	}
	cfg.Against.Action = config.AgainstKeep
	if s := runAgainst(t, 2, in, filepath.Join(dir, "kept"), cfg); s.Kept != 300 || s.Dropped != 0 || s.Against.Documents != 32 {
		t.Errorf("kept: %d stay, %d go", s.Kept, s.Dropped)
	}
}

// With against.action cut, documents stay without what they have of the reference, but for
// copies, and those of which little is left. The dump then has no hit.
func TestAgainstCut(t *testing.T) {
	dir := t.TempDir()
	in, cfg := againstInput(t, dir)
	cfg.Against.Action = config.AgainstCut
	in = append(in, jsonl(t, filepath.Join(dir, "c.jsonl"), fmt.Sprintf(`{"id":"little","text":"So: Question: %s? Yes, but no page has only that, has it?","n":1}`, text(1003, 20))))
	out := filepath.Join(dir, "out")
	s := runAgainst(t, 2, in, out, cfg)
	if s.Documents != 301 || s.Kept != 298 || s.Dropped != 3 || s.Against.Documents != 33 || s.Against.Cut != 30 {
		t.Errorf("%d documents, %d stay, %d go, %+v", s.Documents, s.Kept, s.Dropped, s.Against)
	}
	var want strings.Builder
	for _, path := range in[:2] {
		for line := range strings.Lines(readFile(t, path)) {
			var i int
			switch _, err := fmt.Sscanf(line, `{"id":"http://site.example/%d"`, &i); {
			case err != nil || i == 7 || i == 8:
			case i%10 == 0:
				fmt.Fprintf(&want, `{"id":"http://site.example/%d","text":%q}`+"\n", i, text(uint64(i), 100)+"\n\n"+text(uint64(i+500), 50))
			default:
				want.WriteString(line)
			}
		}
	}
	clean := filepath.Join(out, rundir.Clean)
	if got := readFile(t, filepath.Join(clean, "part-00000.jsonl")) + readFile(t, filepath.Join(clean, "part-00001.jsonl")); got != want.String() {
		t.Error("the clean dump is not the documents without what they have of the reference")
	}
	if s := runAgainst(t, 2, []string{clean}, filepath.Join(dir, "again"), cfg); s.Documents != 298 || s.Against.Hits != 0 {
		t.Errorf("the clean dump has %d documents, and hits %+v", s.Documents, s.Against)
	}
	one := filepath.Join(dir, "one")
	runAgainst(t, 1, in, one, cfg)
	if !maps.Equal(digests(t, one, rundir.Against, rundir.Clean), digests(t, out, rundir.Against, rundir.Clean)) {
		t.Error("one worker writes other bytes")
	}
}

// interrupted fails after the first task.
type interrupted struct{ engine.Engine }

var errInterrupted = errors.New("interrupted")

func (b interrupted) Each(ctx context.Context, j *engine.Job, s engine.Stage, tasks []int, done func(rundir.TaskRecord) error) error {
	return errors.Join(b.Engine.Each(ctx, j, s, tasks[:1], done), errInterrupted)
}

// A run that ended in the middle goes on, with the same reference alone.
func TestAgainstResumes(t *testing.T) {
	dir := t.TempDir()
	in, cfg := againstInput(t, dir)
	whole, out := filepath.Join(dir, "whole"), filepath.Join(dir, "out")
	runAgainst(t, 2, in, whole, cfg)
	req := job.Request{Command: job.CommandRun, Inputs: in, Out: out, Config: cfg, Engine: interrupted{local.New(1)}}
	if _, err := job.Run(t.Context(), req); !errors.Is(err, errInterrupted) {
		t.Fatal(err)
	}
	changed := cfg
	changed.Against.Paths = []string{cfg.Against.Paths[0]}
	if _, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: in, Out: out, Config: changed, Engine: local.New(1)}); !errors.Is(err, rundir.ErrOther) {
		t.Errorf("with another reference: %v", err)
	}
	s := runAgainst(t, 2, in, out, cfg)
	if len(s.Stages) != 1 || s.Stages[0].Resumed != 1 || s.Against.Documents != 32 {
		t.Errorf("%+v", s.Stages)
	}
	if !maps.Equal(digests(t, out, rundir.Against, rundir.Clean), digests(t, whole, rundir.Against, rundir.Clean)) {
		t.Error("it wrote other bytes")
	}
	if s := runAgainst(t, 2, in, out, cfg); s.Against.Documents != 32 { // finished
		t.Errorf("%+v", s.Against)
	}
}

// Mistakes are told by what to write instead.
func TestAgainstMistakes(t *testing.T) {
	dir := t.TempDir()
	in, usual := againstInput(t, dir)
	for _, c := range []struct {
		name, want string
		change     func(*config.Config)
	}{
		{"library", "leave one of the two out", func(c *config.Config) {
			c.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: "2026-11-20"}
		}},
		{"pairs", "has no pairs of documents", func(c *config.Config) { c.Match.AllPairs = true }},
		{"share", "write a share above 0", func(c *config.Config) { c.Against.Share = 0 }},
		{"store", "copy it to a folder", func(c *config.Config) { c.Against.Paths = []string{"s3://bucket/evals"} }},
		{"path", "name files and folders that are there", func(c *config.Config) { c.Against.Paths = []string{"gone"} }},
		{"text column", "--against-text", func(c *config.Config) { c.Against.Text = "body" }},
		{"short", "or set it lower", func(c *config.Config) { c.Against.Least = 100_000 }},
		{"memory", "raise --memory", func(c *config.Config) { c.Execution.Memory = "10KB" }},
	} {
		cfg := usual
		c.change(&cfg)
		out := filepath.Join(dir, "out-"+c.name)
		_, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: in, Out: out, Config: cfg, Engine: local.New(1)})
		if wrong := (*config.SettingError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if _, err := os.Stat(filepath.Join(out, rundir.ManifestFile)); err == nil {
			t.Errorf("%s: it left a run", c.name)
		}
	}
	cfg := usual
	_, err := job.Run(t.Context(), job.Request{Command: job.CommandMatch, Inputs: in, Out: filepath.Join(dir, "m"), Config: cfg, Engine: local.New(1)})
	if err == nil || !strings.Contains(err.Error(), "give it to neardup run") {
		t.Errorf("match: %v", err)
	}
}
