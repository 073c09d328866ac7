package job_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/sample"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage/cluster"
	"github.com/neardup/neardup/simhash"
)

// sized is how many documents are compared with each other: in the short form,
// with which the race detector runs, a quarter.
func sized(documents int) int {
	if testing.Short() {
		return documents / 4
	}
	return documents
}

// exhaustively is how many cases are drawn: the usual number, or all of them with
// NEARDUP_EXHAUSTIVE.
func exhaustively(usual, all int) int {
	if os.Getenv("NEARDUP_EXHAUSTIVE") != "" {
		return all
	}
	return usual
}

// runJob runs the request with an engine of so many workers.
func runJob(t *testing.T, workers int, req job.Request) *job.Summary {
	t.Helper()
	req.Engine = local.New(workers)
	req.Config.Execution.Workers = workers
	s, err := job.Run(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	// Every record is a document or skipped, every document in one lane. Later
	// rows of an id and deleted ones are documents.
	if skipped := total(s.Skipped) - s.Skipped[data.ReasonDuplicateID] - s.Skipped[data.ReasonDeleted]; s.Records != s.Documents+skipped || total(s.LengthClasses) != s.Documents {
		t.Errorf("%d records, %d documents, skipped %v, lanes %v", s.Records, s.Documents, s.Skipped, s.LengthClasses)
	}
	if req.Command == job.CommandRun && req.Config.Output.Clean {
		checkRemoved(t, req.Out, s)
	}
	return s
}

type document struct {
	id    string
	print simhash.Fingerprint
}

// writeFingerprints writes a fingerprints table that a match can read.
func writeFingerprints(t *testing.T, path string, bits int, docs []document) {
	t.Helper()
	w, err := parquet.Create(path, &data.Fingerprints, parquet.Options{Bits: bits})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		row := data.FingerprintRow{DocID: []byte(d.id), Hi: d.print.Hi, Lo: d.print.Lo, LengthClass: simhash.LengthNormal, Date: data.NoDate, Rank: math.NaN()}
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

// randomDocuments are planted near-duplicates around random centres.
func randomDocuments(rng *rand.Rand, bits, n int) []document {
	mask := simhash.Fingerprint{Lo: ^uint64(0)}
	switch bits {
	case 32:
		mask.Lo = 1<<32 - 1
	case 128:
		mask.Hi = ^uint64(0)
	}
	docs := make([]document, n)
	for i := range docs {
		f := simhash.Fingerprint{Hi: rng.Uint64() & mask.Hi, Lo: rng.Uint64() & mask.Lo}
		if i > 0 && rng.IntN(3) > 0 {
			f = docs[rng.IntN(i)].print
			for range rng.IntN(6) {
				f = flip(f, rng.IntN(bits))
			}
		}
		docs[i] = document{fmt.Sprintf("http://example.org/%x", rng.Uint32()), f}
	}
	return docs
}

// skewedDocuments share one segment, a third of them the whole fingerprint.
func skewedDocuments(rng *rand.Rand, bits, n int) []document {
	docs := make([]document, n)
	for i := range docs {
		f := simhash.Fingerprint{Lo: rng.Uint64() & 0xffff}
		if rng.IntN(3) == 0 {
			f.Lo = 0xabc
		}
		docs[i] = document{fmt.Sprintf("d%d", (i*7919)%n), f}
	}
	return docs
}

func flip(f simhash.Fingerprint, bit int) simhash.Fingerprint {
	if bit < 64 {
		f.Lo ^= 1 << bit
	} else {
		f.Hi ^= 1 << (bit - 64)
	}
	return f
}

type match struct {
	id, other string
	distance  int
}

// bruteForce compares all with all, ties to the earlier document.
func bruteForce(docs []document, k int) (best []match, pairs []match) {
	for i, d := range docs {
		found := match{distance: k + 1}
		for j, o := range docs {
			h := simhash.Distance(d.print, o.print)
			if i == j || h > k {
				continue
			}
			if h < found.distance {
				found = match{d.id, o.id, h}
			}
			if i < j {
				pairs = append(pairs, match{d.id, o.id, h})
			}
		}
		if found.distance <= k {
			best = append(best, found)
		}
	}
	return best, pairs
}

func readMatches(t *testing.T, out, table string) []match {
	t.Helper()
	parts, err := rundir.Parts(out, table)
	if err != nil || len(parts) == 0 {
		t.Fatalf("%s: %v, %v", table, parts, err)
	}
	var got []match
	for _, part := range parts {
		r, err := parquet.OpenTable(part, &data.Matches, parquet.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		bits := r.Info.Bits
		var row data.MatchRow
		for {
			if err := r.Read(&row); err != nil {
				break
			}
			if want := 1 - float64(row.Distance)/float64(bits); row.Similarity != want || row.MatchFrom != "run" {
				t.Fatalf("similarity %v from %q at distance %d, want %v", row.Similarity, row.MatchFrom, row.Distance, want)
			}
			got = append(got, match{string(row.DocID), string(row.MatchID), int(row.Distance)})
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// digests of all files below the given folders of a run directory.
func digests(t *testing.T, out string, folders ...string) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(out, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(out, path)
			sums[rel] = sha256.Sum256(text)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return sums
}

var executions = []struct {
	workers int
	config.Execution
}{
	{1, config.Execution{Engine: "local"}},
	{2, config.Execution{Engine: "local"}},
	{7, config.Execution{Engine: "local"}},
	{2, config.Execution{Engine: "local", Memory: "20000"}}, // by way of the disk
	{7, config.Execution{Engine: "local", Memory: "5KB"}},
}

// For random and for skewed sets and every k from 0 to 8 the job's matches and
// pairs are those of brute force, and its files the same bytes however it is
// executed.
func TestMatchesEqualBruteForce(t *testing.T) {
	for _, set := range []struct {
		name string
		draw func(*rand.Rand, int, int) []document
	}{{"random", randomDocuments}, {"skewed", skewedDocuments}} {
		for k := range 9 {
			if testing.Short() && k > 2 {
				break // each number of bits once
			}
			bits := []int{64, 128, 32}[k%3]
			t.Run(fmt.Sprintf("%s/k=%d/bits=%d", set.name, k, bits), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(k), 7))
				docs := set.draw(rng, bits, sized(400))
				dir := t.TempDir()
				prints := filepath.Join(dir, "prints.parquet")
				writeFingerprints(t, prints, bits, docs)
				best, pairs := bruteForce(docs, k)
				var first map[string][32]byte
				for i, e := range executions {
					out := filepath.Join(dir, fmt.Sprint("run", i))
					cfg := classic()
					cfg.Features.Bits, cfg.Match.Distance, cfg.Match.AllPairs, cfg.Execution = bits, k, true, e.Execution
					s := runJob(t, e.workers, job.Request{Command: job.CommandMatch, Inputs: []string{prints}, Out: out, Config: cfg})
					if got := readMatches(t, out, rundir.Matches); !slices.Equal(got, best) {
						t.Fatalf("%+v: %d matches, want %d", e, len(got), len(best))
					}
					if got := readMatches(t, out, rundir.Pairs); !slices.Equal(got, pairs) {
						t.Fatalf("%+v: %d pairs, want %d", e, len(got), len(pairs))
					}
					if s.Matched != int64(len(best)) || s.Pairs != int64(len(pairs)) || s.Documents != int64(len(docs)) {
						t.Fatalf("summary %+v", s)
					}
					sums := digests(t, out, rundir.Matches, rundir.Pairs, rundir.Clusters)
					if first == nil {
						first = sums
					}
					if len(sums) != 3 || fmt.Sprint(sums) != fmt.Sprint(first) {
						t.Fatalf("%+v: files differ from the first execution's", e)
					}
				}
			})
		}
	}
}

// leaky is an engine that loses every pair, or some of them.
type leaky struct {
	engine.Engine
	keep func(data.Pair) bool
}

func (l leaky) Match(ctx context.Context, j *engine.Job, documents *corpus.Documents, emit func([]data.Pair) error) error {
	return l.Engine.Match(ctx, j, documents, func(pairs []data.Pair) error {
		return emit(slices.DeleteFunc(slices.Clone(pairs), func(p data.Pair) bool { return !l.keep(p) }))
	})
}

// A run notices when its engine loses pairs, and writes no tables then.
func TestLostPairsAreNoticed(t *testing.T) {
	dir := t.TempDir()
	prints := filepath.Join(dir, "prints.parquet")
	writeFingerprints(t, prints, 64, randomDocuments(rand.New(rand.NewPCG(3, 3)), 64, 60))
	for name, keep := range map[string]func(data.Pair) bool{
		"all":     func(data.Pair) bool { return false },
		"distant": func(p data.Pair) bool { return p.Distance < 2 },
	} {
		out := filepath.Join(dir, name)
		_, err := job.Run(context.Background(), job.Request{Command: job.CommandMatch, Inputs: []string{prints}, Out: out, Config: classic(), Engine: leaky{local.New(1), keep}})
		if !errors.Is(err, cluster.ErrMissed) {
			t.Errorf("%s pairs lost: got %v, want ErrMissed", name, err)
		}
		if parts, err := rundir.Parts(out, rundir.Matches); err != nil || len(parts) > 0 {
			t.Errorf("%s pairs lost: tables %v, %v", name, parts, err)
		}
	}
}

// chain is documents of which only neighbours are within distance 3.
func chain(n int) []document {
	docs := make([]document, n)
	var f simhash.Fingerprint
	for i := range docs {
		docs[i] = document{fmt.Sprintf("%05d", i), f}
		f = flip(flip(f, (2*i)%64), (2*i+1)%64)
	}
	return docs
}

// Of a chain every third document stays for its neighbours: none goes for one that
// it is no pair of, and what the chain connects is a component.
func TestChainIsNoReason(t *testing.T) {
	dir := t.TempDir()
	prints := filepath.Join(dir, "prints.parquet")
	writeFingerprints(t, prints, 64, chain(30))
	out := filepath.Join(dir, "out")
	s := runJob(t, 2, job.Request{Command: job.CommandMatch, Inputs: []string{prints}, Out: out, Config: classic()})
	if s.Matched != 30 || s.Clusters < 10 || s.Clustered+s.Alone != 30 || s.Largest[0].Size > 3 {
		t.Errorf("%+v", s)
	}
	for doc, row := range clustersOf(t, out) {
		at, err := strconv.Atoi(doc)
		representative, wrong := strconv.Atoi(string(row.ClusterID))
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		if string(row.Component) != "00000" || max(at-representative, representative-at) > 1 || row.Representative != (at == representative) {
			t.Errorf("%s: %+v", doc, row)
		}
	}
}

// jsonl writes lines as a JSONL file.
func jsonl(t *testing.T, path string, lines ...string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// text is a page of n words that no other seed has.
func text(seed uint64, n int) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%x", rng.Uint32())
	}
	return strings.Join(words, " ")
}

func TestDuplicateAndMissingIDs(t *testing.T) {
	dir := t.TempDir()
	in := jsonl(t, filepath.Join(dir, "in.jsonl"),
		fmt.Sprintf(`{"id":"b","text":%q}`, text(1, 60)),
		fmt.Sprintf(`{"id":"a","text":%q}`, text(2, 60)),
		fmt.Sprintf(`{"id":"b","text":%q}`, text(2, 60)),
		fmt.Sprintf(`{"text":%q}`, text(1, 60)))
	cfg := config.Default()
	s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "out"), Config: cfg})
	if s.Documents != 4 || s.Skipped[data.ReasonDuplicateID] != 1 || s.Bad != 1 || s.Matched != 2 {
		t.Fatalf("summary %+v", s)
	}
	offset := 0
	for _, l := range strings.SplitAfter(readFile(t, in), "\n")[:3] {
		offset += len(l)
	}
	id := fmt.Sprintf("in.jsonl#%d", offset)
	if got, want := readMatches(t, filepath.Join(dir, "out"), rundir.Matches), []match{{"b", id, 0}, {id, "b", 0}}; !slices.Equal(got, want) {
		t.Fatalf("matches %v, want %v", got, want)
	}
	// The first b stays or goes by its own cluster; the second is left out.
	if s.Kept != 2 || s.Dropped != 2 {
		t.Fatalf("kept %d, dropped %d", s.Kept, s.Dropped)
	}

	cfg.Input.DuplicateIDs = "fail"
	_, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "fail"), Config: cfg, Engine: local.New(1)})
	if err == nil || !strings.Contains(err.Error(), `id "b" appears more than once`) {
		t.Fatalf("got %v, want the id", err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestKeepRules(t *testing.T) {
	dir := t.TempDir()
	base := text(1, 80)
	in := jsonl(t, filepath.Join(dir, "in.jsonl"),
		fmt.Sprintf(`{"id":"a","text":%q,"date":"2026-03-01","score":1}`, base),
		fmt.Sprintf(`{"id":"b","text":%q,"date":"2026-01-01","score":5}`, base),
		fmt.Sprintf(`{"id":"c","text":%q,"date":"2026-02-01","score":9}`, base+" "+strings.Split(base, " ")[0]),
		fmt.Sprintf(`{"id":"d","text":%q,"score":2}`, base))
	for rule, want := range map[string]string{config.KeepLongest: "c", config.KeepEarliest: "b", config.KeepRank: "c", config.KeepFirst: "a"} {
		cfg := config.Default()
		cfg.Clusters.Keep, cfg.Input.Rank = rule, "score"
		s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, rule), Config: cfg})
		if len(s.Largest) != 1 || s.Largest[0].Example != want || s.Largest[0].Size != 4 {
			t.Errorf("%s kept %+v, want %s", rule, s.Largest, want)
		}
		clean := readFile(t, filepath.Join(dir, rule, rundir.Clean, "part-00000.jsonl"))
		if !strings.Contains(clean, fmt.Sprintf(`{"id":%q`, want)) || strings.Count(clean, "\n") != 1 {
			t.Errorf("%s: clean dump %.60q", rule, clean)
		}
	}
}

