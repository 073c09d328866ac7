package report_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/data/sample"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/report"
)

// pagesAgainst runs documents against a reference, and returns the run's page in both
// languages.
func pagesAgainst(t *testing.T, dump, reference string) (a *report.Against, english, chinese string) {
	t.Helper()
	cfg := config.Default()
	cfg.Against.Paths, cfg.Against.Action = []string{reference}, config.AgainstCut
	out := filepath.Join(t.TempDir(), "out")
	if _, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: []string{dump}, Out: out, Config: cfg, Engine: local.New(2)}); err != nil {
		t.Fatal(err)
	}
	return pageAgainst(t, out)
}

func pageAgainst(t *testing.T, out string) (a *report.Against, english, chinese string) {
	t.Helper()
	page, err := report.Open(t.Context(), out, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b, zh bytes.Buffer
	if err := page.WriteHTML(&b, message.English); err != nil {
		t.Fatal(err)
	}
	if err := page.WriteHTML(&zh, message.Chinese); err != nil || !strings.Contains(zh.String(), `<html lang="zh">`) || strings.Contains(zh.String()+b.String(), "%!") || strings.Contains(zh.String()+b.String(), "ZgotmplZ") {
		t.Errorf("in Chinese: %v", err)
	}
	return page.(*report.Against), b.String(), zh.String()
}

func line(id, text string) string { return fmt.Sprintf(`{"id":%q,"text":%q}`+"\n", id, text) }

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sentence is n words that no other number has.
func sentence(of, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%dx%d", of*1000+i, of)
	}
	return strings.Join(words, " ")
}

// The page of a run against a reference says what is found by set, which texts most
// documents have, and shows hits, the weakest first, with what surrounds them.
func TestAgainst(t *testing.T) {
	dir := t.TempDir()
	var reference, dump strings.Builder
	for i := range 30 {
		reference.WriteString(line(fmt.Sprint("q", i), "<b>Question</b> "+sentence(i, 20)))
	}
	for i := range 40 {
		body := sentence(100+i, 60)
		if i < 10 { // nine documents have the first text, one lacks a quarter of it
			quoted := "<b>Question</b> " + sentence(0, 20)
			if i == 9 {
				quoted = "<b>Question</b> " + sentence(0, 15)
			}
			body = sentence(200+i, 20) + " " + quoted + " " + sentence(300+i, 20)
		}
		if i == 20 {
			body = "<b>Question</b> " + sentence(7, 20)
		}
		dump.WriteString(line(fmt.Sprintf("http://site%d.example/%d", i%2, i), body))
	}
	texts := write(t, filepath.Join(dir, "questions.jsonl"), reference.String())
	docs := write(t, filepath.Join(dir, "dump.jsonl"), dump.String())
	a, html, zh := pagesAgainst(t, docs, texts)
	if a.Summary.Against.Documents != 11 || len(a.Texts) != 2 || a.Texts[0].Text.ID != "q0" || a.Texts[0].Documents != 10 || a.Texts[1].Documents != 1 || len(a.Sites) != 2 || a.Sites[0].Documents+a.Sites[1].Documents != 11 {
		t.Errorf("%+v, texts %+v, sites %+v", a.Summary.Against, a.Texts, a.Sites)
	}
	if len(a.Sets) != 1 || len(a.Sets[0].Hits) < 4 {
		t.Fatalf("hits %+v", a.Sets)
	}
	weakest := a.Sets[0].Hits[0]
	if string(weakest.DocID) != "http://site1.example/9" || weakest.Share > 0.9 || weakest.Gone != nil || len(weakest.Rows) == 0 && weakest.Same == "" ||
		!strings.Contains(weakest.Before, "w209019x209") || !strings.Contains(weakest.After, "309001x309") {
		t.Errorf("the weakest is %+v", weakest)
	}
	for _, want := range []string{"&lt;b&gt;Question&lt;/b&gt;", "questions.jsonl", "10", "word for word", "Texts found most"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(html, "<b>Question") || !strings.Contains(zh, "命中最多的文本") {
		t.Error("a text is not escaped, or the page is not Chinese")
	}
	if _, again, _ := pageAgainst(t, a.Run); again != html {
		t.Error("a run has two pages")
	}

	// What is gone is said, and nothing else is lost.
	write(t, texts, line("other", sentence(900, 30)))
	b, html, _ := pageAgainst(t, a.Run)
	if h := b.Sets[0].Hits[0]; h.Gone == nil || !strings.Contains(html, "the reference has no such text any more") {
		t.Errorf("another reference: %v", h.Gone)
	}
	if err := os.Remove(docs); err != nil {
		t.Fatal(err)
	}
	b, html, _ = pageAgainst(t, a.Run)
	if h := b.Sets[0].Hits[0]; h.Doc.Gone == nil || !strings.Contains(html, "no such file") || !strings.Contains(html, "http://site1.example/9") {
		t.Errorf("no input: %v", h.Doc.Gone)
	}
}

// A page of very long hits and many sets is half a megabyte at most.
func TestAgainstIsBounded(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "reference")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	var dump strings.Builder
	for set := range 25 {
		text := strings.Repeat("<&>", 3000) + sentence(set, 2000)
		write(t, filepath.Join(folder, fmt.Sprintf("set%d.jsonl", set)), line("all", text))
		for i := range 5 {
			dump.WriteString(line(fmt.Sprintf("%d-%d", set, i), strings.Replace(text, fmt.Sprintf("w%dx%d ", set*1000+700+i, set), "", 1)+sentence(500+set*5+i, 3000)))
		}
	}
	a, html, _ := pagesAgainst(t, write(t, filepath.Join(dir, "dump.jsonl"), dump.String()), folder)
	if len(a.Sets) != 20 || len(html) > 500_000 || !strings.Contains(html, "Some texts are not shown") {
		t.Errorf("%d sets, %d bytes", len(a.Sets), len(html))
	}
}

// Texts that were extracted of pages are extracted again.
func TestAgainstPages(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, sample.Files()); err != nil {
		t.Fatal(err)
	}
	question := "Which is true? A bird that weighs less than a letter crosses the Sahara twice a year."
	a, _, _ := pagesAgainst(t, dir, write(t, filepath.Join(t.TempDir(), "evals.jsonl"), line("birds", question)))
	if len(a.Sets) != 1 || len(a.Sets[0].Hits) == 0 {
		t.Fatalf("%+v", a.Summary.Against)
	}
	for _, h := range a.Sets[0].Hits {
		if h.Gone != nil || h.Doc.Name() == h.Doc.ID {
			t.Errorf("%s: %v", h.DocID, h.Gone)
		}
	}
	if none, html, _ := pagesAgainst(t, dir, write(t, filepath.Join(t.TempDir(), "none.jsonl"), line("none", sentence(1, 30)))); len(none.Sets) != 0 || !strings.Contains(html, "There are none.") {
		t.Errorf("hits of nothing: %+v", none.Sets)
	}
}
