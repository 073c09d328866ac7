package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage/cluster"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// classic is the configuration of a match by the distance alone.
func classic() config.Config {
	cfg, err := config.Default().WithPreset(config.PresetClassic)
	if err != nil {
		panic(err)
	}
	return cfg
}

// page is a document of a made-up dump.
type page struct{ id, text string }

// pages are texts and their edits, from a changed word to half of the text,
// exact copies, short texts and texts without a letter.
func pages(n int) []page {
	r := rand.New(rand.NewPCG(3, 3))
	word := func() string { return fmt.Sprintf("w%d", r.IntN(5000)) }
	var out []page
	for i := range n {
		var words []string
		switch {
		case i > 5 && r.IntN(2) == 0: // an edit of an earlier one
			words = strings.Fields(out[r.IntN(i)].text)
			for range r.IntN(1 + len(words)/3) {
				words[r.IntN(len(words))] = word()
			}
		case i%9 == 0:
			for range 2 + r.IntN(4) {
				words = append(words, word())
			}
		case i%50 == 1:
			words = []string{"!!", "??"}
		default:
			for range 20 + r.IntN(400) {
				words = append(words, word())
			}
		}
		if i%9 == 1 && i > 9 { // a short text with a letter changed
			words = strings.Fields(strings.Replace(out[i-1].text, "w", "v", 1))
		}
		if i%20 == 3 && i > 20 {
			words = strings.Fields(out[i-7].text)
		}
		out = append(out, page{fmt.Sprintf("p%04d", r.IntN(1<<30)), strings.Join(words, " ")})
	}
	return out
}

// verifiedPairs compares all documents with all others, texts at hand.
func verifiedPairs(t *testing.T, cfg config.Config, docs []page) (pairs map[[2]string]string, best map[string][2]string) {
	t.Helper()
	analyzer, release, err := method.NewAnalyzer(cfg.Features)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	}()
	w := analyzer.NewWorkspace()
	f := mapper.NewFingerprinter(w, true, nil)
	f.Samples, f.Signatures = cfg.Match.Containment > 0, true
	views := make([]data.View, len(docs))
	signed := make([]mapper.Signed, len(docs))
	texts := make([]mapper.Text, len(docs))
	for i, d := range docs {
		var row data.FingerprintRow
		f.Fingerprint(&data.Document{ID: []byte(d.id), Text: []byte(d.text)}, "", &row)
		mapper.View(&row, &views[i])
		texts[i].Set(w.Normalize(nil, []byte(d.text)))
		if signed[i].Length = int(row.Length); len(row.Signature) > 0 {
			signature := sketch.Signature(row.Signature)
			signed[i].Signature = &signature
		}
	}
	rule := method.Rule(cfg.Match)
	judge := mapper.NewVerifier(rule)
	pairs, best = map[[2]string]string{}, map[string][2]string{}
	distance := map[string]int{}
	for i, a := range docs {
		for j, b := range docs {
			if i == j {
				continue
			}
			e := judge.Judge(&views[i], &views[j])
			switch {
			case e.Reason != data.Undecided:
			case cfg.Match.Signs():
				e = judge.SettleSigned(e, signed[i], signed[j])
			default:
				e.Reason, _, _ = judge.Settle(&texts[i], &texts[j])
			}
			if !rule.Candidate(&views[i], &views[j]) || e.Reason == data.NotTheSame {
				continue
			}
			if i < j {
				pairs[[2]string{a.id, b.id}] = e.Reason.String()
			}
			h := simhash.Distance(simhash.Fingerprint{Hi: views[i].Hi, Lo: views[i].Lo}, simhash.Fingerprint{Hi: views[j].Hi, Lo: views[j].Lo})
			if !e.Reason.Same() {
				h += 1000 // behind those that are the same
			}
			if _, ok := best[a.id]; !ok || h < distance[a.id] {
				best[a.id], distance[a.id] = [2]string{b.id, e.Reason.String()}, h
			}
		}
	}
	return pairs, best
}