func TestAnotherConfigurationIsRefused(t *testing.T) {
	dir := t.TempDir()
	in := jsonl(t, filepath.Join(dir, "in.jsonl"), fmt.Sprintf(`{"id":"a","text":%q}`, text(1, 60)))
	out := filepath.Join(dir, "out")
	cfg := config.Default()
	req := job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg}
	first := runJob(t, 1, req)
	req.Config.Execution.Memory = "20000"
	if again := runJob(t, 3, req); again.Documents != first.Documents {
		t.Fatalf("a finished run again: %+v", again)
	}
	req.Config.Match.Distance = 5
	req.Engine = local.New(1)
	if _, err := job.Run(context.Background(), req); !errors.Is(err, rundir.ErrOther) || !strings.Contains(err.Error(), "match.distance is 3 there, 5 here") {
		t.Fatalf("got %v, want ErrOther with the setting", err)
	}
}

// What only a resume needs is gone when a run has succeeded, and nobody misses
// it.
func TestStateIsCleared(t *testing.T) {
	dir := t.TempDir()
	in := jsonl(t, filepath.Join(dir, "in.jsonl"), fmt.Sprintf(`{"id":"a","text":%q}`, text(1, 60)), fmt.Sprintf(`{"id":"b","text":%q}`, text(1, 60)))
	req := job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "out"), Config: config.Default()}
	first := runJob(t, 1, req)
	left, err := os.ReadDir(filepath.Join(req.Out, rundir.State))
	if err != nil || len(left) != 2 || left[0].Name() != method.FormsFile || left[1].Name() != method.TemplatesFile {
		t.Errorf("the state has %v, %v", left, err)
	}
	if again := runJob(t, 1, req); again.Documents != first.Documents || again.Matched != first.Matched {
		t.Errorf("%+v, then %+v", first, again)
	}
	runJob(t, 1, job.Request{Command: job.CommandMatch, Inputs: []string{req.Out}, Out: filepath.Join(dir, "match"), Config: config.Default()})
}

