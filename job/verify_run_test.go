package job_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/nightstest"
	"github.com/neardup/neardup/job/internal/rundir"
)

// TestNothingIsBelieved changes one file of a finished or half-finished run in
// drawn ways, whichever it is. Verification names it. Going on with the run is
// refused, or makes again what was changed: then all results are those of an
// undisturbed run, and verification is content.
func TestNothingIsBelieved(t *testing.T) {
	if testing.Short() {
		t.Skip("makes many runs")
	}
	t.Parallel()
	ways := exhaustively(60, 240)
	dir := t.TempDir()
	names := nightstest.Crawl(t, dir, 1, 40)
	lines := strings.SplitAfter(readFile(t, filepath.Join(dir, names[0]+".jsonl")), "\n")
	pages, out := filepath.Join(dir, "pages"), filepath.Join(dir, "out")
	tree{"a.jsonl": strings.Join(lines[:15], ""), "b.jsonl": strings.Join(lines[15:], "") + "{no json}\n"}.lay(t, pages)
	cfg, err := config.Default().WithPreset(config.PresetThorough)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Match.AllPairs = true
	request := job.Request{Command: job.CommandRun, Inputs: []string{pages}, Out: out, Config: cfg}
	whole := figures(t, runJob(t, 2, request))
	finished := readTree(t, out)
	kept := request
	kept.Out, kept.Config.Execution.KeepState = filepath.Join(dir, "kept"), true
	runJob(t, 2, kept)
	withState := readTree(t, kept.Out)
	var m rundir.Manifest
	if err := rundir.ReadJSON(filepath.Join(out, rundir.ManifestFile), &m); err != nil {
		t.Fatal(err)
	}
	stages := job.Stages(m)
	results := func(files tree) tree {
		found := tree{}
		for name, text := range files {
			if folder, _, ok := strings.Cut(name, string(filepath.Separator)); ok && slices.Contains(rundir.Outputs, folder) {
				found[name] = text
			}
		}
		return found
	}
	want := results(finished)
	rnd := rand.New(rand.NewPCG(27, 3)) //nolint:gosec // not for secrets
	outcomes := map[string]int{}
	for way := range ways {
		files, state := maps.Clone(finished), "finished"
		switch way % 3 {
		case 1: // some stages are still to be done
			files, state = maps.Clone(withState), "half-finished"
			delete(files, rundir.SuccessFile)
			delete(files, rundir.SummaryFile)
			for _, s := range stages[1+rnd.IntN(len(stages)-1):] {
				maps.DeleteFunc(files, func(name, _ string) bool {
					return strings.HasPrefix(name, filepath.Join(rundir.Tasks, s.Name+"-"))
				})
			}
		case 2: // one record and the marker are gone
			state = "without a record"
			delete(files, rundir.SuccessFile)
			s := stages[rnd.IntN(len(stages))]
			delete(files, filepath.Join(rundir.Tasks, fmt.Sprintf("%s-%05d.json", s.Name, 0)))
		}
		name, how := changed(rnd, files)
		if name == "" {
			continue
		}
		files.lay(t, out)
		label := fmt.Sprintf("way %d, %s, %s of %s", way, state, how, name)
		v, err := job.VerifyRun(t.Context(), out, nil)
		// What no record names yet is nobody's: the task that makes it is done again.
		recorded := strings.Contains(strings.Join(records(files), "\n"), fmt.Sprintf("%q", name)) || strings.HasPrefix(name, rundir.Tasks) || !strings.Contains(name, "/")
		switch {
		case err != nil:
			t.Errorf("%s: %v", label, err)
		case recorded && state == "finished" && v.Sound:
			t.Errorf("%s: verification finds nothing", label)
		case state != "without a record" && !v.Sound && !strings.Contains(strings.Join(v.Damaged, "\n"), filepath.Base(name)):
			t.Errorf("%s: verification does not name it: %q", label, v.Damaged)
		}
		request.Engine = local.New(2)
		s, err := job.Run(t.Context(), request)
		if err != nil {
			if !strings.Contains(err.Error(), filepath.Base(name)) {
				t.Errorf("%s: the error does not name it: %v", label, err)
			}
			outcomes[state+", refused"]++
			continue
		}
		outcomes[state+", made again"]++
		if got := figures(t, s); got != whole {
			t.Errorf("%s: the summary is %s, want %s", label, got, whole)
		}
		if state == "finished" {
			t.Errorf("%s: accepted", label)
		}
		if got := results(readTree(t, out)); !maps.Equal(got, want) {
			for file := range want {
				if got[file] != want[file] {
					t.Errorf("%s: %s has other bytes", label, file)
				}
			}
		}
		if v, err := job.VerifyRun(t.Context(), out, nil); err != nil || !v.Sound || !v.Finished {
			t.Errorf("%s: made again: %+v, %v", label, v, err)
		}
	}
	t.Log(outcomes)
	if outcomes["half-finished, made again"] == 0 || outcomes["finished, refused"] == 0 || outcomes["without a record, made again"] == 0 {
		t.Errorf("%v: the test shows nothing", outcomes)
	}
}

// records are the texts of a run's task records.
func records(files tree) (texts []string) {
	for name, text := range files {
		if strings.HasPrefix(name, rundir.Tasks) {
			texts = append(texts, text)
		}
	}
	return texts
}

// changed changes one of the files, and says which and how.
func changed(rnd *rand.Rand, files tree) (name, how string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(n string) bool {
		return files[n] == "" || strings.HasPrefix(n, rundir.Logs) || strings.HasPrefix(n, ".")
	})
	name = names[rnd.IntN(len(names))]
	text := []byte(files[name])
	switch how = []string{"a bit", "zeros", "the end", "all", "another file"}[rnd.IntN(5)]; how {
	case "a bit":
		text[rnd.IntN(len(text))] ^= 1 << rnd.IntN(8)
	case "zeros":
		clear(text)
	case "the end":
		text = text[:rnd.IntN(len(text))]
	case "all":
		if delete(files, name); name == rundir.ManifestFile || strings.HasPrefix(name, rundir.Tasks) {
			return "", "" // then it is another run, or one that has done less
		}
		return name, how
	case "another file":
		other := names[rnd.IntN(len(names))]
		if files[other] == files[name] {
			return "", ""
		}
		text = []byte(files[other])
	}
	files[name] = string(text)
	return name, how
}

// A verification of what is no run says so.
func TestVerifyNoRun(t *testing.T) {
	if _, err := job.VerifyRun(t.Context(), t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "is not a run directory") {
		t.Error(err)
	}
}