// readVerdicts returns the rows of a table of matches with their verdicts.
func readVerdicts(t *testing.T, out, table string) map[[2]string]string {
	t.Helper()
	r, err := parquet.OpenTable(filepath.Join(out, table, rundir.PartName(0, ".parquet")), &data.Matches, parquet.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	got := map[[2]string]string{}
	var row data.MatchRow
	for range r.Info.Rows {
		if err := r.Read(&row); err != nil {
			t.Fatal(err)
		}
		consulted := slices.Contains([]string{
			sketch.ReasonTextsAlike, sketch.ReasonTextsSlips, sketch.ReasonTextsOrder, data.Contains.String(), data.Contained.String(),
		}, row.Verdict)
		if row.Jaccard == row.Jaccard != consulted || row.Containment == row.Containment != consulted {
			t.Errorf("row %+v", row)
		}
		got[[2]string{string(row.DocID), string(row.MatchID)}] = row.Verdict
	}
	return got
}

// A run with verification finds what comparing all documents finds, in every
// preset and by either way of matching.
func TestVerifiedRunEqualsAllPairs(t *testing.T) {
	docs := pages(max(sized(600), 400))
	var lines []string
	for _, d := range docs {
		lines = append(lines, fmt.Sprintf(`{"id":%q,"text":%q}`, d.id, d.text))
	}
	in := jsonl(t, filepath.Join(t.TempDir(), "in.jsonl"), lines...)
	presets := []string{config.PresetBalanced, config.PresetThorough}
	if testing.Short() {
		presets = presets[1:]
	}
	for _, preset := range presets {
		cfg, err := config.Default().WithPreset(preset)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Match.AllPairs, cfg.Output.Clean = true, false
		wantPairs, wantBest := verifiedPairs(t, cfg, docs)
		reasons := map[string]int{}
		for _, reason := range wantPairs {
			reasons[reason]++
		}
		t.Logf("%s: %d pairs, %d matches, %v", preset, len(wantPairs), len(wantBest), reasons)
		if len(reasons) < 3 {
			t.Errorf("%s: only %v", preset, reasons)
		}
		for _, memory := range []string{"", "102400"} { // in memory, and by way of the disk
			cfg.Execution.Memory = memory
			out := filepath.Join(t.TempDir(), "out")
			s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg})
			if (s.Consulted > 0) != (preset == config.PresetThorough) || int(s.Matched) != len(wantBest) {
				t.Errorf("%s, %s: %d consulted, %d matched, want %d", preset, memory, s.Consulted, s.Matched, len(wantBest))
			}
			if got := readVerdicts(t, out, rundir.Pairs); !maps.Equal(got, wantPairs) {
				t.Errorf("%s, %s: %d pairs, want %d: %s", preset, memory, len(got), len(wantPairs), firstOther(got, wantPairs))
			}
			best := map[string][2]string{}
			for p, reason := range readVerdicts(t, out, rundir.Matches) {
				best[p[0]] = [2]string{p[1], reason}
			}
			if !maps.Equal(best, wantBest) {
				t.Errorf("%s, %s: %d best matches, want %d", preset, memory, len(best), len(wantBest))
			}
		}

		// The sketches are in the table, so another match needs no texts.
		out := filepath.Join(t.TempDir(), "night")
		runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg})
		cfg.Match.Border, cfg.Match.Containment = 0, 0
		wantPairs, _ = verifiedPairs(t, cfg, docs)
		again := filepath.Join(t.TempDir(), "again")
		runJob(t, 2, job.Request{Command: job.CommandMatch, Inputs: []string{out}, Out: again, Config: cfg})
		if got := readVerdicts(t, again, rundir.Pairs); !maps.Equal(got, wantPairs) {
			t.Errorf("%s, matched again: %d pairs, want %d", preset, len(got), len(wantPairs))
		}
	}
}

// firstOther is a pair that two sets have with different reasons, or one only.
func firstOther(got, want map[[2]string]string) string {
	for pair := range want {
		if got[pair] != want[pair] {
			return fmt.Sprintf("%v is %q, want %q", pair, got[pair], want[pair])
		}
	}
	for pair := range got {
		if want[pair] != got[pair] {
			return fmt.Sprintf("%v is %q, want %q", pair, got[pair], want[pair])
		}
	}
	return ""
}

// triples are each text, a copy of it, and its first part: a share of 35 to
// 65 %, around the limit, so that the texts refuse some of them and confirm
// others.
func triples(texts []string) (docs []page) {
	for i, text := range texts {
		runes := []rune(text)
		part := string(runes[:len(runes)*(35+i%7*5)/100])
		for j, text := range []string{text, text, part} {
			docs = append(docs, page{fmt.Sprintf("p%04d-%d", i, j), text})
		}
	}
	return docs
}