// An input that changed between two processes of one run, its size the same,
// is noticed before it gets into the clean dump.
func TestChangedInputIsNoticed(t *testing.T) {
	dir := t.TempDir()
	in := jsonl(t, filepath.Join(dir, "in.jsonl"), fmt.Sprintf(`{"id":"a","text":%q}`, text(1, 60)))
	out := filepath.Join(dir, "out")
	req := job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: config.Default()}
	req.Config.Execution.KeepState = true
	runJob(t, 1, req)
	for _, name := range []string{rundir.SuccessFile, "tasks/write-00000.json"} {
		if err := os.Remove(filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
	}
	jsonl(t, in, strings.Replace(strings.TrimSpace(readFile(t, in)), `"id":"a"`, `"id":"b"`, 1))
	req.Engine = local.New(1)
	if _, err := job.Run(context.Background(), req); err == nil || !strings.Contains(err.Error(), "in.jsonl has changed") {
		t.Fatalf("got %v, want the changed file", err)
	}
}

func TestTooManyBadRecords(t *testing.T) {
	dir := t.TempDir()
	in := jsonl(t, filepath.Join(dir, "in.jsonl"), fmt.Sprintf(`{"id":"a","text":%q}`, text(1, 60)), `{"id":`, `nonsense`)
	cfg := config.Default()
	cfg.Input.MaxBad = "1"
	req := job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "out"), Config: cfg, Engine: local.New(1)}
	if _, err := job.Run(context.Background(), req); !errors.Is(err, job.ErrTooManyBad) || !strings.Contains(err.Error(), "2 of 3 records") {
		t.Fatalf("got %v, want ErrTooManyBad", err)
	}
	req.Config.Input.MaxBad, req.Out = "2", filepath.Join(dir, "out2")
	s, err := job.Run(context.Background(), req)
	if err != nil || s.Skipped[data.ReasonMalformed] != 2 || s.Documents != 1 {
		t.Fatalf("got %+v, %v", s, err)
	}
	if q := readFile(t, filepath.Join(dir, "out2", rundir.Quarantine, "part-00000.jsonl")); strings.Count(q, "\n") != 2 {
		t.Fatalf("quarantine %q", q)
	}
}

