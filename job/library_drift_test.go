package job_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
)

// TestDrift checks what a night's tables and summary say of its languages,
// sites and growing fingerprints, with documents whose place is known.
func TestDrift(t *testing.T) {
	dir := t.TempDir()
	english := func(n int) string {
		return fmt.Sprintf("the council number %d said on monday that it has not been told of the plans for harbour %d, which is to be built with the money of the state by the year %d", n, n*7, n*31)
	}
	const (
		chinese = "国务院关于印发有关文件的通知，各省、自治区、直辖市人民政府，国务院各部委、各直属机构，现将有关事项通知如下，请认真贯彻执行。"
		hot     = "this page has not been found on the server, it may have been moved to another place or it was removed by its author, so please use the search of the site"
	)
	line := func(id, text, more string) string { return fmt.Sprintf(`{"id":%q,"text":%q%s}`, id, text, more) }
	jsonl(t, filepath.Join(dir, "2026-11-01.jsonl"),
		line("http://en.example/1", english(1), ""),
		line("http://en.example/2", english(2), ""),
		line("http://zh.example/1", chinese, ""),
		line("http://en.example/gone/1", hot, ""),
	)
	jsonl(t, filepath.Join(dir, "2026-11-02.jsonl"),
		line("http://en.example/1", english(1), ""),       // returns
		line("http://en.example/3", english(3000000), ""), // new
		line("http://zh.example/2", chinese, ""),          // repeated
		line("http://zh.example/3", english(4000000), `,"lang":"nl"`),
		line("http://en.example/gone/1", hot, ""),
		line("http://en.example/gone/2", hot, ""),
		line("http://en.example/gone/3", hot, ""),
		line("http://en.example/4", "12345", ""),
	)
	cfg := config.Default()
	cfg.Match.Bands, cfg.Match.ShortTexts, cfg.Match.Verify, cfg.Match.Preset, cfg.Match.Distance = false, false, config.VerifyNone, config.PresetClassic, 0
	cfg.Features.MinFeatures = 1
	libraryRun(t, cfg, dir, "2026-11-01", "first")
	s := libraryRun(t, cfg, dir, "2026-11-02", "second")

	var got []string
	paths, err := rundir.Parts(filepath.Join(dir, "second"), rundir.Drift)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		err := parquet.ReadTable(context.Background(), path, &data.Drift, func(r *data.DriftRow) error {
			got = append(got, fmt.Sprint(r.Night, " ", string(r.Site), " ", r.Language, " ", r.Documents, r.New, r.Repeated, r.Returned))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"2026-11-02 en.example  1 1 0 0",
		"2026-11-02 en.example en 5 1 2 2",
		"2026-11-02 zh.example nl 1 1 0 0",
		"2026-11-02 zh.example zh 1 0 1 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("drift:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	l := s.Library
	if want := "[{en 5 1 2 2} { 1 1 0 0} {nl 1 1 0 0} {zh 1 0 1 0}]"; fmt.Sprint(l.Languages) != want {
		t.Errorf("languages: %+v, want %s", l.Languages, want)
	}
	if want := "[{en.example 6 2 2 2} {zh.example 2 1 1 0}]"; fmt.Sprint(l.Sites) != want {
		t.Errorf("sites: %+v, want %s", l.Sites, want)
	}
	if len(l.Growing) != 1 || l.Growing[0].Documents != 3 || l.Growing[0].Before != 1 || l.Growing[0].History != 1 || l.Growing[0].Example != "http://en.example/gone/1" {
		t.Errorf("growing: %+v", l.Growing)
	}
	if s.Languages["en"] != 5 || s.Languages["zh"] != 1 || s.Languages["nl"] != 1 || s.Languages[""] != 1 {
		t.Errorf("languages of all documents: %v", s.Languages)
	}
	var print bytes.Buffer
	if err := s.PrintAll(&print, message.English); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"languages    5 en, 1 nl, 1 unknown, 1 zh\n",
		"       5  en: 20.0 % new, 40.0 % repeated, 40.0 % returned\n",
		"       6  en.example: 33.3 % new, 33.3 % repeated, 33.3 % returned\n",
		"growing             3  http://en.example/gone/1 (1 the night before, 1 in all nights before)\n",
	} {
		if !strings.Contains(print.String(), line) {
			t.Errorf("the summary does not say %q:\n%s", line, print.String())
		}
	}
}
