package job_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
)

// Titles of one form are different, those of one question are not, whichever
// files they are in; and fingerprints that are matched again say the same.
func TestFormsAreCountedOverTheRun(t *testing.T) {
	dir := t.TempDir()
	title := func(i int, text string) string { return fmt.Sprintf(`{"id":"t%02d","text":%q}`, i, text) }
	var files []string
	for part, titles := range [][]string{
		{"含有“山”字的古诗词有哪些？", "没有和自己喜欢的人在一起有多遗憾？", "含有“舟”字的古诗词有哪些？", "可以看看你相册里的天空吗？"},
		{"含有“树”字的古诗词有哪些？", "没有和自己喜欢的人在一起到底有多遗憾？", "含有“月”字的古诗词有哪些？", "可以看看你相册里的天空么？"},
	} {
		var lines []string
		for i, text := range titles {
			lines = append(lines, title(10*part+i, text))
		}
		files = append(files, jsonl(t, filepath.Join(dir, fmt.Sprintf("%d.jsonl", part)), lines...))
	}
	for _, preset := range []string{config.PresetBalanced, config.PresetThorough} {
		cfg, err := config.Default().WithPreset(preset)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, preset)
		for _, req := range []job.Request{
			{Command: job.CommandRun, Inputs: files, Out: out, Config: cfg},
			{Command: job.CommandMatch, Inputs: []string{out}, Out: out + ".match", Config: cfg},
		} {
			if s := runJob(t, 2, req); s.Matched != 4 || s.Clusters != 2 {
				t.Errorf("%s, %s: %d titles match in %d clusters, want 4 in 2", preset, req.Command, s.Matched, s.Clusters)
			}
		}
	}
}

// A night's only title of a form stays, whatever earlier nights had in its slot: three
// nights of one title each make a form as one night of three does.
func TestFormsAreCountedOverNights(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Library.Path = filepath.Join(dir, "library")
	for i, night := range []struct {
		title string
		goes  int64
	}{
		{"含有“山”字的古诗词有哪些？", 0},
		{"含有“舟”字的古诗词有哪些？", 1}, // two texts make no form
		{"含有“树”字的古诗词有哪些？", 0},
		{"含有“月”字的古诗词有哪些？", 0},
		{"含有“山”字的古诗词有哪些呢？", 1},
	} {
		cfg.Library.Night = fmt.Sprintf("2026-11-%02d", i+1)
		in := jsonl(t, filepath.Join(dir, cfg.Library.Night+".jsonl"), fmt.Sprintf(`{"id":"t%d","text":%q}`, i, night.title),
			fmt.Sprintf(`{"id":"other%d","text":"今日天气%d度，适合出门散步"}`, i, i))
		s := runJob(t, 1, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, cfg.Library.Night), Config: cfg})
		if got := s.Dropped; got != night.goes {
			t.Errorf("%s, %s: %d go, want %d", cfg.Library.Night, night.title, got, night.goes)
		}
	}
}