// The texts of a pair are consulted once for all documents that equal one of
// the two: what they say holds for a copy as well, in the tables and in the
// check that every run ends with.
func TestVerdictsHoldForCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("makes many runs")
	}
	const n = 140
	var planted, news []string
	for i := range n {
		planted = append(planted, text(uint64(i), 20+i*3))
	}
	t.Run("planted", func(t *testing.T) { verdictsHoldForCopies(t, triples(planted)) })
	t.Run("news", func(t *testing.T) {
		in, err := source.Open(data.Split{Path: filepath.Join(sharedData(t), "data", "zh", "hk-dev.jsonl.gz"), Format: source.FormatJSONL, End: -1}, config.Default().Input.ReaderOptions())
		if errors.Is(err, fs.ErrNotExist) {
			t.Skipf("no Chinese news: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		}()
		var doc data.Document
		for len(news) < n {
			if err := in.Read(&doc); err != nil {
				t.Fatal(err)
			}
			if len(doc.Text) > 600 {
				news = append(news, string(doc.Text))
			}
		}
		verdictsHoldForCopies(t, triples(news))
	})
}

func verdictsHoldForCopies(t *testing.T, docs []page) {
	cfg, err := config.Default().WithPreset(config.PresetThorough)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Match.AllPairs, cfg.Output.Clean, cfg.Features.StripBoilerplate = true, false, false
	dir := t.TempDir()
	alike, refused := 0, 0
	for i := 0; len(docs) > 0; i++ {
		// As many as the check looks at in each run, all of them.
		some := docs[:min(len(docs), 60)]
		docs = docs[len(some):]
		var lines []string
		for _, d := range some {
			line, err := json.Marshal(map[string]string{"id": d.id, "text": d.text})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
		}
		in := jsonl(t, filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)), lines...)
		out := filepath.Join(dir, fmt.Sprint(i))
		s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg})
		if int(s.Checked) != len(some) {
			t.Errorf("%d of %d documents were checked: the test shows less than it says", s.Checked, len(some))
		}
		want, _ := verifiedPairs(t, cfg, some)
		if got := readVerdicts(t, out, rundir.Pairs); !maps.Equal(got, want) {
			t.Errorf("%d pairs, want %d", len(got), len(want))
		}
		here := 0 // pairs of a part with a text or its copy that the texts found alike
		for _, reason := range want {
			if reason == data.ByTexts.String() {
				here++
			}
		}
		alike += here / 2
		refused += int(s.Consulted) - here/2
	}
	t.Logf("texts alike: %d, refused: %d", alike, refused)
	if alike < 20 || refused < 20 {
		t.Errorf("texts alike: %d, refused: %d: too few to show anything", alike, refused)
	}
}

// forgetful loses what the further tables found.
type forgetful struct{ *local.Engine }

func (f forgetful) Match(ctx context.Context, j *engine.Job, documents *corpus.Documents, emit func([]data.Pair) error) error {
	return f.Engine.Match(ctx, j, documents, func(pairs []data.Pair) error {
		return emit(slices.DeleteFunc(slices.Clone(pairs), func(p data.Pair) bool { return int(p.Distance) > j.Config.Match.Distance }))
	})
}

func TestLostFurtherPairsAreNoticed(t *testing.T) {
	var lines []string
	for _, d := range pages(60) {
		lines = append(lines, fmt.Sprintf(`{"id":%q,"text":%q}`, d.id, d.text))
	}
	in := jsonl(t, filepath.Join(t.TempDir(), "in.jsonl"), lines...)
	out := filepath.Join(t.TempDir(), "out")
	_, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: config.Default(), Engine: forgetful{local.New(1)}})
	if !errors.Is(err, cluster.ErrMissed) {
		t.Fatalf("got %v, want ErrMissed", err)
	}
}

// Of thousands of pages of one template, each with an address of its own, not all
// are compared with each other; few stay all the same.
func TestOfPagesOfOneTemplateFewStay(t *testing.T) {
	n := sized(2000)
	r := rand.New(rand.NewPCG(8, 8))
	base := strings.Repeat(text(1, 60)+" ", 6) // words that weigh more than an address
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"p%04d","text":"%s no page /%d/%d here"}`, i, base, r.IntN(1000), r.IntN(1_000_000))
	}
	dir := t.TempDir()
	in := jsonl(t, filepath.Join(dir, "in.jsonl"), lines...)
	s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: filepath.Join(dir, "out"), Config: config.Default()})
	if s.Matched != int64(n) || s.Clustered != int64(n) || s.Kept > int64(n)/50 {
		t.Errorf("%d matched, %d in %d clusters, %d stay", s.Matched, s.Clustered, s.Clusters, s.Kept)
	}
}
