package job_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/learn"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
)

// sitesLines are pages of two sites: a menu above and below, and between them
// articles, the first five of which are on both sites. Page 29 of each has
// nothing but the menu.
func sitesLines() (lines []string) {
	for site := range 2 {
		menu := ""
		for i := range 60 {
			menu += text(uint64(1000*(site+1)+i), 4) + "\n"
		}
		for page := range 30 {
			article := uint64(page)
			if page >= 5 {
				article += uint64(100 * (site + 1))
			}
			body := text(article, 60)
			if page == 29 {
				body = ""
			}
			lines = append(lines, fmt.Sprintf(`{"id":"http://site%d.example/%d","text":%q}`, site, page, menu+body+"\n"+menu))
		}
	}
	return lines
}

// Pages of one site that share most of their text are no duplicates, and an
// article is found on two sites: without anything being asked for.
func TestOwnText(t *testing.T) {
	dir := t.TempDir()
	in := jsonl(t, filepath.Join(dir, "in.jsonl"), sitesLines()...)
	cfg := config.Default()
	cfg.Features.StripBoilerplate, cfg.Output.Clean = false, false
	whole := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "whole"), Config: cfg})
	if whole.Matched < 50 || whole.Boilerplate != nil {
		t.Fatalf("as whole texts %d pages match: the test shows nothing", whole.Matched)
	}

	m, err := learn.Dump{Config: cfg, Inputs: []string{in}, Workers: 2}.Templates(context.Background())
	if err != nil || m.Sites() != 2 {
		t.Fatalf("%d sites, %v", m.Sites(), err)
	}
	blob, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "templates")
	if err := os.WriteFile(file, blob, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, preset := range []string{config.PresetBalanced, config.PresetThorough} {
		for _, templates := range []string{"", file} {
			if cfg, err = config.Default().WithPreset(preset); err != nil {
				t.Fatal(err)
			}
			cfg.Features.Templates = templates
			out := filepath.Join(dir, preset+filepath.Base(templates))
			s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg})
			if s.Matched != 10 || s.Clusters != 5 || s.LengthClasses["template"] != 2 {
				t.Errorf("%s: %d pages match in %d clusters, want 10 in 5; lanes %v", out, s.Matched, s.Clusters, s.LengthClasses)
			}
			if o := s.Boilerplate; o == nil || o.Learned != 2 || o.Documents != 60 || len(o.Most) != 2 || o.Most[0].Pages != 30 || o.Most[0].Blocks == 0 {
				t.Errorf("%s: told %+v", out, o)
			}
			// The clean dump has documents whole.
			if clean := readFile(t, filepath.Join(out, rundir.Clean, "part-00000.jsonl")); !strings.Contains(clean, text(1000, 4)) {
				t.Errorf("%s: the clean dump lacks the menu", out)
			}
		}
	}

	cfg.Features.Templates = in
	if _, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "bad"), Config: cfg}); err == nil {
		t.Error("a file that holds no templates was taken")
	}
}

// What is learned depends on the input alone: not on workers, not on where a run
// was interrupted. It is told in the fingerprints.
func TestOwnTextIsTheSameAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	dir := t.TempDir()
	lines := sitesLines()
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		jsonl(t, filepath.Join(dir, "in", fmt.Sprintf("%d.jsonl", i)), lines[i*10:(i+1)*10]...)
	}
	request := func(out string) job.Request {
		return job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, "in")}, Out: filepath.Join(dir, out), Config: config.Default()}
	}
	first := runJob(t, 1, request("first"))
	runJob(t, 4, request("second"))
	again := request("third")
	again.Engine = local.New(2)
	stop, cancel := context.WithCancel(context.Background())
	again.Progress = func(name string) (func(int64, string) func(int64), func()) {
		if name == stage.Fingerprint {
			cancel()
		}
		return func(int64, string) func(int64) { return func(int64) {} }, func() {}
	}
	if _, err := job.Run(stop, again); err == nil {
		t.Fatal("the run was not interrupted")
	}
	if err := os.Remove(filepath.Join(again.Out, "state", "samples", "part-00002")); err != nil {
		t.Fatal(err)
	}
	again.Progress = nil
	runJob(t, 2, again)
	for _, out := range []string{"second", "third"} {
		if a, b := readFile(t, method.TemplatesPath(filepath.Join(dir, "first"))), readFile(t, method.TemplatesPath(filepath.Join(dir, out))); a != b {
			t.Errorf("%s: other templates", out)
		}
	}
	var left int64
	parts, err := rundir.Parts(filepath.Join(dir, "third"), rundir.Fingerprints)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range parts {
		err := parquet.ReadFingerprints(t.Context(), path, parquet.ReadOptions{}, func(row *data.FingerprintRow) error {
			left += int64(row.Template)
			if empty := bytes.HasSuffix(row.DocID, []byte("/29")); empty != (row.LengthClass == "template") || empty != (len(row.Sketch) == 0) {
				return fmt.Errorf("%s is in lane %s", row.DocID, row.LengthClass)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if left == 0 || left != first.Boilerplate.Left {
		t.Errorf("%d characters left out, %d told", left, first.Boilerplate.Left)
	}
}

// A library's nights are judged without the same: a site of which one night saw
// enough is known to the next, and to look-ups.
func TestOwnTextOfNights(t *testing.T) {
	dir := t.TempDir()
	lines := sitesLines()
	jsonl(t, filepath.Join(dir, "2026-01-01.jsonl"), lines...)
	jsonl(t, filepath.Join(dir, "2026-01-02.jsonl"), lines[1], lines[31], strings.Replace(lines[40], "/10", "/again", 1))
	cfg := config.Default()
	first := libraryRun(t, cfg, dir, "2026-01-01", "first")
	s := libraryRun(t, cfg, dir, "2026-01-02", "second")
	if first.Boilerplate.Learned != 2 || s.Boilerplate.Learned != 0 || s.Boilerplate.Known != 2 || s.Boilerplate.Documents != 3 {
		t.Errorf("first %+v, second %+v", first.Boilerplate, s.Boilerplate)
	}
	if s.Library.Matched != 3 || s.Library.Documents != 60 {
		t.Errorf("%+v", s.Library)
	}
	cfg.Features.StripBoilerplate = false
	cfg.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: "2026-01-03"}
	_, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, "2026-01-02.jsonl")}, Out: filepath.Join(dir, "third"), Config: cfg})
	if err == nil || !strings.Contains(err.Error(), "features.strip_boilerplate") {
		t.Errorf("whole texts came into a library of own texts: %v", err)
	}
}

