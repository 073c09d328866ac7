package job_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/clean"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/sample"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/runs"
)

// writeArchives puts the sample's archives and one of its other files into a
// folder of their own.
func writeArchives(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dump")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"crawl-00.warc.gz", "crawl-01.warc.gz", "pages-01.jsonl"} {
		content, err := fs.ReadFile(sample.Files(), name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// inputDocuments reads the documents of a file as a run does.
func inputDocuments(t *testing.T, path string) (split data.Split, docs []data.Document) {
	t.Helper()
	splits, err := source.Expand([]string{path}, source.ExpandOptions{})
	if err != nil || len(splits) != 1 {
		t.Fatal(splits, err)
	}
	in, err := source.Open(splits[0], config.Default().Input.ReaderOptions())
	if err != nil {
		t.Fatal(err)
	}
	for {
		var doc data.Document
		err := in.Read(&doc)
		if _, bad := data.IsBadRecord(err); bad {
			continue
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	return splits[0], docs
}

// broken is an engine that ends a run once all is fingerprinted.
type broken struct{ *local.Engine }

var errBroken = errors.New("the engine is broken")

func (broken) Match(context.Context, *engine.Job, *corpus.Documents, func([]data.Pair) error) error {
	return errBroken
}

func fingerprintOnly(t *testing.T, req job.Request) {
	t.Helper()
	req.Engine = broken{local.New(2)}
	if _, err := job.Run(context.Background(), req); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want the run ended", err)
	}
}

// The texts of archives stand in the run, row by row beside the fingerprints,
// and the clean dump has the bytes that it has when it is made from the
// archive itself.
func TestTextsTable(t *testing.T) {
	dump, out := writeArchives(t), filepath.Join(t.TempDir(), "out")
	runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{dump}, Out: out, Config: config.Default()})
	if parts, err := rundir.Parts(out, rundir.Texts); err != nil || len(parts) != 2 {
		t.Errorf("texts %v, %v: want those of the two archives", parts, err)
	}
	for task, name := range []string{"crawl-00.warc.gz", "crawl-01.warc.gz"} {
		split, docs := inputDocuments(t, filepath.Join(dump, name))
		part := rundir.PartName(task, ".parquet")
		texts, err := parquet.OpenTable(filepath.Join(out, rundir.Texts, part), &data.Texts, parquet.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		row, i := data.TextRow{}, 0
		err = parquet.ReadFingerprints(t.Context(), filepath.Join(out, rundir.Fingerprints, part), parquet.ReadOptions{}, func(p *data.FingerprintRow) error {
			if err := texts.Read(&row); err != nil {
				return err
			}
			if string(row.DocID) != string(p.DocID) || string(row.Title) != string(p.Title) {
				return fmt.Errorf("row %d is %s, %s in the fingerprints", i, row.DocID, p.DocID)
			}
			if string(row.DocID) != string(docs[i].ID) || !bytes.Equal(row.Text, docs[i].Text) {
				return fmt.Errorf("row %d is %s, %s in the input, or has another text", i, row.DocID, docs[i].ID)
			}
			i++
			return nil
		})
		if err == nil && i != len(docs) {
			err = fmt.Errorf("%d rows, %d documents", i, len(docs))
		}
		if err := errors.Join(err, texts.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		// Ids of documents that stay; an id that comes again does not.
		dumped := filepath.Join(out, rundir.Clean, rundir.PartName(task, ".jsonl.gz"))
		kept := map[string]bool{}
		for _, doc := range readClean(t, dumped) {
			kept[doc["id"]] = true
		}
		path := filepath.Join(t.TempDir(), "clean.jsonl.gz")
		w, err := clean.Create(path, split, data.ReaderOptions{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range docs {
			if id := string(docs[i].ID); kept[id] {
				delete(kept, id)
				if err := w.Keep(&docs[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		if len(kept) > 0 || readFile(t, path) != readFile(t, dumped) {
			t.Errorf("%s: the clean dump is not that of the archive; %d are not of it", name, len(kept))
		}
	}
}

// shortNews writes an archive of three pages, a, b and c: a and b have the same body
// under two titles, c another body under the title of a. It returns its path and, of
// the address of each page, its text and the body of that.
func shortNews(t *testing.T) (path string, texts, bodies map[string]string) {
	t.Helper()
	const (
		titleA = "人民日报社论：从伟大胜利中汲取奋勇前进的力量，纪念胜利八十周年"
		titleB = "十四届全国人大四次会议明天上午举行闭幕会，本台将直播大会盛况"
		bodyA  = "新闻频道消息：本次列车全长三百二十公里，沿途设有九个车站，计划于明年年底以前全部建成通车。"
		bodyC  = "新闻频道消息：考察队昨天回到上海，他们在南极完成了水文、大气和海冰的调查，并布放了两套潜标。"
	)
	var crawl bytes.Buffer
	z := gzip.NewWriter(&crawl)
	texts, bodies = map[string]string{}, map[string]string{}
	for _, p := range []struct{ name, title, body string }{{"a", titleA, bodyA}, {"b", titleB, bodyA}, {"c", titleA, bodyC}} {
		url := "http://news.example/" + p.name
		html := "<title>" + p.title + "_新闻频道</title><div id=nav><a href=/>首页</a><a href=/n>新闻</a></div><div class=content_area><h1>" + p.title +
			"</h1><div class=abstract><p>摘要：" + p.title + "</p></div><div class=content><p>" + p.body + "</p></div></div><div id=footer><a href=/a>关于我们</a> 版权所有</div>"
		fmt.Fprintf(z, "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", url, len(html), html)
		texts[url], bodies[url] = p.title+"\n摘要："+p.title+"\n"+p.body, p.body
	}
	path = filepath.Join(t.TempDir(), "news.warc.gz")
	if err := errors.Join(z.Close(), os.WriteFile(path, crawl.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path, texts, bodies
}

// The same body under another title is a copy, and another body under the same title
// is none. What the clean dump and the texts hold has title and summary.
func TestHeadlinesAreKept(t *testing.T) {
	input, texts, bodies := shortNews(t)
	for _, preset := range []string{config.PresetBalanced, config.PresetThorough} {
		cfg, err := config.Default().WithPreset(preset)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out")
		if s := runJob(t, 1, job.Request{Command: job.CommandRun, Inputs: []string{input}, Out: out, Config: cfg}); s.Matched != 2 || s.Kept != 2 {
			t.Errorf("%s: %d matched, %d kept: want a and b alone to match", preset, s.Matched, s.Kept)
		}
		for _, doc := range readClean(t, filepath.Join(out, rundir.Clean, rundir.PartName(0, ".jsonl.gz"))) {
			if doc["text"] != texts[doc["id"]] {
				t.Errorf("%s: the clean dump has %q of %s, want %q", preset, doc["text"], doc["id"], texts[doc["id"]])
			}
		}
		docs, err := runs.ReadDocuments(t.Context(), out, slices.Sorted(maps.Keys(texts)))
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range docs {
			if id := string(doc.ID); string(doc.Text) != texts[id] || string(doc.Compared()) != bodies[id] {
				t.Errorf("%s: of %s %q is compared of %q", preset, doc.ID, doc.Compared(), doc.Text)
			}
		}
	}
}

// readClean returns the lines of a clean dump.
func readClean(t *testing.T, path string) (docs []map[string]string) {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(z); ; {
		doc := map[string]string{}
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return docs
		} else if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
}

// Once an archive is fingerprinted a run needs it no more: it goes on and ends
// with the bytes of an undisturbed one, consults texts, and explains them.
func TestArchivesMayGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	presets := []string{config.PresetThorough, config.PresetBalanced}
	if testing.Short() {
		presets = presets[:1]
	}
	for _, preset := range presets {
		t.Run(preset, func(t *testing.T) {
			cfg, err := config.Default().WithPreset(preset)
			if err != nil {
				t.Fatal(err)
			}
			if preset == config.PresetThorough {
				cfg.Match.Border = 0.4 // many pairs near the limit
			}
			dump, out := writeArchives(t), t.TempDir()
			req := job.Request{Command: job.CommandRun, Inputs: []string{dump}, Out: filepath.Join(out, "undisturbed"), Config: cfg}
			want := runJob(t, 1, req)
			if preset == config.PresetThorough && want.Consulted == 0 {
				t.Fatal("no texts were consulted: the test shows nothing")
			}

			req.Out = filepath.Join(out, "left")
			fingerprintOnly(t, req)
			var ids []string
			var wantText []string
			for _, name := range []string{"crawl-00.warc.gz", "crawl-01.warc.gz"} {
				path := filepath.Join(dump, name)
				_, docs := inputDocuments(t, path)
				for _, i := range []int{len(docs) - 1, 3, 0} {
					ids, wantText = append(ids, string(docs[i].ID)), append(wantText, string(docs[i].Title)+"\n"+string(docs[i].Text))
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			s := runJob(t, 4, req)
			if s.Consulted != want.Consulted || s.Kept != want.Kept || s.Matched != want.Matched || s.Documents != want.Documents {
				t.Errorf("got %+v\nwant %+v", s, want)
			}
			if got, want := digests(t, req.Out, rundir.Outputs...), digests(t, filepath.Join(out, "undisturbed"), rundir.Outputs...); !maps.Equal(got, want) || len(got) < 9 {
				t.Errorf("files\n%v\nwant\n%v", got, want)
			}
			runJob(t, 1, req) // it is finished

			docs, err := runs.ReadDocuments(t.Context(), req.Out, ids)
			if err != nil {
				t.Fatal(err)
			}
			for i, doc := range docs {
				if string(doc.ID) != ids[i] || string(doc.Title)+"\n"+string(doc.Text) != wantText[i] {
					t.Errorf("%s: another text than that of the archive", ids[i])
				}
			}
		})
	}
}

// What cannot be made again is not done without: an archive that is gone before
// it is fingerprinted, or was never named.
func TestArchivesThatWereNeverRead(t *testing.T) {
	dump, out := writeArchives(t), filepath.Join(t.TempDir(), "out")
	req := job.Request{Command: job.CommandRun, Inputs: []string{dump}, Out: out, Config: config.Default()}
	fingerprintOnly(t, req)
	other := req
	other.Inputs, other.Engine = []string{filepath.Join(filepath.Dir(dump), "mistyped")}, local.New(1)
	if _, err := job.Run(t.Context(), other); !errors.Is(err, source.ErrNoInput) {
		t.Errorf("another input that is not there: %v, want ErrNoInput", err)
	}
	for _, path := range []string{filepath.Join(dump, "crawl-00.warc.gz"), filepath.Join(out, rundir.Texts, rundir.PartName(0, ".parquet"))} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	req.Engine = local.New(1)
	if _, err := job.Run(t.Context(), req); !errors.Is(err, rundir.ErrOther) {
		t.Errorf("without archive and texts: %v, want ErrOther", err)
	}
}

// Texts that are missing or damaged are made again while the run is not finished.
// Missing ones of a finished run are an error that names the file.
func TestTextsMissing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of one worker")
	}
	dump, dir := writeArchives(t), t.TempDir()
	req := job.Request{Command: job.CommandRun, Inputs: []string{dump}, Out: filepath.Join(dir, "a"), Config: config.Default()}
	runJob(t, 1, req)
	want := digests(t, req.Out, rundir.Outputs...)
	_, docs := inputDocuments(t, filepath.Join(dump, "crawl-01.warc.gz"))
	ids := []string{string(docs[0].ID)}

	var part string
	for what, damage := range map[string]func(whole, other string) error{
		"cut":          func(whole, _ string) error { return os.WriteFile(part, []byte(whole[:len(whole)/2]), 0o600) },
		"another part": func(_, other string) error { return os.WriteFile(part, []byte(other), 0o600) },
		"missing":      func(string, string) error { return os.Remove(part) },
	} {
		req.Out, req.Engine = filepath.Join(dir, what), nil
		part = filepath.Join(req.Out, rundir.Texts, rundir.PartName(1, ".parquet"))
		fingerprintOnly(t, req)
		if err := damage(readFile(t, part), readFile(t, filepath.Join(req.Out, rundir.Texts, rundir.PartName(0, ".parquet")))); err != nil {
			t.Fatal(err)
		}
		req.Engine = local.New(1)
		runJob(t, 1, req)
		if got := digests(t, req.Out, rundir.Outputs...); !maps.Equal(got, want) {
			t.Errorf("%s: files\n%v\nwant\n%v", what, got, want)
		}
	}
	if err := os.Remove(part); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.ReadDocuments(t.Context(), req.Out, ids); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "run again into a new folder") {
		t.Errorf("of a finished run: %v, want the file and what to do", err)
	}

	// A run of the layout before has no texts: its input is read.
	var m map[string]any
	manifest := filepath.Join(req.Out, rundir.ManifestFile)
	if err := rundir.ReadJSON(manifest, &m); err != nil {
		t.Fatal(err)
	}
	m["version"] = 1
	if err := errors.Join(rundir.WriteJSON(manifest, m), os.RemoveAll(filepath.Join(req.Out, rundir.Texts))); err != nil {
		t.Fatal(err)
	}
	if got, err := runs.ReadDocuments(t.Context(), req.Out, ids); err != nil || !bytes.Equal(got[0].Text, docs[0].Text) {
		t.Errorf("of an older run: %v", err)
	}
	if _, err := job.Run(t.Context(), req); !errors.Is(err, rundir.ErrOther) || !strings.Contains(err.Error(), "layout version 1") {
		t.Errorf("an older run cannot be gone on with: %v", err)
	}
}
