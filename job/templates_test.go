package job_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/simhash/template"
)

// Pages of one site that share most of their text are no duplicates once its
// template is left out, and an article is found on two sites again.
func TestTemplatesAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	var lines []string
	for site := range 2 {
		menu := ""
		for i := range 60 {
			menu += text(uint64(1000*(site+1)+i), 4) + "\n"
		}
		for page := range 30 {
			// The first five articles are on both sites.
			article := page
			if page >= 5 {
				article += 100 * (site + 1)
			}
			lines = append(lines, fmt.Sprintf(`{"id":"http://site%d.example/%d","text":%q}`, site, page, menu+text(uint64(article), 60)+"\n"+menu))
		}
	}
	in := jsonl(t, filepath.Join(dir, "in.jsonl"), lines...)
	cfg := config.Default()
	cfg.Output.Clean = false
	if s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "with"), Config: cfg}); s.Matched < 50 {
		t.Fatalf("with their templates %d pages match: the test shows nothing", s.Matched)
	}

	m, err := job.Templates(context.Background(), cfg, []string{in}, 2, template.Options{})
	if err != nil || m.Sites() != 2 {
		t.Fatalf("%d sites, %v", m.Sites(), err)
	}
	blob, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Features.Templates = filepath.Join(dir, "templates")
	if err := os.WriteFile(cfg.Features.Templates, blob, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, preset := range []string{config.PresetBalanced, config.PresetThorough} {
		if cfg, err = cfg.WithPreset(preset); err != nil {
			t.Fatal(err)
		}
		s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, preset), Config: cfg})
		if s.Matched != 10 || s.Clusters != 5 {
			t.Errorf("%s: without their templates %d pages match in %d clusters, want 10 in 5", preset, s.Matched, s.Clusters)
		}
	}

	cfg.Features.Templates = in
	if _, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "bad"), Config: cfg}); err == nil {
		t.Error("a file that holds no templates was taken")
	}
}