// A site of few pages a night is learned over nights, from what the library
// keeps of them; later versions of a page count once.
func TestOwnTextOfSmallSites(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	dir := t.TempDir()
	lines := sitesLines()[:29]
	for night := range 4 {
		jsonl(t, filepath.Join(dir, fmt.Sprintf("2026-01-%02d.jsonl", night+1)), append(lines[7*night:7*night+7:7*night+7], lines[0])...)
	}
	for night, want := range []int64{0, 0, 1, 0} { // templates learned: 7 pages, 14, 21, known
		name := fmt.Sprintf("2026-01-%02d", night+1)
		s := libraryRun(t, config.Default(), dir, name, name)
		if o := s.Boilerplate; o.Learned != want || o.FromHistory != []int64{0, 6, 13, 0}[night] || (o.Known > 0) != (night == 3) || (o.Left > 0) != (night >= 2) {
			t.Errorf("%s: %+v", name, o)
		}
	}
	m, err := library.ReadManifest(filepath.Join(dir, "lib"))
	if err != nil {
		t.Fatal(err)
	}
	if n := m.Nights; n[0].Samples == "" || n[1].Samples == "" || n[2].Samples != "" || n[3].Samples != "" {
		t.Errorf("of a site that has a template samples were kept: %+v", n)
	}
}

// A night that was interrupted, after it has learned from the library's samples
// or before it adds its own, leaves the samples of one that was not.
func TestSamplesOfAnInterruptedNight(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	lines := sitesLines()
	want := ""
	for _, at := range []string{"", stage.Fingerprint, stage.Write} {
		dir := t.TempDir()
		jsonl(t, filepath.Join(dir, "2026-01-01.jsonl"), lines[:7]...)
		jsonl(t, filepath.Join(dir, "2026-01-02.jsonl"), lines[7:14]...)
		libraryRun(t, config.Default(), dir, "2026-01-01", "one")
		if at != "" {
			cfg := config.Default()
			cfg.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: "2026-01-02"}
			stop, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := job.Run(stop, job.Request{
				Command: job.CommandRun, Inputs: []string{filepath.Join(dir, "2026-01-02.jsonl")}, Out: filepath.Join(dir, "two"), Config: cfg, Engine: local.New(2),
				Progress: func(stage string) (func(int64, string) func(int64), func()) {
					if stage == at {
						cancel()
					}
					return func(int64, string) func(int64) { return func(int64) {} }, func() {}
				},
			})
			if err == nil {
				t.Fatalf("%s: the run was not interrupted", at)
			}
		}
		s := libraryRun(t, config.Default(), dir, "2026-01-02", "two")
		m, err := library.ReadManifest(filepath.Join(dir, "lib"))
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(s.Boilerplate.FromHistory, s.Boilerplate.Largest)
		for _, n := range m.Nights {
			f, _ := m.File(n.Samples)
			got += fmt.Sprintf(" %s %d %s", f.Name, f.Rows, f.SHA256)
		}
		if want == "" {
			want = got
		}
		if got != want || s.Boilerplate.FromHistory != 7 {
			t.Errorf("interrupted at %q: %s, else %s", at, got, want)
		}
	}
}

// Why nothing is left out.
func TestOwnTextOfNoSite(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	for name, want := range map[string]string{"few": "a site needs 20 sampled pages, the largest of 2 sites has 5 of 10 sampled pages", "none": "none found: 2 sites, 60 sampled pages"} {
		lines := slices.Concat(sitesLines()[:5], sitesLines()[30:35])
		if name == "none" {
			lines = nil
			for i := range 60 {
				lines = append(lines, fmt.Sprintf(`{"id":"http://site%d.example/%d","text":%q}`, i%2, i, text(uint64(i), 40)))
			}
		}
		in := jsonl(t, filepath.Join(dir, name+".jsonl"), lines...)
		s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, name), Config: config.Default()})
		b.Reset()
		if err := s.PrintAll(&b, message.English); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: the summary does not say %q:\n%s", name, want, b.String())
		}
	}
}
