package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/neardup/neardup/data/sample"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/report"
	"github.com/neardup/neardup/job/internal/summary"
)

// finished runs neardup on the inputs, thorough, with settings.
func finished(t *testing.T, set func(*config.Config), inputs ...string) (string, *job.Summary) {
	t.Helper()
	cfg, err := config.Default().WithPreset(config.PresetThorough)
	if err != nil {
		t.Fatal(err)
	}
	if set != nil {
		set(&cfg)
	}
	out := filepath.Join(t.TempDir(), "out")
	s, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: inputs, Out: out, Config: cfg, Engine: local.New(2)})
	if err != nil {
		t.Fatal(err)
	}
	return out, s
}

// page reads a run and writes its page.
func page(t *testing.T, run string) (*report.Report, string) {
	t.Helper()
	r, err := report.Read(t.Context(), run, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.WriteHTML(&b, message.English); err != nil {
		t.Fatal(err)
	}
	var chinese bytes.Buffer
	if err := r.WriteHTML(&chinese, message.Chinese); err != nil || !strings.Contains(chinese.String(), `<html lang="zh">`) || strings.Contains(chinese.String(), "%!") || strings.Contains(b.String(), "%!") {
		t.Errorf("in Chinese: %v", err)
	}
	return r, b.String()
}

// The figures that the page counts are those of the summary, and a run has one
// page.
func TestFiguresAreTheSummarys(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, sample.Files()); err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{false, true} {
		if !all && testing.Short() {
			continue
		}
		run, s := finished(t, func(c *config.Config) {
			c.Match.AllPairs = all
			c.Output.Contained = config.ContainedDrop
		}, dir)
		r, html := page(t, run)
		var sites, languages struct{ documents, matched, left int64 }
		for _, g := range r.Sites {
			sites.documents, sites.matched, sites.left = sites.documents+g.Documents, sites.matched+g.Matched, sites.left+g.Left
		}
		for _, g := range r.Languages {
			languages.documents, languages.matched, languages.left = languages.documents+g.Documents, languages.matched+g.Matched, languages.left+g.Left
		}
		if sites != languages || sites.documents != s.Documents || sites.matched != s.Matched || sites.left != s.Dropped {
			t.Errorf("by site %v, by language %v, the summary %d and %d", sites, languages, s.Documents, s.Matched)
		}
		if r.Removed["copy"]+r.Removed["contained"]+s.Skipped["duplicate_id"] != s.Dropped || r.Removed["duplicate_id"] == 0 || r.Removed["copy"] == 0 {
			t.Errorf("left out are %v, the summary says %d", r.Removed, s.Dropped)
		}
		if want := map[bool]int64{false: s.Matched, true: s.Pairs}[all]; r.Pairs != want {
			t.Errorf("%d pairs, the summary says %d", r.Pairs, want)
		}
		var verdicts, bars int64
		for _, v := range r.Verdicts {
			verdicts += v.Count
		}
		for _, b := range r.Distances.Bars {
			bars += b.Count
		}
		if verdicts != r.Pairs || bars > r.Pairs || bars == 0 {
			t.Errorf("%d verdicts and %d distances of %d pairs", verdicts, bars, r.Pairs)
		}
		for i, c := range s.Largest {
			if got := r.Largest[i]; got.Size != c.Size || len(got.Members) == 0 {
				t.Errorf("cluster %d has %d documents, the summary says %d", i, got.Size, c.Size)
			}
		}
		if r.Largest[0].Representative.ID != s.Largest[0].Example {
			t.Errorf("%s stays, the summary says %s", r.Largest[0].Representative.ID, s.Largest[0].Example)
		}
		for _, p := range r.Left {
			if p.A == nil || p.B == nil || p.Gone != nil || !p.Equal && len(p.Rows) == 0 {
				t.Errorf("left out: %+v", p)
			}
		}
		if len(r.Near) == 0 {
			t.Error("nothing near the limit")
		}
		if _, again := page(t, run); again != html {
			t.Error("a run has two pages")
		}
		for _, want := range []string{"preset thorough", strconv.FormatInt(s.Kept, 10), "<del>", "<svg", "prefers-color-scheme: dark"} {
			if !strings.Contains(html, want) {
				t.Errorf("the page does not say %q", want)
			}
		}
		for _, never := range []string{"http-equiv=\"refresh", "<img", "<link", "ZgotmplZ"} {
			if strings.Contains(html, never) {
				t.Errorf("the page has %q", never)
			}
		}
		if m := regexp.MustCompile(`(src|action)=|<link|href="(?:[^#h]|h[^t])|url\(|@import`).FindString(html); m != "" {
			t.Errorf("the page refers to something: %s", m)
		}
	}
}