// Many documents without features never merge; many identical ones make one
// cluster; neither costs its square.
func TestManyEmptyAndManyIdentical(t *testing.T) {
	n := int64(20_000)
	if testing.Short() {
		n = 1500
	}
	dir := t.TempDir()
	for name, page := range map[string]string{"empty": "", "blank": " \\n\\t ", "identical": text(1, 40)} {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprintf(`{"id":"%d","text":"%s"}`, i, page)
		}
		in := jsonl(t, filepath.Join(dir, name+".jsonl"), lines...)
		s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, name), Config: config.Default()})
		if name == "identical" {
			if s.Clusters != 1 || s.Clustered != n || s.Matched != n || s.Kept != 1 || s.Alone != 0 {
				t.Errorf("%s: %+v", name, s)
			}
			continue
		}
		if s.Matched != 0 || s.Clusters != 0 || s.LengthClasses["normal"] != 0 || s.Kept+s.Skipped[data.ReasonNoText] != n {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// writeSample puts the sample dump into a folder of its own.
func writeSample(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sample")
	if err := os.CopyFS(dir, sample.Files()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// On the sample every record is accounted for as planned, no match joins
// pages that are not related, and most planted near-duplicates are found.
func TestSampleAgainstItsTruth(t *testing.T) {
	more := map[string]float64{"mirror": 1, "counters": 1, "advertisement": 1, "edit": 0.9, "error_page": 1, "short": 0.4}
	for preset, shares := range map[string]map[string]float64{
		config.PresetClassic:  {"mirror": 0.9, "counters": 0.5, "advertisement": 0.35, "edit": 0.4, "error_page": 0.35},
		config.PresetBalanced: more,
		config.PresetThorough: more,
	} {
		t.Run(preset, func(t *testing.T) {
			if preset != config.PresetBalanced && testing.Short() {
				t.Skip("another preset")
			}
			sampleAgainstItsTruth(t, preset, shares)
		})
	}
}

// errorHTML is the kind of an error page that is a page of HTML, and not text.
const errorHTML = "error page of HTML"

func sampleAgainstItsTruth(t *testing.T, preset string, shares map[string]float64) {
	truth, err := sample.Truth()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Default().WithPreset(preset)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "night1")
	s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{writeSample(t)}, Out: out, Config: cfg})

	cluster := map[string]string{}
	skipped := map[string]int64{}
	kinds := map[string]string{}
	for _, p := range truth {
		if p.Skip == "" {
			cluster[p.ID], kinds[p.ID] = p.Cluster, p.Kind
			if p.Kind == "error_page" && strings.Contains(p.File, ".warc") {
				kinds[p.ID] = errorHTML
			}
		} else {
			skipped[p.Skip]++
		}
	}
	if fmt.Sprint(s.Skipped) != fmt.Sprint(skipped) {
		t.Errorf("skipped %v, want %v", s.Skipped, skipped)
	}
	if want := int64(len(cluster)) + skipped[data.ReasonDuplicateID]; s.Documents != want {
		t.Errorf("%d documents, want %d", s.Documents, want)
	}
	if s.Kept+s.Dropped != s.Documents || s.Records != int64(len(truth)) {
		t.Errorf("%d kept and %d dropped of %d documents, %d records of %d", s.Kept, s.Dropped, s.Documents, s.Records, len(truth))
	}

	found := map[string]int{}
	for _, m := range readMatches(t, out, rundir.Matches) {
		if cluster[m.id] == "" || cluster[m.id] != cluster[m.other] {
			t.Errorf("%s and %s match at distance %d, and are not related", m.id, m.other, m.distance)
		}
		found[kinds[m.id]]++
	}
	planted := map[string]int{}
	for _, k := range kinds {
		planted[k]++
	}
	// What the preset sees: see accuracy in the README.
	for kind, share := range shares {
		if planted[kind] == 0 || float64(found[kind]) < share*float64(planted[kind]) {
			t.Errorf("%s: %d of %d matched, want a share of %v", kind, found[kind], planted[kind], share)
		}
	}
	if planted[errorHTML] == 0 || found[errorHTML] > 0 {
		t.Errorf("of %d error pages of HTML %d were matched, and resemble nothing", planted[errorHTML], found[errorHTML])
	}
	if found["empty"] > 0 || preset == config.PresetClassic && found["short"] > 0 {
		t.Errorf("documents without enough features were matched: %v", found)
	}
	t.Logf("planted %v, found %v", planted, found)
}

