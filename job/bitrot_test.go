package job_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/nightstest"
	"github.com/neardup/neardup/job/internal/rundir"
)

// tree is all files below a folder, by their paths within it.
type tree map[string]string

func readTree(t *testing.T, dir string) tree {
	t.Helper()
	files := tree{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files[name] = readFile(t, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// lay makes the folder hold these files and nothing else.
func (files tree) lay(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBitRot flips one bit of a file of the library, its deletions too, the state, the texts, the
// tables or the task records of a run that was interrupted after some stage, and
// goes on with it: it is refused by an error that names the file, or ends with
// the same results. A file that the rest of the run does not read may stay as it
// is: then whoever reads it refuses it.
func TestBitRot(t *testing.T) {
	if testing.Short() {
		t.Skip("each place is a run")
	}
	t.Parallel()
	places := exhaustively(48, 200)
	dir := t.TempDir()
	names := nightstest.Crawl(t, dir, 2, 30)
	lines := strings.SplitAfter(readFile(t, filepath.Join(dir, names[1]+".jsonl")), "\n")
	pages := filepath.Join(dir, "pages")
	tree{"a.jsonl": strings.Join(lines[:12], ""), "b.jsonl": strings.Join(lines[12:], "")}.lay(t, pages)
	cfg, err := config.Default().WithPreset(config.PresetThorough)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Match.AllPairs = true
	libraryRun(t, cfg, dir, names[0], "first")
	lib, out := filepath.Join(dir, "lib"), filepath.Join(dir, "out")
	change(t, lib, func(l *library.Library) error {
		_, err := l.Delete(t.Context(), library.Doomed{IDs: []string{"http://site1.example/gone", "http://site2.example/gone"}})
		return err
	})
	before := readTree(t, lib)
	cfg.Library = config.Library{Path: lib, Night: names[1]}
	cfg.Execution.KeepState = true
	request := job.Request{Command: job.CommandRun, Inputs: []string{pages}, Out: out, Config: cfg}
	whole := figures(t, runJob(t, 2, request))
	after, done := results(t, lib, out), readTree(t, out)
	delete(done, rundir.SuccessFile)
	delete(done, rundir.SummaryFile)

	var m rundir.Manifest
	if err := rundir.ReadJSON(filepath.Join(out, rundir.ManifestFile), &m); err != nil {
		t.Fatal(err)
	}
	stages := job.Stages(m)
	rnd := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // not for secrets
	outcomes := map[string]int{}
	for place := range places {
		left := stages[1+rnd.IntN(len(stages)-1):] // to do
		at := maps.Clone(done)
		for _, s := range left {
			maps.DeleteFunc(at, func(name, _ string) bool {
				return strings.HasPrefix(name, filepath.Join(rundir.Tasks, s.Name+"-"))
			})
		}
		lay := map[string]tree{lib: maps.Clone(before), out: at}
		where, name := flipped(rnd, lay, lib, out)
		for folder, files := range lay {
			files.lay(t, folder)
		}
		request.Engine = local.New(2)
		s, err := job.Run(t.Context(), request)
		switch {
		case err != nil && strings.Contains(err.Error(), filepath.Base(name)):
			outcomes["refused"]++
		case err != nil:
			t.Errorf("place %d, %s, before %s: the error does not name the file: %v", place, name, left[0].Name, err)
		default:
			kept := readFile(t, filepath.Join(where, name)) == lay[where][name]
			outcomes[map[bool]string{true: "not read", false: "made again"}[kept]]++
			if got := figures(t, s); got != whole {
				t.Errorf("place %d, %s, before %s: the summary is %s, want %s", place, name, left[0].Name, got, whole)
			}
			got := results(t, lib, out)
			for file, text := range after {
				if got[file] != text && (!kept || !strings.HasSuffix(file, name)) {
					t.Errorf("place %d, %s, before %s: %s has other bytes", place, name, left[0].Name, file)
				}
			}
			if kept && where == lib {
				l, err := library.Open(t.Context(), lib, library.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if wrong, err := l.Verify(t.Context()); err != nil || len(wrong) == 0 {
					t.Errorf("place %d: %s is damaged, and no verification finds it: %v", place, name, err)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Log(outcomes)
	if outcomes["refused"] == 0 || outcomes["made again"] == 0 {
		t.Errorf("%v: the test shows nothing", outcomes)
	}
}

// figures are those of the summary that are no times and sizes.
func figures(t *testing.T, s *job.Summary) string {
	t.Helper()
	c := *s
	c.Began, c.Seconds, c.PeakMemory, c.Stages, c.Files, c.Warnings = time.Time{}, 0, 0, nil, nil, 0
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// flipped flips a bit in one of the files, each kind of them as likely as the
// others, and says in which.
func flipped(rnd *rand.Rand, lay map[string]tree, lib, out string) (where, name string) {
	kinds := []string{rundir.Tasks, rundir.State, filepath.Join(rundir.State, "views"), rundir.Texts, rundir.Fingerprints, rundir.ManifestFile, "documents", "merges", "deletions", library.ManifestFile}
	for name == "" {
		kind := kinds[rnd.IntN(len(kinds))]
		where = out
		if _, ok := lay[lib][kind]; ok || slices.Contains([]string{"documents", "merges", "deletions"}, kind) {
			where = lib
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(lay[where])), func(n string) bool {
			return n != kind && !strings.HasPrefix(n, kind+string(filepath.Separator)) || lay[where][n] == ""
		})
		if len(names) > 0 {
			name = names[rnd.IntN(len(names))]
		}
	}
	text := []byte(lay[where][name])
	text[rnd.IntN(len(text))] ^= 1 << rnd.IntN(8)
	lay[where][name] = string(text)
	return where, name
}

// results are the files that the run is for, and the night in the library.
func results(t *testing.T, lib, out string) tree {
	t.Helper()
	found := tree{}
	for name, text := range readTree(t, out) {
		if folder, _, ok := strings.Cut(name, string(filepath.Separator)); ok && slices.Contains(rundir.Outputs, folder) {
			found[filepath.Join("out", name)] = text
		}
	}
	for name, text := range readTree(t, lib) {
		if strings.HasPrefix(name, "documents") || strings.HasPrefix(name, "merges") {
			found[filepath.Join("lib", name)] = text
		}
	}
	return found
}
