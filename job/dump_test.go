package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/learn"
)

// Whoever learns from a dump tells of all its bytes, as they are read.
func TestDumpTellsHowFarItIs(t *testing.T) {
	dir, size := t.TempDir(), int64(0)
	for _, name := range []string{"a.jsonl", "b.jsonl"} {
		info, err := os.Stat(jsonl(t, filepath.Join(dir, name), sitesLines()...))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	for name, teach := range map[string]func(learn.Dump) error{
		"lexicon": func(d learn.Dump) error {
			_, err := d.Lexicon(context.Background(), learn.LexiconOptions{MaxShare: 0.5, MinDocuments: 1, IDFDocuments: 1})
			return err
		},
		"templates": func(d learn.Dump) error {
			_, err := d.Templates(context.Background())
			return err
		},
	} {
		var told string
		var calls, done atomic.Int64
		err := teach(learn.Dump{Config: config.Default(), Inputs: []string{dir}, Workers: 2, Pass: func(total int64, unit string) func(int64) {
			told += fmt.Sprint(total, " ", unit)
			return func(n int64) {
				if n > 0 {
					calls.Add(1)
				}
				done.Add(n)
			}
		}})
		if err != nil || told != fmt.Sprint(size, " bytes") || done.Load() != size || calls.Load() < 2 {
			t.Errorf("%s: %s, %d of %d bytes, told %d times: %v", name, told, done.Load(), size, calls.Load(), err)
		}
	}
}

// What is learned from a dump with bad records is learned from the others, or
// not at all where a run would fail.
func TestDumpBearsWhatARunDoes(t *testing.T) {
	lines := sitesLines()
	good := jsonl(t, filepath.Join(t.TempDir(), "good.jsonl"), lines...)
	bad := jsonl(t, filepath.Join(t.TempDir(), "bad.jsonl"), append([]string{lines[0], "{"}, lines[1:]...)...)
	teach := func(path, maxBad string) (words []string, sites []byte, log string, err error) {
		var text bytes.Buffer
		d := learn.Dump{Config: config.Default(), Inputs: []string{path}, Workers: 2, Log: slog.New(slog.NewTextHandler(&text, nil))}
		d.Config.Input.MaxBad = maxBad
		l, err := d.Lexicon(t.Context(), learn.LexiconOptions{MaxShare: 0.01, MinDocuments: 1, IDFDocuments: 1})
		if err == nil {
			words = l.Trained
		}
		model, other := d.Templates(t.Context())
		if (err == nil) != (other == nil) {
			t.Errorf("%s with %s: %v for the lexicon, %v for templates", path, maxBad, err, other)
		}
		if other == nil {
			sites, other = model.MarshalBinary()
		}
		return words, sites, text.String(), errors.Join(err, other)
	}
	words, sites, log, err := teach(good, "0")
	if err != nil || len(words) == 0 || log != "" {
		t.Fatal(words, log, err)
	}
	have, model, log, err := teach(bad, "1")
	where := fmt.Sprintf("bad.jsonl at offset %d", len(lines[0])+1)
	if err != nil || !slices.Equal(have, words) || !bytes.Equal(model, sites) || strings.Count(log, where) != 2 {
		t.Errorf("%v, not %v, or other templates, told %q: %v", have, words, log, err)
	}
	have, model, _, err = teach(bad, "0")
	if have != nil || model != nil || err == nil || !strings.Contains(err.Error(), where+", mend the input, or let them pass with --max-bad 1") {
		t.Errorf("%v and %d bytes: %v", have, len(model), err)
	}
}
