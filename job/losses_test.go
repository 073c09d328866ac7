package job_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/message"
)

// A site that loses most of its pages to others is named, and a cluster of many
// sites; what comes again, or stands twice, is no loss.
func TestLosses(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	dir := t.TempDir()
	var lines []string
	add := func(id string, seed uint64, more string) {
		lines = append(lines, fmt.Sprintf(`{"id":%q,"text":%q}`, id, text(seed, 120)+more))
	}
	for i := range uint64(30) {
		add(fmt.Sprintf("http://origin.example/%d", i), i, " and longer")
		if i < 20 {
			add(fmt.Sprintf("http://mirror.example/%d", i), i, "")
		}
		if i < 11 { // of 22
			add(fmt.Sprintf("http://half.example/%d", i), i, " half")
			add(fmt.Sprintf("http://half.example/own/%d", i), 100+i, "")
		}
		if i < 19 { // too few to tell
			add(fmt.Sprintf("http://small.example/%d", i), i, "")
		}
		add(fmt.Sprintf("http://again.example/%d", i), 200+i, "")
		add(fmt.Sprintf("http://again.example/%d", i), 200+i, " twice")
		add(fmt.Sprintf("http://s%02d.example/", i), 300, strings.Repeat(" same", int(i)))
	}
	in := jsonl(t, filepath.Join(dir, "2026-11-01.jsonl"), lines...)
	cfg := config.Default()
	cfg.Input.SplitBytes = 20_000
	cfg.Monitor.MaxClusterSites = 29
	for i, night := range []string{"2026-11-01", "2026-11-02"} { // the second has the same again
		cfg.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: night}
		s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, night), Config: cfg})
		if s.Splits < 2 {
			t.Fatal("there is one split")
		}
		want := []string{"mirror.example loses 100.0 % of 20 documents to others"}
		got := s.Losses.Warnings(message.English)
		if len(got) != 2 || !slices.Equal(got[:1], want) || !strings.HasSuffix(got[1], " has 30 documents of 30 sites") {
			t.Errorf("night %d: %q, want %q and a cluster", i, got, want)
		}
		var said bytes.Buffer
		if err := s.Print(&said, message.English); err != nil || !strings.Contains(said.String(), "look at      "+want[0]) {
			t.Errorf("%v: %s", err, &said)
		}
	}
	cfg.Library, cfg.Monitor = config.Library{}, config.Monitor{MaxSiteLoss: 0.45}
	s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "more"), Config: cfg})
	if got := s.Losses.Warnings(message.English); len(got) != 2 || got[1] != "half.example loses 50.0 % of 22 documents to others" {
		t.Errorf("%q", got)
	}
	cfg.Monitor.MaxSiteLoss = 1
	s = runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "none"), Config: cfg})
	if got := s.Losses.Warnings(message.English); len(got) != 0 || s.Losses != nil {
		t.Errorf("%q", got)
	}
}