// The page shows of a cluster what stays, as the summary does, and what goes for it;
// what contains them is no part of it.
func TestWhatStays(t *testing.T) {
	words := func(seed uint64, n int) string {
		r, out := rand.New(rand.NewPCG(seed, 1)), make([]string, n)
		for i := range out {
			out[i] = strconv.Itoa(r.IntN(1000)) + "word"
		}
		return strings.Join(out, " ")
	}
	part := words(1, 80)
	dir := t.TempDir()
	lines := fmt.Sprintf(`{"id":"part","text":%q}
{"id":"whole","text":%q}
{"id":"part again","text":%q}
`, part, part+" "+words(2, 200), part+" again")
	if err := os.WriteFile(filepath.Join(dir, "in.jsonl"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	run, s := finished(t, nil, dir)
	r, _ := page(t, run)
	if len(r.Largest) != 1 || s.Largest[0].Example != "part again" || r.Largest[0].Representative.ID != "part again" {
		t.Fatalf("%+v, the summary says %+v", r.Largest, s.Largest)
	}
	if m := r.Largest[0].Members; len(m) != 1 || m[0].B.ID != "part" {
		t.Errorf("%+v", m)
	}
}

// What an earlier night has is told apart from what another document stays for.
func TestLeftOutForHistory(t *testing.T) {
	in := lines(t, 4, func(i int) (id, title, text string) {
		return fmt.Sprintf("http://a.example/%d", i), "", []string{words(100, 1), words(100, 1), words(100, 2), "!!"}[i]
	})
	lib, before := filepath.Join(t.TempDir(), "lib"), ""
	for night, want := range []int64{0, 4} {
		run, s := finished(t, func(c *config.Config) {
			c.Library = config.Library{Path: lib, Night: fmt.Sprintf("2026-11-%02d", night+1)}
		}, in)
		r, html := page(t, run)
		if r.Removed["history"] != want || s.Library.Dropped != want || r.Removed["copy"] != 1-int64(night) || len(r.Left) != int(max(want, 1)) {
			t.Errorf("night %d: %d left out for history, %d as repeated, %d shown; the summary says %d", night, r.Removed["history"], r.Removed["copy"], len(r.Left), s.Library.Dropped)
		}
		if strings.Contains(html, "In this night:") != (night == 1) || strings.Contains(html, "Without its text") {
			t.Errorf("night %d: the clusters of %s", night, html)
		}
		if strings.Contains(html, "left out: already in an earlier night") != (night == 1) || strings.Contains(html, "duplicate id") || strings.Contains(html, "night 2026-11-01: its run directory is gone") != (night == 1) {
			t.Errorf("night %d: the page says otherwise", night)
		}
		if night == 1 {
			if err := os.CopyFS(filepath.Join(filepath.Dir(run), "beside"), os.DirFS(before)); err != nil {
				t.Fatal(err)
			}
			r, html := page(t, run)
			if len(r.Nights) != 2 || r.Nights[0].Library.Returned != 4 || r.Nights[1].Name != "2026-11-01" || r.Nights[1].All() != 4 || !strings.Contains(html, "Night by night") {
				t.Errorf("night by night: %+v", r.Nights)
			}
			for _, p := range r.Left { // of every one the partner can be read, though of an earlier night
				if p.B == nil || p.B.Night != "2026-11-01" || p.Gone != nil || !p.Equal && p.A.ID != "http://a.example/3" {
					t.Errorf("left out: %+v for %+v", p, p.B)
				}
			}
			if strings.Contains(html, "is gone") || !strings.Contains(html, "Since last night") || strings.Contains(html, ">bounds</th>") {
				t.Error("the page misses the earlier night's texts")
			}
		}
		before = run
	}
}

// lines writes documents as JSONL and returns the file's path.
func lines(t *testing.T, n int, document func(i int) (id, title, text string)) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range n {
		id, title, text := document(i)
		if err := enc.Encode(map[string]string{"id": id, "title": title, "text": text}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func words(n, seed int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%x ", (i*7919+seed*104729)%65521)
	}
	return b.String()
}

// What a crawl brings is text on the page, and can be seen.
func TestHostileTextIsEscaped(t *testing.T) {
	const script = `</title><script>alert(1)</script><img src=x onerror=alert(2)>`
	in := lines(t, 6, func(i int) (string, string, string) {
		id := fmt.Sprintf("http://evil%d.example/\u202e%s\u0007", i%2, script+strconv.Itoa(i))
		return id, script + "\u2066\u200b", script + " \u202e " + words(200, 1) + script + strconv.Itoa(i)
	})
	_, html := page(t, first(finished(t, nil, in)))
	if n := strings.Count(html, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	for _, never := range []string{"<img", "\u202e", "\u2066", "\u200b", "\u0007"} {
		if strings.Contains(html, never) {
			t.Errorf("the page has %q", never)
		}
	}
	for _, want := range []string{"&lt;script&gt;", "⟨U+202E⟩", "⟨U+2066⟩", "⟨U+200B⟩"} {
		if !strings.Contains(strings.ReplaceAll(html, "&#43;", "+"), want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}

func first(run string, _ *job.Summary) string { return run }

// A page has some MB at most, whatever the run.
func TestSizeIsBounded(t *testing.T) {
	n := 160
	if testing.Short() {
		n = 48
	}
	in := lines(t, n, func(i int) (string, string, string) {
		text := words(3000, i/4)
		for j := range 1 + i%4*20 {
			text = strings.Replace(text, fmt.Sprintf("w%x ", (j*37*7919+i/4*104729)%65521), fmt.Sprintf("\u202e\u202e%d ", i), 1)
		}
		return fmt.Sprintf("http://s%d.example/%s%d", i, strings.Repeat("x", 5000), i), strings.Repeat("title ", 2000), text
	})
	r, html := page(t, first(finished(t, nil, in)))
	if len(html) > 500_000 {
		t.Errorf("%d bytes", len(html))
	}
	if len(r.Largest) == 0 || len(r.Sites) > 26 || strings.Contains(html, strings.Repeat("x", 400)) {
		t.Errorf("%d clusters, %d sites", len(r.Largest), len(r.Sites))
	}
}

// The texts are read wherever the page is asked for, though the input was named
// from another folder; and where the whole has moved, from the new place.
func TestFromAnotherFolder(t *testing.T) {
	in := lines(t, 4, func(i int) (string, string, string) { return strconv.Itoa(i), "", words(200, i/2) })
	dir := filepath.Dir(in)
	t.Chdir(dir)
	run, _ := finished(t, nil, filepath.Base(in))
	t.Chdir(t.TempDir())
	if _, html := page(t, run); strings.Contains(html, "cannot be read") || !strings.Contains(html, "“w0 ") {
		t.Error("the texts are not found from another folder")
	}
	moved := t.TempDir()
	if err := os.Rename(in, filepath.Join(moved, filepath.Base(in))); err != nil {
		t.Fatal(err)
	}
	if _, html := page(t, run); !strings.Contains(html, "cannot be read") {
		t.Error("a text is read that is gone")
	}
	t.Chdir(moved)
	if _, html := page(t, run); strings.Contains(html, "cannot be read") {
		t.Error("the texts are not found where they are now")
	}
}

// Without its input a run has a page without texts, which says why; one that is
// not finished has none.
func TestWithoutInput(t *testing.T) {
	in := lines(t, 4, func(i int) (string, string, string) { return strconv.Itoa(i), "t", words(200, i/2) })
	run, _ := finished(t, nil, in)
	if err := os.Remove(in); err != nil {
		t.Fatal(err)
	}
	r, html := page(t, run)
	if !strings.Contains(html, "the text cannot be read: jsonl: ") || len(r.Largest) != 2 {
		t.Errorf("%d clusters", len(r.Largest))
	}
	var chinese strings.Builder
	if err := r.WriteHTML(&chinese, message.Chinese); err != nil || !strings.Contains(chinese.String(), "没有这个文件或目录") || strings.Contains(chinese.String(), "no such file") || strings.Contains(chinese.String(), "。 ") {
		t.Errorf("in Chinese the page has English, or spaces of English: %v", err)
	}
	if err := os.Remove(filepath.Join(run, "_SUCCESS")); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Read(context.Background(), run, report.Options{}); err == nil || !strings.Contains(err.Error(), "is not finished") {
		t.Errorf("%v", err)
	}
	if _, err := report.Read(context.Background(), t.TempDir(), report.Options{}); err == nil || !strings.Contains(err.Error(), "is not a run directory") {
		t.Errorf("%v", err)
	}
}

// A night that is unlike those before is told, by bounds that a single odd night
// does not move; an index lists all.
func TestChanges(t *testing.T) {
	runs := t.TempDir()
	nights := 7
	var last string
	for n := range nights {
		documents := []int64{1000, 1010, 990, 5000, 1005, 995, 400}[n]
		s := job.Summary{Command: job.CommandRun, Documents: documents, Records: documents + 10, Matched: documents / 2, Dropped: documents / 4, Kept: documents - documents/4}
		s.Library = &summary.Library{Path: "lib", Night: fmt.Sprintf("2026-11-%02d", n+1), Nights: n, New: documents - 100, Repeated: 50, Returned: 50}
		last = filepath.Join(runs, s.Library.Night)
		body, err := json.Marshal(s)
		if err == nil {
			err = errors.Join(os.Mkdir(last, 0o700), os.WriteFile(filepath.Join(last, "summary.json"), body, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(last, report.PageFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := report.ReadIndex(runs)
	if err != nil {
		t.Fatal(err)
	}
	for l, want := range map[message.Language]string{message.English: "below: documents", message.Chinese: "偏低：文档"} {
		var b bytes.Buffer
		if err := x.WriteHTML(&b, l); err != nil {
			t.Fatal(err)
		}
		if html := b.String(); len(x.Runs) != nights || strings.Count(html, want) != 1 || !strings.Contains(html, `href="2026-11-07/report.html"`) || strings.Contains(html, `href="2026-11-06`) {
			t.Errorf("%d runs: %s", len(x.Runs), html)
		}
	}
	if _, err := report.ReadIndex(t.TempDir()); err == nil || !strings.Contains(err.Error(), "name the folder of the runs") {
		t.Errorf("%v", err)
	}
}