// sharedData returns the folder that holds the shared data, and skips a test
// where there is none.
func sharedData(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("NEARDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err != nil {
		t.Skipf("shared data not found at %s: name its folder in NEARDUP_SHARED", dir)
	}
	return dir
}

// Every file of the shared data goes through.
func TestSharedData(t *testing.T) {
	if testing.Short() {
		t.Skip("all shared files: the long tests do them")
	}
	dir := sharedData(t)
	for _, c := range []struct {
		pattern   string
		documents int64
		text      string
	}{
		{"data/zh/laws.jsonl.gz", 3504, ""},
		{"data/zh/blogs.jsonl.gz", 10000, ""},
		{"data/zh/lctt_pairs.jsonl.gz", 2975, "published"},
		{"data/zh/weibo_titles.jsonl.gz", 98073, ""},
		{"data/en/reuters21578.jsonl.gz", 19043, ""},
		{"data/warc/*.warc*", 298, ""},
	} {
		cfg := config.Default()
		cfg.Input.Text = c.text
		cfg.Output.Clean = strings.Contains(c.pattern, "warc") || strings.Contains(c.pattern, "laws")
		s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, c.pattern)}, Out: filepath.Join(t.TempDir(), "out"), Config: cfg})
		if s.Documents != c.documents || s.Records != s.Documents+total(s.Skipped)-s.Skipped[data.ReasonDuplicateID] {
			t.Errorf("%s: %d documents, want %d; %d records, skipped %v", c.pattern, s.Documents, c.documents, s.Records, s.Skipped)
		}
	}
	req := job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, "data", "warc")}, Out: filepath.Join(t.TempDir(), "out"), Config: config.Default(), Engine: local.New(1)}
	if _, err := job.Run(context.Background(), req); !errors.Is(err, source.ErrRefused) || !strings.Contains(err.Error(), "blackbook.arc.gz") {
		t.Errorf("got %v, want the ARC file refused by name", err)
	}
}

func total(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

func Example() {
	dir, err := os.MkdirTemp("", "night")
	if err != nil {
		fmt.Println(err)
		return
	}
	in := filepath.Join(dir, "pages.jsonl")
	page := `{"id":"%s","text":"alpha bravo charlie delta echo foxtrot golf hotel india juliett"}` + "\n"
	if err := os.WriteFile(in, fmt.Appendf(nil, page+page, "a", "b"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	cfg := config.Default()
	cfg.Features.MinFeatures = 8
	s, err := job.Run(context.Background(), job.Request{
		Command: job.CommandRun,
		Inputs:  []string{in},
		Out:     filepath.Join(dir, "night1"),
		Config:  cfg,
		Engine:  local.New(2),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Documents, "documents,", s.Matched, "matched,", s.Clusters, "cluster,", s.Kept, "stays")
	fmt.Println(os.RemoveAll(dir))
	// Output:
	// 2 documents, 2 matched, 1 cluster, 1 stays
	// <nil>
}
